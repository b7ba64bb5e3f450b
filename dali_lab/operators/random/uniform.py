"""Draws uniformly distributed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT64, INT32, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.random.drawing import SHAPE, Drawing, dtype_argument
from dali_lab.schema import Call, Case, ErrorCase, numbers, register, samples
from dali_lab.schema.operator import PerSample


@register
class Uniform(Drawing):
    """Draws numbers spread evenly over a range, or picks from a list of values with equal chances."""

    name = "random.uniform"
    arguments = (
        numbers(
            "range",
            (-1.0, 1.0),
            "Lower and upper bound; the upper one is left out. It has no effect where there are `values`.",
            length=2,
            tensor=True,
            important=True,
        ),
        numbers("values", None, "Values to pick from, all as likely.", tensor=True, important=True),
        SHAPE,
        dtype_argument(FLOAT),
    )
    example = """
    >>> angle = fn.random.uniform(range=(-15, 15))
    >>> images = fn.rotate(images, angle=angle)
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        connected = set(connected)
        picks = "values" in connected or values.get("values") is not None
        bounds = values.get("range")
        if not picks and bounds is not None and not bounds[0] < bounds[-1]:
            raise ArgumentError(
                f"Invalid range [{bounds[0]:g}, {bounds[-1]:g}): the lower bound is not below the upper one",
                argument="range",
            )
        if values.get("values") == ():
            raise ArgumentError("needs at least one value", argument="values")

    def run(self, call: Call, *like: Batch) -> Batch:
        from dali_lab.kernels.cpu import draws

        dtype = self.dtype_or(FLOAT)
        out = self.memory(call, like, dtype)
        stream = self.stream(call)
        if self.has("values"):
            values = call.lists("values") or []
            given = call.batches.get("values")
            if given is not None:
                call.refuse(given.sizes == 0, "needs at least one value", argument="values")
            draws.fill_values(stream, out.addresses, out.sizes, values, numpy_dtype(dtype))
            return out
        bounds = call.vectors("range", 2)
        low, high = np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 1])
        message = "Invalid range [{:g}, {:g}): the lower bound is not below the upper one"
        call.refuse(~(low < high), message, low, high, argument="range")
        draws.fill_uniform(stream, out.addresses, out.sizes, low, high, numpy_dtype(dtype))
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        ranges = PerSample.of((0, 1), (-3, 4), (100, 200))
        yield Case((), {}, batches=3)
        yield Case((), {"range": (3, 7.5), "shape": (4, 5)}, batches=3)
        yield Case((), {"range": ranges}, batches=2)
        yield Case((), {"values": (1, 2.5, 7)}, batches=3)
        yield Case((), {"values": (1, 2.5, 7), "range": (3, 1)}, batches=2)
        yield Case((), {"range": (0, 100), "dtype": INT32, "shape": (7,)}, batches=2)
        yield Case((), {"dtype": FLOAT64, "shape": (7,)}, batches=2)
        yield Case((), {"seed": 17, "shape": (3,)}, batches=2)
        yield Case((samples.tensors(((2, 3), (4, 1), (1, 1))),), {}, batches=2)
        yield Case((), {"shape": PerSample.of([2], [5], dtype=np.int32)}, batches=2)
        yield Case((([np.zeros((2, 3, 1), np.uint8)] * 3, "HWC"),), {})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {"range": (2.0, 1.0)}, words=("range", "2", "1"))
        yield ErrorCase((), {"range": (1.0, 1.0)}, words=("range", "1", "not below"))
        yield ErrorCase((), {"shape": (-1,)}, words=("shape", "negative"))
        yield ErrorCase((), {"range": (0, 1, 2)}, words=("range", "expected shape 2"))
        some = PerSample.of((1, 2), (), (3,))
        yield ErrorCase((), {"values": some}, words=("values", "at least one", "sample 1"))
