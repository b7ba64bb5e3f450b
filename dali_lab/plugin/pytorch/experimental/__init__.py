"""Parts of the PyTorch plugin that NVIDIA DALI calls experimental."""

from dali_lab.plugin.pytorch.experimental import proxy

__all__ = ["proxy"]
