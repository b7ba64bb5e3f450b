"""Adds normal noise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.filters.noising import Noising
from dali_lab.schema import Call, Case, number, register, samples
from dali_lab.schema.operator import PerSample

LIBRARY = "logarithm and cosine come from another mathematical library"


@register
class GaussianNoise(Noising):
    """Adds a number with a normal distribution to each element."""

    name = "noise.gaussian"
    schema_name = "noise__Gaussian"
    title = "Gaussian noise"
    differs = (
        "The same random stream; logarithm and cosine come from another mathematical library, so integers may be "
        "one level off and FLOAT 1e-6."
    )
    gpu_tolerance = (
        1e-4,
        f"{LIBRARY} (by at most 3 units in the last place: 1e-4 of noise below 250), so a value half-way between two"
        " levels may round to either; with the same functions both are equal",
    )
    arguments = (
        number("mean", 0.0, "Mean of the noise.", tensor=True),
        number("stddev", 1.0, "Standard deviation of the noise.", tensor=True, important=True, slider=(0.0, 64.0)),
    )
    example = ">>> fn.noise.gaussian(images, stddev=fn.random.uniform(range=[1.0, 20.0]))"

    def run(self, call: Call, data: Batch) -> Batch:
        stream = self.stream(call, data)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        call.kernels("noise").add_gaussian_noise(
            stream, data.addresses, out.addresses, data.sizes, call.numbers("mean"), call.numbers("stddev"), data.kind
        )
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        values = PerSample.of(1, 10, 50)
        yield from Case.each(
            (pictures,),
            {"stddev": 20.0},
            {"mean": 10.0, "stddev": 5.0},
            {"stddev": values},
            {"seed": 3, "stddev": 9.0},
            tolerance=1,
            reason=LIBRARY,
            batches=2,
        )
        yield Case((samples.pictures(dtype=np.float32),), {"stddev": 0.1}, tolerance=1e-6, reason=LIBRARY)
        yield Case((samples.planar(dtype=np.int16),), {"stddev": 100.0}, tolerance=1, reason=LIBRARY)
