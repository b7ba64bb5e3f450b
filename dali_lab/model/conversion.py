"""A batch in another data type, rounded and clamped as NVIDIA DALI does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.model.dtypes import DALIDataType, numpy_dtype


def converted(batch: Batch, dtype: DALIDataType | None, into: Batch | None = None) -> Batch:
    """The batch with elements of type `dtype`; the same batch if nothing changes and no memory is offered.

    Parameters
    ----------
    batch
        Any batch.
    dtype
        Wanted type; `None` keeps it.
    into
        Memory of the wanted type and the same shapes.
    """
    if dtype is None:
        dtype = batch.dtype
    if dtype == batch.dtype and into is None:
        return batch
    from dali_lab.kernels.cpu import convert

    out = into if into is not None else Batch.allocate(batch.shapes, dtype, batch.layout, batch.sources)
    convert.cast(batch.addresses, out.addresses, batch.sizes, batch.kind, numpy_dtype(dtype))
    return out


def elements(values: npt.ArrayLike, dtype: DALIDataType) -> npt.NDArray[Any]:
    """Numbers as elements of `dtype`, rounded half away from zero and clamped, seen as unsigned integers."""
    kind = numpy_dtype(dtype)
    numbers = np.atleast_1d(np.asarray(values, np.float64))
    from dali_lab.kernels.cpu.casting import saturated

    result = saturated(numbers, kind) if kind.kind in "iu" else numbers.astype(kind)
    return result.view(f"u{kind.itemsize}")


def truncated(batch: Batch, dtype: DALIDataType) -> Batch:
    """The batch in another type as NVIDIA DALI's crop and slice convert it: fractions cut off, kept in the range.

    Numbers beyond the range of FLOAT16 become its largest one, where a cast makes them infinite.
    """
    kind, source = numpy_dtype(dtype), batch.kind
    if kind == np.float16:
        result = converted(batch, dtype, Batch.allocate(batch.shapes, dtype, batch.layout, batch.sources))
        np.clip(flat(result), np.finfo(kind).min, np.finfo(kind).max, out=flat(result))
        return result
    if kind.kind not in "iu" or source.kind != "f":
        return converted(batch, dtype)
    from dali_lab.kernels.cpu.casting import saturate_into

    result = Batch.allocate(batch.shapes, dtype, batch.layout, batch.sources)
    saturate_into(flat(result), np.trunc(flat(gathered(batch)).astype(np.float64)))
    return result
