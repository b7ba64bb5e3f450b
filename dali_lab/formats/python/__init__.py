"""Programs in Python: written from graphs, and read as graphs without running them or by tracing."""
