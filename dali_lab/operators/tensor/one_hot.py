"""Turns class numbers into vectors with one mark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.operators.math.elementwise import apply
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, register, samples
from dali_lab.schema.presets import integer, number, string


@register
class OneHot(Operator):
    """Turns each class number into a vector that holds `on_value` at that index and `off_value` elsewhere.

    The vectors lie along a new axis. If every sample of the batch has just one element and no axis is given, it counts
    as a scalar, whatever its number of dimensions. Numbers that are no class give a vector without a mark.
    """

    name = "one_hot"
    title = "One-hot"
    whole_batch = True
    inputs = (Input("labels", kind="tensor", doc="Class numbers; the fraction of floats is dropped."),)
    outputs = (
        Output("output", kind="tensor", doc="The input's shape with an axis of `num_classes` more, of `dtype`."),
    )
    on_gpu = True
    arguments = (
        integer("num_classes", 0, "Number of classes.", minimum=0, important=True),
        Arg("dtype", "dtype", dtypes.FLOAT, "Type of the output."),
        number("on_value", 1.0, "Value at the class; its fraction is dropped for integer types, which wrap."),
        number("off_value", 0.0, "Value elsewhere."),
        integer("axis", -1, "Place of the new axis in the output; -1 appends it.", minimum=-1),
        string("axis_name", None, "Letter of the new axis; without it the output has no layout."),
    )
    start = {"num_classes": 10}
    example = ">>> fn.one_hot(labels, num_classes=1000, dtype=types.UINT8)"

    def setup(self) -> None:
        name = self.value("axis_name")
        if name is not None and len(name) != 1:
            raise self.fail(f"must be one letter, got {name!r}: Unsupported axis_name value", "axis_name")
        # Only the rule about scalars looks at the whole batch.
        object.__setattr__(self, "whole_batch", "axis" not in self.given)
        kind = numpy_dtype(self.value("dtype"))
        self._on, self._off = (_converted(self.value(key), kind) for key in ("on_value", "off_value"))

    def run(self, call: Call, labels: Batch) -> Batch:
        count = self.value("num_classes")
        scalar = not labels.ndim or (bool((labels.sizes == 1).all()) and "axis" not in self.given)
        source = labels.replaced(shapes=np.zeros((len(labels), 0), np.int64), layout="") if scalar else labels
        axis = self.value("axis")
        if axis > source.ndim:
            raise call.problem(f"{axis} is not a place for a new axis beside {source.ndim}", argument="axis")
        axis = source.ndim if axis < 0 else axis
        name = self.value("axis_name")
        if name is not None and source.ndim and not source.layout:
            message = "the new axis can only be named where the input has a layout. Input layout mismatch"
            raise call.problem(message, argument="axis_name")
        layout = source.layout[:axis] + name + source.layout[axis:] if name is not None else ""
        shapes = np.insert(source.shapes, axis, count, axis=1)
        if len(layout) != shapes.shape[1]:
            layout = ""
        out = call.allocate(shapes, self.value("dtype"), layout)
        if call.gpu is not None:
            inner = source.shapes[:, axis:].prod(axis=1)
            values = np.array([self._off, self._on])
            kind = labels.kind
            call.kernels("lookup").one_hot(labels.addresses, out.addresses, out.sizes, inner, count, values, kind)
            return out
        expanded = source.replaced(shapes=np.insert(source.shapes, axis, 1, axis=1))
        numbers = np.arange(count, dtype=np.int64)
        classes = np.array([1] * axis + [count] + [1] * (source.ndim - axis), np.int64)
        same = Batch(
            np.full(len(labels), numbers.ctypes.data, np.int64),
            np.tile(classes, (len(labels), 1)),
            dtypes.INT64,
            "",
            (numbers,),
        )
        apply(self._mark, out, [expanded, same])
        return out

    def _mark(self, out: npt.NDArray[Any], labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
        whole = np.trunc(labels) if labels.dtype.kind == "f" else labels
        np.copyto(out, self._off)
        np.copyto(out, self._on, where=whole == classes)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        numbers = [np.int32(1), np.int32(3), np.int32(0)]
        rows = ([np.array([1, 0], np.int32), np.array([3, 9, -1], np.int32), np.array([2], np.int32)], "X")
        yield from Case.each(
            (numbers,),
            {"num_classes": 4},
            {"num_classes": 2},
            {"num_classes": 4, "dtype": dtypes.UINT8, "on_value": 300, "off_value": -2},
            {"num_classes": 4, "dtype": dtypes.INT32, "on_value": 1.7},
            {},
            {"num_classes": 3, "axis_name": "C"},
            {"num_classes": 3, "axis": 0, "axis_name": "C"},
        )
        yield from Case.each(
            (rows,),
            {},
            {"axis": 0},
            {"axis": 1},
            {"axis": -1},
            {"axis_name": "C"},
            {"axis": 0, "axis_name": "C"},
            common={"num_classes": 4},
        )
        single = ([np.array([[1]], np.int64), np.array([[2]], np.int64), np.array([[0]], np.int64)], "XY")
        yield Case((single,), {"num_classes": 3})
        yield Case((single,), {"num_classes": 3, "axis": 0})
        yield Case((single,), {"num_classes": 3, "axis_name": "C"})
        yield Case(
            (samples.tensors([(2, 3), (1, 2), (4, 4)], np.uint8),),
            {"num_classes": 256, "axis": 1, "dtype": dtypes.UINT8},
        )
        yield Case(([np.float32(1.7), np.float32(-0.5), np.float32(2)],), {"num_classes": 3})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        rows = samples.tensors([(2,), (3,), (1,)], np.uint8)
        yield ErrorCase((rows,), {"num_classes": 2, "axis": 2}, ("axis", "2"))
        yield ErrorCase((rows,), {"num_classes": 2, "axis_name": "AB"}, ("axis_name", "AB"))
        yield ErrorCase((rows,), {"num_classes": 2, "axis_name": "C"}, ("axis_name", "layout"))


def _converted(value: float, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    single = np.array(value, np.float32)
    return single.astype(np.int64).astype(kind) if kind.kind in "iu" else single.astype(kind)
