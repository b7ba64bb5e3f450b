"""Sources: readers and callbacks that feed a running pipeline, and the worker processes for Python sources."""
