"""Whole chunks as single arrays, for what NumPy can do to all samples in one call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype

Array = npt.NDArray[Any]
WORTH_COPYING = 32768
"""Mean bytes of a sample up to which copying a chunk together costs less than a Python call for each sample."""


def is_contiguous(batch: Batch) -> bool:
    """Whether the samples follow each other in memory without gaps."""
    if len(batch) <= 1:
        return True
    steps = batch.sizes[:-1] * batch.itemsize
    return bool((np.diff(batch.addresses) == steps).all())


def gathered(batch: Batch) -> Batch:
    """The same samples one after the other in memory: as they are if they lie so, else copied by a kernel."""
    if is_contiguous(batch):
        return batch
    if batch.device is not None:
        from dali_lab.device.sharing import gathered_on_device

        return gathered_on_device(batch)
    from dali_lab.kernels.cpu.copy import copy

    result = Batch.allocate(batch.shapes, batch.dtype, batch.layout, batch.sources)
    copy(batch.addresses, result.addresses, batch.sizes, batch.itemsize)
    return result


def rows_of(values: Array) -> Array:
    """All values of each sample as one row, ``[samples, values]``, also where there are no samples."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


def is_small(batch: Batch) -> bool:
    """Whether it is better to copy the samples together than to treat them one by one."""
    return batch.nbytes <= WORTH_COPYING * len(batch)


def flat(batch: Batch) -> Array:
    """All elements of a batch whose samples follow each other, in one array of one dimension."""
    total = int(batch.sizes.sum())
    filled = np.flatnonzero(batch.sizes)
    if not len(filled):
        return np.empty(0, batch.kind)
    first = int(filled[0])
    return Batch(
        batch.addresses[first : first + 1], np.array([[total]], np.int64), batch.dtype, "", batch.owners
    ).array(0)


def stacked(batch: Batch) -> Array:
    """All samples of a batch of one shape as ``[N, ...]``, copied together where they do not lie so."""
    return gathered(batch).stacked()


def packed(values: Array, shapes: Array, dtype: DALIDataType, layout: str = "") -> Batch:
    """Samples of these shapes whose elements are `values`, one after the other."""
    row = np.ascontiguousarray(values, numpy_dtype(dtype))
    sizes = np.asarray(shapes.prod(axis=1), np.int64) * row.itemsize
    return Batch(row.ctypes.data + np.cumsum(sizes) - sizes, shapes, dtype, layout, (row,))


def over_elements(function: Callable[[Array], Array], batch: Batch, dtype: DALIDataType) -> Batch:
    """A new batch of the same shapes, from a function of all elements in one row, whose result becomes `dtype`."""
    return packed(function(flat(gathered(batch))), batch.shapes, dtype, batch.layout)
