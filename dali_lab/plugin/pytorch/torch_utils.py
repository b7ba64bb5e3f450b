"""Tensors of PyTorch from tensors of pipelines."""

from dali_lab.interop.pytorch.tensors import (
    TargetError,
    feed_ndarray,
    to_torch_tensor,
)

__all__ = [
    "TargetError",
    "feed_ndarray",
    "to_torch_tensor",
]
