"""Draws zeros and ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import BOOL, INT32, UINT8, numpy_dtype
from dali_lab.operators.random.drawing import SHAPE, Drawing, dtype_argument
from dali_lab.schema import Call, Case, register, samples, share
from dali_lab.schema.operator import PerSample


@register
class CoinFlip(Drawing):
    """Draws 1 with a given probability, else 0."""

    name = "random.coin_flip"
    arguments = (
        share("probability", 0.5, "Probability of a 1; above 1 it is as 1.", tensor=True, important=True),
        SHAPE,
        dtype_argument(INT32, (BOOL, UINT8, INT32)),
    )
    example = ">>> images = fn.flip(images, horizontal=fn.random.coin_flip(probability=0.5))"

    def run(self, call: Call, *like: Batch) -> Batch:
        from dali_lab.kernels.cpu import draws

        dtype = self.dtype_or(INT32)
        probability = call.numbers("probability")
        out = self.memory(call, like, dtype)
        draws.fill_coin_flip(self.stream(call), out.addresses, out.sizes, probability, numpy_dtype(dtype))
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        values = PerSample.of(0, 0.5, 1)
        yield Case((), {}, batches=5, batch_size=7)
        yield Case((), {"probability": 0.2, "shape": (20,)}, batches=3)
        yield Case((), {"probability": values, "shape": (9,)}, batches=3)
        beyond = PerSample.of(-0.25, -1.75, 1.25, 2, 1e9, np.nan)
        yield Case((), {"probability": beyond, "shape": (20,)}, batches=3)
        for constant in (2.0, -0.5, float("nan")):
            yield Case((), {"probability": constant, "shape": (20,)})
        yield Case((), {"dtype": BOOL}, batches=3)
        yield Case((), {"dtype": UINT8, "shape": (3, 3)}, batches=2)
        yield Case((samples.tensors(((2, 3), (4, 1), (1, 1))),), {}, batches=2)
        yield Case((([np.zeros((2, 3, 1), np.uint8)] * 3, "HWC"),), {})
