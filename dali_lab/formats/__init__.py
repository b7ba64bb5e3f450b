"""Graphs as files: the project's own, NVIDIA DALI's serialized form, Python code, Graphviz, pictures."""
