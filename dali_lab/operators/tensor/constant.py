"""Yields the same tensor for each sample."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import empty
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.schema import Arg, Call, Case, ErrorCase, OneOf, Operator, Output, integers, numbers, register


@register
class Constant(Operator):
    """Yields the same tensor for each sample.

    The numbers are given by `fdata` or `idata` and laid out in `shape`; a single number fills it. Python values,
    lists and arrays become such nodes by themselves; ``types.Constant`` makes them explicitly.
    """

    name = "constant"
    makes_numbers = True
    outputs = (
        Output("output", kind="tensor", doc="The same tensor in every sample, of `shape`, `dtype` and `layout`."),
    )
    on_gpu = True
    arguments = (
        numbers("fdata", None, "Contents, for floating-point types; excludes `idata`.", important=True),
        integers("idata", None, "Contents, for integer types; excludes `fdata`.", important=True),
        integers("shape", None, "Shape of the output; by default as many numbers as there are."),
        Arg(
            "dtype",
            "dtype",
            None,
            "Type of the elements; by default FLOAT for `fdata` and INT32 for `idata`. Integers saturate.",
        ),
        Arg("layout", "layout", "", "Axis names of the output."),
    )
    rules = (
        OneOf(
            "fdata",
            "idata",
            needed=True,
            refused_as="Constant node: `fdata` and `idata` arguments are mutually exclusive",
            lacking_as="Constant node: either `fdata` or `idata` must be present",
        ),
    )
    differs = "FLOAT64 is allowed."
    example = ">>> fn.constant(fdata=[0.485, 0.456, 0.406], shape=[3])"

    def setup(self) -> None:
        real, whole = self.values["fdata"], self.values["idata"]
        dtype = self.value("dtype")
        if dtype is None:
            dtype = dtypes.FLOAT if whole is None else dtypes.INT32
        try:
            kind = numpy_dtype(dtype)
        except KeyError:
            raise self.fail(f"a constant cannot be of type {dtype.name}", "dtype") from None
        data: np.ndarray[Any, Any] = _real(real, kind) if whole is None else _whole(whole, kind)
        shape = (len(data),) if self.values["shape"] is None else tuple(self.values["shape"])
        if any(extent < 0 for extent in shape):
            raise self.fail(f"an extent cannot be negative: {shape}", "shape")
        if data.size not in (1, math.prod(shape)):
            raise self.fail(
                f"The number of values does not match the shape specified: {shape} does not hold {data.size} numbers",
                "shape",
            )
        layout = self.value("layout") or ""
        if layout and len(layout) != len(shape):
            raise self.fail(f"'{layout}' has {len(layout)} letters, the shape has {len(shape)} dimensions", "layout")
        self._array = empty(shape, kind)
        self._array[...] = data.reshape(shape) if data.size != 1 else data[0]
        self._dtype = dtype
        self._layout = layout

    def run(self, call: Call) -> Batch:
        addresses = np.full(call.count, self._array.ctypes.data, np.int64)
        shapes = np.tile(np.array(self._array.shape, np.int64).reshape(1, -1), (call.count, 1))
        return Batch(addresses, shapes, self._dtype, self._layout, (self._array,))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((), {"fdata": [1, 2.5]})
        yield Case((), {"fdata": [1.5], "shape": [2, 3], "layout": "HW"})
        yield Case((), {"idata": [1, 2, 3, 4], "shape": [2, 2], "dtype": dtypes.UINT8})
        yield Case((), {"idata": [7], "shape": []})
        yield Case((), {"idata": [300, -5], "dtype": dtypes.UINT8})
        yield Case((), {"idata": [2**40, -(2**40)]})
        yield Case((), {"idata": [2**40], "dtype": dtypes.INT64})
        yield Case((), {"idata": [0, 2], "dtype": dtypes.BOOL})
        yield Case((), {"idata": [1, 2], "dtype": dtypes.FLOAT16, "layout": "X"})
        yield Case((), {"idata": [2049, 2051, -2049, 70000], "dtype": dtypes.FLOAT16})
        yield Case((), {"fdata": [2.5, -3.5, 300.7, 0.2], "dtype": dtypes.UINT8})
        yield Case((), {"fdata": [2.5, -3.5, 3e10], "dtype": dtypes.INT32})
        yield Case((), {"idata": [], "shape": [0, 2]})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {}, ("fdata",))
        yield ErrorCase((), {"idata": [1], "fdata": [1.0]}, ("idata",))
        yield ErrorCase((), {"idata": [1, 2, 3], "shape": [2]}, ("shape", "3 numbers"))
        yield ErrorCase((), {"idata": [1, 2], "layout": "HW"}, ("layout", "HW"))
        yield ErrorCase((), {"idata": [1], "shape": [-1]}, ("shape", "negative"))
        yield ErrorCase((), {"idata": [1], "shape": [2**31, 2**31]}, ("memory", "GiB are the limit"))
        yield ErrorCase((), {"idata": [1], "dtype": dtypes.STRING}, ("dtype", "STRING"))


def _whole(values: Iterable[int], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    from dali_lab.kernels.cpu.casting import saturated

    items = list(values)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return np.array([min(max(item, int(limits.min)), int(limits.max)) for item in items], kind)
    return saturated(np.array(items, np.int64), kind)


def _real(values: Iterable[float], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    from dali_lab.kernels.cpu.casting import saturated

    return saturated(np.array(list(values), np.float32), kind)
