"""Draws beta-distributed numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT64, numpy_dtype
from dali_lab.operators.random.drawing import SHAPE, Drawing, dtype_argument
from dali_lab.schema import Call, Case, number, register
from dali_lab.schema.operator import PerSample

LIBRARY = "powers and logarithms come from another mathematical library"


@register
class Beta(Drawing):
    """Draws numbers between 0 and 1 with a beta distribution."""

    name = "random.beta"
    differs = (
        "The same random stream; powers and logarithms come from another mathematical library, so numbers agree "
        "to within 1e-6."
    )
    devices = ("cpu",)
    arguments = (
        number(
            "alpha",
            1.0,
            "First parameter.",
            tensor=True,
            minimum=0.0,
            exclusive_minimum=True,
            important=True,
            refused_as="The `alpha` must be a positive float32, got {:g}",
        ),
        number(
            "beta",
            1.0,
            "Second parameter.",
            tensor=True,
            minimum=0.0,
            exclusive_minimum=True,
            important=True,
            refused_as="The `beta` must be a positive float32, got {:g}",
        ),
        SHAPE,
        dtype_argument(FLOAT, (FLOAT, FLOAT64)),
    )
    example = ">>> weight = fn.random.beta(alpha=0.4, beta=0.4)"

    def run(self, call: Call, *like: Batch) -> Batch:
        from dali_lab.kernels.cpu import draws

        dtype = self.dtype_or(FLOAT)
        alpha, beta = call.numbers("alpha"), call.numbers("beta")
        for name, numbers in (("alpha", alpha), ("beta", beta)):
            call.refuse(
                ~((numbers > 0) & np.isfinite(numbers)),
                f"The `{name}` must be a positive float32, got {{:g}}",
                numbers,
                argument=name,
            )
        out = call.allocate(self.shapes(call, like), dtype)
        draws.fill_beta(self.stream(call), out.addresses, out.sizes, alpha, beta, numpy_dtype(dtype))
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        values = PerSample.of(0.5, 1, 3)
        yield Case((), {}, tolerance=1e-6, reason=LIBRARY, batches=3)
        yield Case((), {"alpha": 2.0, "beta": 0.5, "shape": (7,)}, tolerance=1e-6, reason=LIBRARY, batches=2)
        yield Case((), {"alpha": values, "shape": (3, 2)}, tolerance=1e-6, reason=LIBRARY, batches=2)
        yield Case((), {"alpha": 0.3, "beta": 0.3, "dtype": FLOAT64, "shape": (5,)}, tolerance=1e-9, reason=LIBRARY)
        yield Case((([np.zeros((2, 3, 1), np.uint8)] * 3, "HWC"),), {})
