"""Converts elements to another type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.model.promotion import is_float
from dali_lab.operators.math.elementwise import apply
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, register, samples

_NUMBERS = tuple(dtype for dtype in DALIDataType if dtypes.UINT8 <= dtype <= dtypes.BOOL)
_ENUMS = (dtypes.IMAGE_TYPE, dtypes.DATA_TYPE, dtypes.INTERP_TYPE)


def _word(dtype: DALIDataType) -> str:
    """The type as NVIDIA DALI's messages have it."""
    return f"DALI{dtype.name.title().replace('_', '')}" if dtype in _ENUMS else dtype.name.lower()


def cast(call: Call, data: Batch, dtype: DALIDataType) -> Batch:
    """The batch in another type; the same memory if it has that type already."""
    if data.dtype == dtype:
        return data
    for one, other in ((data.dtype, dtype), (dtype, data.dtype)):
        if one in _ENUMS and is_float(other):
            raise call.problem(
                f"{one.name} goes with integers, not with {other.name}. Cannot cast from {_word(data.dtype)} to"
                f" {_word(dtype)}. Enums can only participate in casts with integral types,"
                " but not floating point types."
            )
    source = data.replaced(dtype=dtypes.INT32) if data.dtype in _ENUMS else data
    out = call.allocate(data.shapes, dtype, data.layout)
    if call.gpu is not None:
        kinds = (source.kind, numpy_dtype(dtypes.INT32 if dtype in _ENUMS else dtype))
        call.kernels("casting").cast(source.addresses, out.addresses, source.sizes, *kinds)
        return out
    from dali_lab.kernels.cpu.casting import saturate_into

    apply(saturate_into, out, [source])
    return out


@register
class Cast(Operator):
    """Converts elements to another type: numbers are rounded (halves away from zero) and kept within its range."""

    name = "cast"
    outputs = (Output("output", doc="The values in the new type, with the shape and layout of the input."),)
    inputs = (Input("data", kind="tensor", doc="Any tensors."),)
    on_gpu = True
    arguments = (Arg("dtype", "dtype", REQUIRED, "Type of the output.", choices=(*_NUMBERS, *_ENUMS), important=True),)
    start = {"dtype": "FLOAT"}
    example = ">>> fn.cast(images, dtype=types.FLOAT)"

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "_expression" if values.get("dtype") in _NUMBERS else ""

    def run(self, call: Call, data: Batch) -> Batch:
        return cast(call, data, self.value("dtype"))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        special = np.array(
            [
                -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 254.5, 255.5, 300, -300, np.nan, np.inf, -np.inf, 0.49999997, 0.3,
                1e10, -1e10, 3e19, 1e20, -1e20, 1e5, -1e5, 65519.996, 65520, 65535, 1e-8, 6e-8, 3e-8, 2.98e-8,
                1 + 2**-11, 1 + 3 * 2**-11, 0, -0.0, 127.5, -128.5, 32767.5, 2147483648.0, 3e9, 9.3e18,
            ]
        )  # fmt: skip
        marks = [
            -1, 300, 70000, -70000, 2**31, 2**40, -(2**40), 5, 127, 128, -128, -129, 2**63 - 1, -(2**63), 2**64 - 1,
            2**63 + 5,
        ]  # fmt: skip
        for kind in ("float32", "float64", "float16"):
            with np.errstate(over="ignore"):
                data = [special.astype(kind), special[::-1].astype(kind).copy(), np.array([0.1, -0.9], kind)]
            for dtype in _NUMBERS:
                yield Case((data,), {"dtype": dtype})
        for kind in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
            if kind == "bool":
                values = np.array([0, 1, 1], kind)
            else:
                limits = np.iinfo(kind)
                numbers = [limits.min, limits.min + 1, 0, 1, 100, limits.max - 1, limits.max, *marks]
                values = np.array([number for number in numbers if limits.min <= number <= limits.max], kind)
            for dtype in _NUMBERS:
                yield Case(([values, values[::-1].copy(), values[:1]],), {"dtype": dtype})
        ties = np.array([2049, 2051, -2049, 32784, 65520], np.int32)
        yield Case(([ties, ties[:2], ties[3:]],), {"dtype": dtypes.FLOAT16})
        yield Case((samples.pictures(),), {"dtype": dtypes.FLOAT})
        yield Case((samples.sequences(),), {"dtype": dtypes.INT16})
        yield Case((samples.tensors([(), (), ()]),), {"dtype": dtypes.UINT8})
        yield Case((samples.tensors([(0, 3), (2, 3), (1, 3)]),), {"dtype": dtypes.UINT8})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.tensors([(2,)] * 3),), {"dtype": dtypes.INTERP_TYPE}, ("INTERP_TYPE", "FLOAT"))


@register
class CastLike(Operator):
    """Converts elements of the first input to the type of the second."""

    name = "cast_like"
    inputs = (
        Input("data", kind="tensor", doc="Tensors to convert."),
        Input("like", kind="tensor", device="any", doc="Tensors whose type is taken; nothing else of them matters."),
    )
    outputs = (
        Output(
            "output",
            doc="The values of the first input in the type of the second, with the first one's shape and layout.",
        ),
    )
    on_gpu = True
    example = ">>> fn.cast_like(masks, images)"

    def run(self, call: Call, data: Batch, like: Batch) -> Batch:
        return cast(call, data, like.dtype)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        other = samples.tensors([(2,), (3,), (1,)], np.int16)
        yield Case((samples.pictures(), other))
        yield Case((samples.tensors([(2, 3), (1, 2), (4, 1)]), other))
        yield Case((samples.tensors([(2, 3), (1, 2), (4, 1)], np.int32), samples.pictures(dtype=np.uint8)))
        yield Case((samples.pictures(), samples.tensors([(), (), ()], np.float16)))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {}, ("2 inputs",))
