"""Between batches and tensors of Paddle, with their levels of detail (LoD): lengths of the parts of a batch."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle

from dali_lab.model import dtypes

Array = npt.NDArray[Any]
core = paddle.framework.core
_Kind = core.VarDesc.VarType

dtype_map = {
    dtypes.BOOL: _Kind.BOOL,
    dtypes.FLOAT: _Kind.FP32,
    dtypes.FLOAT64: _Kind.FP64,
    dtypes.FLOAT16: _Kind.FP16,
    dtypes.UINT8: _Kind.UINT8,
    dtypes.INT8: _Kind.INT8,
    dtypes.INT16: _Kind.INT16,
    dtypes.INT32: _Kind.INT32,
    dtypes.INT64: _Kind.INT64,
}


class OutputError(ValueError, AssertionError):
    """An output that is no tensor of Paddle; NVIDIA DALI raises an :class:`AssertionError` there."""


def to_paddle_type(tensor: Any) -> Any:
    """Paddle's name for the type of the elements of a tensor or a list of tensors.

    Raises
    ------
    KeyError
        If Paddle has no such type.
    """
    if tensor.dtype not in dtype_map:
        known = ", ".join(kind.name for kind in dtype_map)
        raise KeyError(f"Paddle has no tensors of {tensor.dtype.name}; fn.cast to one of {known}")
    return dtype_map[tensor.dtype]


def feed_ndarray(dali_tensor: Any, ptr: int, cuda_stream: object = None) -> int:
    """Copy a tensor, or a list of tensors of one shape, to an address.

    Parameters
    ----------
    dali_tensor
        Where to copy from.
    ptr
        Address of the memory to copy to, which must be large enough.
    cuda_stream
        For memory of a GPU: the stream to copy on.

    Returns
    -------
    int
        `ptr`.
    """
    dali_tensor.copy_to_external(ctypes.c_void_p(ptr), cuda_stream)
    return ptr


def recursive_length(tensor: Any, lod_level: int) -> list[list[int]]:
    """Lengths of the parts of a batch, level by level: samples, then rows of each, then what is in each row.

    Parameters
    ----------
    tensor
        A list of tensors, an array, or a shape.
    lod_level
        Number of levels.
    """
    levels: list[list[int]] = [[] for _ in range(lod_level)]

    def count(shape: Sequence[int], level: int) -> None:
        if level == lod_level:
            return
        levels[level].append(int(shape[0]))
        for _ in range(int(shape[0])):
            count(shape[1:], level + 1)

    shape = getattr(tensor, "shape", tensor)
    shape = shape() if callable(shape) else shape
    if lod_level and shape and not isinstance(shape[0], (int, np.integer)):  # one shape for each sample
        levels[0].append(len(shape))
        for each in shape:
            count(each, 1)
    else:
        count(shape, 0)
    return levels


def to_paddle_tensor(index: int, output: Any, level: int) -> Any:
    """A list of tensors as a tensor of Paddle, over the same memory where its samples follow each other.

    Parameters
    ----------
    index
        Number of the output, for errors.
    level
        LoD level: 0 makes a dense tensor; with 1 samples are joined along their first axis, with their lengths; with 2
        along the first two; and so on.

    Raises
    ------
    OutputError
        If the level is 0 and the shapes differ, or the samples have fewer axes than the level.
    """
    to_paddle_type(output)
    cpu = output.as_cpu()
    if level == 0:
        if not cpu.is_dense_tensor():
            raise OutputError(
                f"output {index} has samples of different shapes: non-dense tensor lists must have LoD > 0, as in the"
                " pair (name, 1) in output_map; or make them alike by fn.resize or fn.pad"
            )
        return core.from_dlpack(cpu.as_tensor().__dlpack__())
    if cpu.ndim() < level:
        raise OutputError(f"output {index} has samples of {cpu.ndim()} dimensions, too few for LoD level {level}")
    samples = [np.asarray(sample) for sample in cpu]
    rows = np.concatenate([sample.reshape(-1, *sample.shape[level:]) for sample in samples])
    tensor = core.from_dlpack(rows.__dlpack__())
    tensor.set_recursive_sequence_lengths(recursive_length(cpu, level + 1)[1:])
    return tensor


def sequence_lengths(tensor: Any) -> list[list[int]]:
    """Lengths of the parts of a tensor of Paddle, level by level."""
    return [np.diff(offsets).tolist() for offsets in tensor.lod()]


def lod_tensor_clip(lod_tensor: Any, size: int) -> Any:
    """The first samples of a tensor of Paddle, with their levels of detail.

    Parameters
    ----------
    size
        Number of samples.
    """
    lengths, left = [], size
    for level in sequence_lengths(lod_tensor):
        lengths.append(level[:left])
        left = sum(lengths[-1])
    clipped = core.DenseTensor()
    clipped.set(np.array(lod_tensor)[:left], paddle.CPUPlace())
    if lengths:
        clipped.set_recursive_sequence_lengths(lengths)
    return clipped
