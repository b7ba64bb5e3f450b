"""Sources: readers and callbacks that feed a running pipeline, and the processes in which Python sources run."""
