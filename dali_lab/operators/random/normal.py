"""Draws normally distributed numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT64, INT32, numpy_dtype
from dali_lab.operators.random.drawing import SHAPE, Drawing, dtype_argument
from dali_lab.schema import Call, Case, number, register, samples
from dali_lab.schema.operator import PerSample

LOGARITHM = "Box-Muller takes logarithm and cosine from another mathematical library"


@register
class Normal(Drawing):
    """Draws numbers with a normal distribution."""

    name = "random.normal"
    differs = (
        "The same random stream; logarithm and cosine come from another mathematical library, so numbers agree to "
        "within 2e-6 of `stddev`."
    )
    arguments = (
        number("mean", 0.0, "Mean of the numbers.", tensor=True, important=True),
        number("stddev", 1.0, "Standard deviation of the numbers.", tensor=True, important=True),
        SHAPE,
        dtype_argument(FLOAT),
    )
    example = ">>> fn.random.normal(images, stddev=12.0)"

    def run(self, call: Call, *like: Batch) -> Batch:
        from dali_lab.kernels.cpu import draws

        dtype = self.dtype_or(FLOAT)
        out = self.memory(call, like, dtype)
        draws.fill_normal(
            self.stream(call),
            out.addresses,
            out.sizes,
            call.numbers("mean"),
            call.numbers("stddev"),
            numpy_dtype(dtype),
        )
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        values = PerSample.of(0, 10, -5)
        yield Case((), {}, tolerance=1e-6, reason=LOGARITHM, batches=3)
        yield Case((), {"mean": 3.0, "stddev": 2.0, "shape": (5, 6)}, tolerance=2e-6, reason=LOGARITHM, batches=3)
        yield Case((), {"mean": values, "stddev": 0.5}, tolerance=2e-6, reason=LOGARITHM, batches=2)
        yield Case((), {"shape": (9,), "dtype": FLOAT64}, tolerance=1e-6, reason=LOGARITHM)
        yield Case((), {"shape": (9,), "stddev": 100.0, "dtype": INT32}, tolerance=1, reason=LOGARITHM)
        yield Case((samples.tensors(((2, 3), (4, 1), (1, 1))),), {}, tolerance=1e-6, reason=LOGARITHM)
        yield Case((([np.zeros((2, 3, 1), np.uint8)] * 3, "HWC"),), {})
