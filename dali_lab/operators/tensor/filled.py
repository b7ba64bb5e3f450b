"""Tensors of one value: zeros, ones, full, and their forms that copy the shape of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat
from dali_lab.model.promotion import widened
from dali_lab.operators.math.elementwise import apply
from dali_lab.operators.tensor.cast import cast
from dali_lab.operators.tensor.shapes_of_output import check_layout, shape_table
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, integers, register, samples

_SHAPE = integers("shape", None, "Shape of the output; a scalar if not given.", tensor=True, important=True)
_LAYOUT = Arg("layout", "layout", None, "Axis names of the output.")
_LIKE = Input("data_like", kind="tensor", device="any", doc="Tensors whose shape, type and layout are taken.")


class _Filled(Operator):
    """Base: new tensors of one number."""

    outputs = (Output("output", kind="tensor", doc="Tensors of `shape`, `dtype` and `layout`."),)
    arguments = (_SHAPE, Arg("dtype", "dtype", dtypes.INT32, "Type of the output.", important=True), _LAYOUT)
    number: ClassVar[int]

    def run(self, call: Call) -> Batch:
        table = shape_table(call)
        if table is None:
            table = np.zeros((call.count, 0), np.int64)
        out = call.allocate(table, self.value("dtype"), check_layout(call, self.value("layout") or "", table.shape[1]))
        flat(out)[...] = self.number
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        shapes = PerSample.of([2, 3], [1, 2], [0, 4], dtype=np.int32)
        yield Case((), {"shape": [2, 3]})
        yield Case((), {})
        yield Case((), {"shape": 3, "dtype": dtypes.FLOAT})
        yield Case((), {"shape": [2, 1], "dtype": dtypes.UINT8, "layout": "HW"})
        yield Case((), {"shape": shapes, "dtype": dtypes.FLOAT16})
        yield Case((), {"shape": shapes, "dtype": dtypes.BOOL, "layout": "XY"})
        yield Case((), {"shape": PerSample.of(2, 0, 3, dtype=np.int32), "dtype": dtypes.INT64})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {"shape": [2, -1]}, ("shape", "negative"))
        yield ErrorCase((), {"shape": [2], "layout": "HW"}, ("layout", "HW"))


@register
class Zeros(_Filled):
    """Makes tensors of zeros."""

    name = "zeros"
    number = 0
    example = '>>> fn.zeros(shape=[480, 640, 3], dtype=types.UINT8, layout="HWC")'


@register
class Ones(_Filled):
    """Makes tensors of ones."""

    name = "ones"
    number = 1
    example = '>>> fn.ones(shape=[480, 640], dtype=types.UINT8, layout="HW")'


class _FilledLike(Operator):
    """Base: tensors of one number in the shapes of others."""

    inputs = (_LIKE,)
    outputs = (
        Output("output", kind="tensor", doc="Tensors of the input's shape and, unless `dtype` is given, its type."),
    )
    arguments = (Arg("dtype", "dtype", None, "Type of the output; by default that of the input."),)
    number: ClassVar[int]

    def run(self, call: Call, data_like: Batch) -> Batch:
        dtype = self.value("dtype")
        out = call.allocate(data_like.shapes, data_like.dtype if dtype is None else dtype, data_like.layout)
        flat(out)[...] = self.number
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.pictures(),), {"dtype": dtypes.FLOAT})
        yield Case((samples.tensors([(2, 3), (1, 2), (0, 5)], np.int16),), {"dtype": dtypes.FLOAT64})
        yield Case((samples.tensors([(), (), ()]),))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {}, ("1 input",))


@register
class ZerosLike(_FilledLike):
    """Makes tensors of zeros with the shape, type and layout of the input."""

    name = "zeros_like"
    number = 0
    example = ">>> fn.zeros_like(images)"


@register
class OnesLike(_FilledLike):
    """Makes tensors of ones with the shape, type and layout of the input."""

    name = "ones_like"
    number = 1
    example = ">>> fn.ones_like(images, dtype=types.FLOAT)"


def _spread(call: Call, value: Batch, out: Batch) -> Batch:
    """Fill `out` with `value`, stretched over it in each sample.

    Where a value goes beyond an output of extent 1, or has more dimensions, the first of its elements count.
    """
    ndim = max(value.ndim, out.ndim)
    have, want = widened(value.shapes, ndim), widened(out.shapes, ndim)
    wrong = ((have != want) & (have != 1) & ((want != 1) | (have == 0))).any(axis=1)
    call.refuse(wrong, "a value of shape {:t} cannot be stretched over {:t}", value.shapes, out.shapes)
    held = np.minimum(have, want)[:, ndim - out.ndim :]
    apply(lambda target, source: np.copyto(target, source), out, [value.replaced(shapes=held, layout="")])
    return out


def _first_elements(call: Call, value: Batch) -> Batch:
    call.refuse(value.sizes == 0, "the value has no element")
    return value.replaced(shapes=np.zeros((len(value), 0), np.int64), layout="")


@register
class Full(Operator):
    """Makes tensors of a given shape filled with a value.

    The value is a scalar, or a tensor that is stretched over the shape as numpy does. Of a value that is larger where
    the shape has the extent 1, or none, the first elements are taken.
    """

    name = "full"
    inputs = (Input("fill_value", kind="tensor", doc="The value, of each sample."),)
    outputs = (Output("output", kind="tensor", doc="Tensors of `shape`, or scalars without it, of the value's type."),)
    arguments = (
        integers(
            "shape",
            None,
            "Shape of the output; by default a scalar, the first element of the value.",
            tensor=True,
            important=True,
        ),
        _LAYOUT,
    )
    differs = (
        "A row of several numbers is cut where the last axis of the shape has the extent 1; NVIDIA DALI lays it along"
        " the axis before."
    )
    example = ">>> fn.full(7.5, shape=[2, 3])"

    def run(self, call: Call, fill_value: Batch) -> Batch:
        table = shape_table(call)
        if table is None:
            table = np.zeros((call.count, 0), np.int64)
            fill_value = _first_elements(call, fill_value)
        layout = check_layout(call, self.value("layout") or "", table.shape[1])
        return _spread(call, fill_value, call.allocate(table, fill_value.dtype, layout))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        numbers = samples.tensors([(), (), ()])
        rows = samples.tensors([(3,), (3,), (3,)], np.int16)
        yield Case((numbers,), {"shape": [2, 2]})
        yield Case((rows,), {"shape": [2, 3], "layout": "HW"})
        yield Case((samples.tensors([(2, 1), (2, 1), (1, 1)], bool),), {"shape": [2, 4]})
        shapes = PerSample.of([2, 3], [1, 3], [0, 3], dtype=np.int32)
        yield Case((rows,), {"shape": shapes})
        yield Case((numbers,), {"shape": shapes})
        yield Case((numbers,), {})
        yield Case((rows,), {})
        larger: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
            ((1,), ()),
            ((2, 3), ()),
            ((3,), (1,)),
            ((2, 3), (1,)),
            ((1, 3), (3,)),
            ((2, 3), (1, 1)),
            ((2, 2, 3), (1, 3)),
            ((2, 2), (2, 1)),
            ((2, 2, 3), (2, 1, 3)),
            ((2, 2, 2), (2, 1, 1)),
            ((0,), (0,)),
        )
        for extents, shape in larger:
            yield Case((samples.tensors([extents] * 2),), {"shape": shape})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.tensors([(3,)] * 3),), {"shape": [2, 2]}, ("(3,)", "(2, 2)"))
        yield ErrorCase((samples.tensors([(2, 3)] * 3),), {"shape": [2]}, ("(2, 3)", "(2,)"))
        yield ErrorCase((samples.tensors([(0,)] * 3),), {"shape": [1]}, ("(0,)", "(1,)"))
        yield ErrorCase((samples.tensors([(0,)] * 3),), {}, ("no element",))


@register
class FullLike(Operator):
    """Makes tensors with the shape, type and layout of the first input, filled with the second.

    The value is converted to that type, and stretched over the shape as numpy does.
    """

    name = "full_like"
    inputs = (_LIKE, Input("fill_value", kind="tensor", doc="The value, of each sample."))
    outputs = (Output("output", kind="tensor", doc="Tensors of the first input's shape, filled with the value."),)
    example = ">>> fn.full_like(masks, 255)"

    def run(self, call: Call, data_like: Batch, fill_value: Batch) -> Batch:
        inner = Call(self, call.start, call.count)
        value = cast(inner, fill_value, data_like.dtype)
        return _spread(call, value, call.allocate(data_like.shapes, data_like.dtype, data_like.layout))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(), [np.float32(2.5), np.float32(-3), np.float32(300.7)]))
        yield Case((samples.pictures(), samples.tensors([(3,), (3,), (3,)], np.int32)))
        yield Case((samples.tensors([(2, 3), (2, 1), (2, 2)]), [np.array([[1], [2]], np.uint8)] * 3))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(), samples.tensors([(2,)] * 3)), {}, ("cannot be stretched",))
