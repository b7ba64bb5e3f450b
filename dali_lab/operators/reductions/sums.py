"""Sums and means along axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.promotion import is_float, is_integer, is_signed
from dali_lab.operators.reductions.reducing import AXES, Summing
from dali_lab.schema import Arg, Call, Case, ErrorCase, register, samples

Array = npt.NDArray[Any]


def divided(out: Array, total: Array, count: Array) -> None:
    """A sum over a number of elements, in the type of the result.

    As in NVIDIA DALI it is the sum, rounded to float32, times the rounded reciprocal of the number, and integers drop
    the fraction: of 41 elements that are 1 the mean is 0.
    """
    np.copyto(out, over_count(total, count, out.dtype), casting="unsafe")


def over_count(total: Array, count: Array, kind: np.dtype[Any]) -> Array:
    """A sum times the reciprocal of `count`, both rounded to float32 unless `kind` is float64; 0 for no integers."""
    working = np.dtype(np.float64 if kind == np.float64 else np.float32)
    reciprocal = (1 / np.asarray(count, np.float64)).astype(working)
    result: Array = total.astype(working) * reciprocal
    return result if kind.kind == "f" else np.where(np.isinf(reciprocal), working.type(0), result)


class _Sums(Summing):
    arguments: ClassVar[tuple[Arg, ...]] = (
        *AXES,
        Arg("dtype", "dtype", None, "Type of the result, in which integers are added up, and wrap.", or_no_type=True),
    )
    differs = (
        "All pairs of types are taken, float16 and FLOAT64 among them. Real numbers as whole ones must fit these: what"
        " becomes of others, and of NaN, is not the same on the CPU and on a GPU. The mean of no elements is 0 as whole"
        " number, where NVIDIA DALI gives the lowest INT32 and INT64."
    )

    def run(self, call: Call, data: Batch) -> Batch:
        return self.reduced(call, data, self.axes_of(call, data), self.dtype_of(data))

    def dtype_of(self, data: Batch) -> DALIDataType:
        """The type of the result."""
        dtype: DALIDataType | None = self.value("dtype")
        if dtype is not None:
            return dtype
        return dtypes.FLOAT64 if data.dtype == dtypes.FLOAT64 else dtypes.FLOAT

    @classmethod
    def axis_cases(cls) -> Iterable[Case]:
        """Cases of the axes, in all reductions the same."""
        data = (samples.tensors([(3, 4), (1, 4), (6, 2)], np.int16), "HW")
        yield from Case.each(
            (data,),
            {},
            {"axes": 0},
            {"axes": [1]},
            {"axes": [-1], "keep_dims": True},
            {"axes": []},
            {"axis_names": "H"},
            {"axis_names": "WH"},
            {"axis_names": "W", "keep_dims": True},
            {"keep_dims": True},
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = (samples.tensors([(3, 4), (1, 4), (6, 2)]), "HW")
        yield ErrorCase((data,), {"axes": [2]}, ("axes", "2"))
        yield ErrorCase((data,), {"axes": [0, -2]}, ("axes", "Duplicate"))
        yield ErrorCase((data,), {"axis_names": "Z"}, ("axis_names", "'Z'"))
        yield ErrorCase((data,), {"axis_names": "H", "axes": 0}, ("axes", "axis_names"))


@register
class Sum(_Sums):
    """Adds up elements along axes. By default integers give 64-bit integers, floats FLOAT."""

    name = "reductions.sum"
    example = '>>> covered = fn.reductions.sum(masks, axis_names="HW", dtype=types.INT64)'

    def dtype_of(self, data: Batch) -> DALIDataType:
        dtype: DALIDataType | None = self.value("dtype")
        if dtype is not None:
            return dtype
        if data.dtype == dtypes.FLOAT64:
            return dtypes.FLOAT64
        if is_float(data.dtype):
            return dtypes.FLOAT
        return dtypes.INT64 if is_signed(data.dtype) else dtypes.UINT64

    def finish(self, out: Array, total: Array, count: Array) -> None:
        np.copyto(out, total, casting="unsafe")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from cls.axis_cases()
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        for dtype in (np.uint8, np.int8, np.uint16, np.uint32, np.int32, np.uint64, np.int64):
            yield Case((samples.tensors([(3, 5), (2, 2), (9, 1)], dtype),), {"axes": 1})
        yield Case((samples.tensors([(30, 5), (20, 2), (9, 1)]),), {"axes": 0})
        yield Case((samples.tensors([(30, 5), (20, 2), (9, 1)], np.uint8),), {"dtype": dtypes.UINT8})
        yield Case((samples.tensors([(30, 5), (20, 2), (9, 1)], np.int8),), {"dtype": dtypes.INT8, "axes": 0})
        yield Case((samples.tensors([(30, 5), (20, 2), (9, 1)], np.uint8),), {"dtype": dtypes.FLOAT})
        yield Case((samples.tensors([(), (), ()], np.int32),))
        yield Case((samples.tensors([(0, 3), (0, 1), (2, 2)], np.int32),), {"axes": 0})


@register
class Mean(_Sums):
    """Gives the mean of elements along axes."""

    name = "reductions.mean"
    example = '>>> mean = fn.reductions.mean(images, axis_names="HW", keep_dims=True)'

    def finish(self, out: Array, total: Array, count: Array) -> None:
        divided(out, total, count)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from cls.axis_cases()
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        yield Case((samples.pictures(dtype=np.float32),), {"axis_names": "HWC"})
        for dtype in (np.uint8, np.int8, np.int16):
            kind = dtypes.to_dali_type(dtype)
            yield Case((samples.tensors([(3, 5), (2, 2), (9, 1)], dtype),), {"axes": 1, "dtype": kind})
        for name in ("uint8", "int16", "uint32", "int64", "uint64"):
            rows = (np.arange(41 * 6) * 97).reshape(41, 6).astype(name)
            alike = np.broadcast_to(np.arange(6).astype(name), (47, 6)).copy()
            yield Case(([rows, alike],), {"axes": 0, "dtype": dtypes.to_dali_type(rows.dtype)})
        yield Case((samples.tensors([(0, 3), (0, 1), (2, 2)], np.uint8),), {"axes": 0})


_SQUARED = {"uint16": np.int32, "int32": np.int64, "uint32": np.uint64, "int64": np.int64, "uint64": np.uint64}
"""Types whose squares are found in a type of their own, wrap if they do not fit it, and then become that of the sum."""


class _Squares(_Sums):
    summand = "SQUARES"

    def in_one_pass(self, data: Batch, out: Batch, axes: tuple[int, ...], *others: Batch) -> bool:
        wraps = data.dtype == dtypes.UINT16 and is_integer(out.dtype)
        return not wraps and super().in_one_pass(data, out, axes, *others)

    def summands(self, data: Array, kind: np.dtype[Any], *others: Array) -> Array:
        wide = data.astype(_SQUARED.get(data.dtype.name, kind), copy=False)
        result: Array = wide * wide
        return result.astype(kind, copy=False)


@register
class MeanSquare(_Squares):
    """Gives the mean of the squares of elements along axes."""

    name = "reductions.mean_square"
    example = ">>> power = fn.reductions.mean_square(waves, axes=0)"

    def finish(self, out: Array, total: Array, count: Array) -> None:
        divided(out, total, count)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        small = (samples.tensors([(3, 4), (1, 4), (6, 2)]), "HW")
        yield from Case.each((small,), {}, {"axes": 0}, {"axis_names": "W", "keep_dims": True}, {"axes": []})
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        yield Case((samples.tensors([(3, 5), (2, 2)], np.uint8),), {"dtype": dtypes.UINT64})
        yield Case((samples.tensors([(3, 5), (2, 2)], np.int8),), {"dtype": dtypes.INT64, "axes": 0})
        yield Case(([np.array([65535, 65535, 46341, 3], np.uint16), np.array([65535] * 3, np.uint16)],))
        yield Case(([np.array([65535, 65535, 46341], np.uint16)],), {"dtype": dtypes.UINT64})
        for dtype in (np.int64, np.uint64):
            yield Case(([np.array([2**40 + 9, 7], dtype)],), {"dtype": dtypes.to_dali_type(dtype)})
            yield Case(([np.array([2**33 + 9, 2**20], dtype)],))


@register
class RMS(_Squares):
    """Gives the root of the mean of the squares of elements along axes."""

    name = "reductions.rms"
    schema_name = "reductions__RMS"
    title = "Root mean square"
    example = ">>> loudness = fn.reductions.rms(waves, axes=0)"

    def finish(self, out: Array, total: Array, count: Array) -> None:
        np.copyto(out, np.sqrt(over_count(total, count, out.dtype)), casting="unsafe")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        small = (samples.tensors([(3, 4), (1, 4), (6, 2)]), "HW")
        yield from Case.each((small,), {}, {"axes": 0}, {"axis_names": "W", "keep_dims": True}, {"axes": []})
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        yield Case(([np.array([3, 4, 4, 4], np.uint8), np.array([20, 20], np.uint8)],), {"dtype": dtypes.UINT8})
        yield Case(([np.array([-300, 500], np.int16), np.array([3, -5], np.int16)],), {"dtype": dtypes.INT16})
        yield Case(([np.full((49, 3), 9, np.uint8)],), {"dtype": dtypes.UINT8, "axes": 0})
        yield Case(([np.array([2**30, 5 << 24, 7], np.uint64)],), {"dtype": dtypes.UINT64})
