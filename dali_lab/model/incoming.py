"""Batches that come in from Python: arrays of any library as one :class:`Batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.device import dlpack
from dali_lab.device.transfer import download
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, name_in_messages, to_dali_type
from dali_lab.model.errors import OperatorError
from dali_lab.model.foreign import from_capsule

Array = npt.NDArray[Any]

UNSUPPORTED = (
    "Unsupported callback return type. Expected NumPy array, PyTorch or MXNet cpu tensors, DALI TensorCPU, or list or"
    " tuple of them representing sample. Got"
)
"""Beginning of NVIDIA DALI's message about callbacks that return something else."""


def to_array(item: object) -> Array:
    """One array-like as a numpy array on the CPU, copied only where that cannot be avoided.

    Raises
    ------
    OperatorError
        If it is no array of numbers.
    """
    if isinstance(item, np.ndarray):
        array = item
    elif hasattr(item, "detach") and hasattr(item, "cpu"):
        array = item.detach().cpu().numpy()
    elif hasattr(item, "__cuda_array_interface__") or dlpack.takes(item):
        array = _from_gpu(item)
    elif type(item).__name__ == "PyCapsule":
        array = from_capsule(item)
    elif hasattr(item, "asnumpy"):
        array = item.asnumpy()
    elif not hasattr(item, "__array__") and hasattr(item, "__dlpack__"):
        array = np.from_dlpack(item)
    else:
        array = np.asarray(item)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise OperatorError(
            f"Don't know how to extract the shape out of {type(item)}: takes arrays of numbers, got {array.dtype}",
            code="data_unsupported",
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _from_gpu(item: object) -> Array:
    if hasattr(item, "get"):
        return np.asarray(item.get())
    try:
        import cupy
    except ImportError as error:
        raise OperatorError(f"got {type(item).__name__} on a GPU; reading it needs CuPy") from error
    if dlpack.is_capsule(item):
        item = dlpack.DeviceArray(item)
    known = hasattr(item, "__cuda_array_interface__")
    return np.asarray((cupy.asarray(item) if known else cupy.from_dlpack(item)).get())


def _layout_of(data: object) -> str:
    layout = getattr(data, "layout", None)
    value = layout() if callable(layout) else layout
    return value if isinstance(value, str) else ""


def incoming_batch(
    data: object,
    *,
    layout: str | None = None,
    dtype: DALIDataType | None = None,
    ndim: int | None = None,
    limit: int | None = None,
    copy: bool = True,
) -> Batch:
    """A batch from an array whose first dimension counts samples, a list of arrays, or a list of tensors.

    Parameters
    ----------
    layout
        Layout of a sample; by default that of the data, if it has one.
    dtype, ndim
        Required type and number of dimensions.
    limit
        Largest number of samples.
    copy
        Copy the data, so that the caller may change it afterwards.

    Raises
    ------
    OperatorError
        If samples do not fit together, or differ from what is required.
    """
    inner = getattr(data, "_batch", None)
    if isinstance(inner, Batch) and not hasattr(data, "_index"):  # a list of tensors, not one of its tensors
        batch = inner if inner.device is None else download(inner)
    elif isinstance(data, (list, tuple)):
        batch = _from_samples(data)
    else:
        array = to_array(data)
        if array.ndim < 1:
            raise OperatorError(
                "takes a batch: an array whose first dimension counts the samples, or a list of arrays; got a scalar"
            )
        batch = Batch.dense(np.array(array, order="C") if copy else array)
        copy = False
    return checked_batch(batch, layout=layout, dtype=dtype, ndim=ndim, limit=limit, copy=copy)


def checked_batch(
    batch: Batch,
    *,
    layout: str | None = None,
    dtype: DALIDataType | None = None,
    ndim: int | None = None,
    limit: int | None = None,
    copy: bool = False,
) -> Batch:
    """Check a batch against its declaration; the arguments are those of :func:`incoming_batch`.

    Raises
    ------
    OperatorError
        If it is not.
    """
    if limit is not None and len(batch) > limit:
        raise OperatorError(
            "The external source callback returned an unexpected batch size."
            f" Expected batch_size <= {limit}, actual: {len(batch)}"
        )
    if len(batch):
        if dtype is not None and batch.dtype != dtype:
            raise OperatorError(
                f"ExternalSource expected data of type {name_in_messages(dtype)} and got:"
                f" {name_in_messages(batch.dtype)}"
            )
        if ndim is not None and batch.ndim != ndim:
            raise OperatorError(f"ExternalSource expected data with {ndim} dimensions and got {batch.ndim} dimensions")
        if layout and len(layout) != batch.ndim:
            raise OperatorError(f"The layout '{layout}' cannot describe {batch.ndim}-dimensional data")
    if copy and len(batch):
        batch = _copied(batch)
    return batch.replaced(layout=layout) if layout is not None else batch


def _from_samples(data: Sequence[Any]) -> Batch:
    rows = [to_array(item) for item in data]
    layout = _layout_of(data[0]) if data and not isinstance(data[0], np.ndarray) else ""
    for index, row in enumerate(rows):
        if row.dtype != rows[0].dtype:
            found, first = (name_in_messages(to_dali_type(each.dtype)) for each in (row, rows[0]))
            raise OperatorError(
                f"Sample must have the same type as the target batch, current: {first}, new: {found} for sample idx:"
                f" {index}"
            )
        if row.ndim != rows[0].ndim:
            raise OperatorError(
                "All tensors in a batch must have the same number of dimensions:"
                f" sample {index} has {row.ndim}, sample 0 has {rows[0].ndim}"
            )
    return Batch.of(rows, layout if rows and len(layout) == rows[0].ndim else "")


def _copied(batch: Batch) -> Batch:
    """The same samples in memory of their own, one after the other."""
    from dali_lab.kernels.cpu.copy import copy

    result = Batch.allocate(batch.shapes, batch.dtype, batch.layout, batch.sources)
    copy(batch.addresses, result.addresses, batch.sizes, batch.itemsize)
    return result


def write_samples(batch: Batch, target: npt.NDArray[np.uint8]) -> None:
    """Copy all samples into a row of bytes, one after the other."""
    if batch.is_uniform() and len(batch) and batch.shapes[0].prod() and _is_dense(batch):
        target[: batch.nbytes] = batch.stacked().reshape(-1).view(np.uint8)
        return
    start = 0
    for index in range(len(batch)):
        flat = batch.array(index).reshape(-1).view(np.uint8)
        target[start : start + flat.size] = flat
        start += flat.size


def _is_dense(batch: Batch) -> bool:
    step = int(batch.shapes[0].prod()) * batch.itemsize
    return bool((np.diff(batch.addresses) == step).all())


__all__ = ["checked_batch", "incoming_batch", "to_array", "write_samples"]
