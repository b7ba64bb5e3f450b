"""Parts of the PyTorch plugin that NVIDIA DALI calls experimental."""
