"""Whether augmentations help: a small network trained on a labelled folder with and without them."""
