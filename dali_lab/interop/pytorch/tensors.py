"""Between batches and torch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dali_lab.model import dtypes
from dali_lab.model.incoming import to_array
from dali_lab.model.tensor_list import TensorGPU, TensorListGPU

to_torch_type = {
    dtypes.FLOAT: torch.float32,
    dtypes.FLOAT64: torch.float64,
    dtypes.FLOAT16: torch.float16,
    dtypes.UINT8: torch.uint8,
    dtypes.UINT16: torch.uint16,
    dtypes.UINT32: torch.uint32,
    dtypes.UINT64: torch.uint64,
    dtypes.INT8: torch.int8,
    dtypes.BOOL: torch.bool,
    dtypes.INT16: torch.int16,
    dtypes.INT32: torch.int32,
    dtypes.INT64: torch.int64,
}


class TargetError(ValueError, AssertionError):
    """A tensor that a batch cannot be copied to; NVIDIA DALI raises an :class:`AssertionError` there."""


def _array(data: object) -> np.ndarray[Any, Any]:
    """A tensor as an array, or a list of tensors of one shape as one array."""
    return np.asarray(data.as_array() if hasattr(data, "as_array") else to_array(data))


def to_torch_tensor(dali_tensor: object, copy: bool = False) -> torch.Tensor:
    """A tensor, or a list of tensors of one shape, as a torch tensor over the same memory.

    Parameters
    ----------
    dali_tensor
        Tensor or list of tensors.
    copy
        Give it memory of its own.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    if isinstance(dali_tensor, TensorListGPU):
        dali_tensor = dali_tensor.as_tensor()
    if isinstance(dali_tensor, TensorGPU):
        # Zero copy on a GPU: torch names its current stream, which then waits for the batch.
        tensor = torch.utils.dlpack.from_dlpack(dali_tensor)
        return tensor.clone() if copy else tensor
    tensor = torch.from_numpy(_array(dali_tensor))
    return tensor.clone() if copy else tensor


def feed_ndarray(dali_tensor: object, arr: torch.Tensor, cuda_stream: object = None) -> torch.Tensor:
    """Copy a tensor, or a list of tensors of one shape, into a torch tensor.

    Parameters
    ----------
    dali_tensor
        Where to copy from.
    arr
        Where to copy to; of the same dtype and shape.
    cuda_stream
        Not needed: torch copies on its current stream.

    Raises
    ------
    TargetError
        If dtype or shape differ; a :class:`ValueError` and an :class:`AssertionError`.
    """
    source = to_torch_tensor(dali_tensor)
    if source.dtype != arr.dtype:
        raise TargetError(
            "The element type of DALI Tensor/TensorList doesn't match the element type of the target PyTorch Tensor:"
            f" {source.dtype} vs {arr.dtype}"
        )
    if source.shape != arr.shape:
        raise TargetError(
            f"Shapes do not match: DALI tensor has size {list(source.shape)}, but PyTorch Tensor has size"
            f" {list(arr.shape)}"
        )
    return arr.copy_(source)
