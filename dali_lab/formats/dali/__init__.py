"""NVIDIA DALI's serialized pipelines and checkpoints."""
