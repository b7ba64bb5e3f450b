"""torchvision's transforms on pipelines: what :mod:`dali_lab.experimental.torchvision` re-exports."""
