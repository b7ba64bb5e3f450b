"""Replaces values by counts of photons."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.filters.noising import Noising
from dali_lab.schema import Call, Case, number, register, samples
from dali_lab.schema.operator import PerSample


@register
class ShotNoise(Noising):
    """Replaces each element by ``factor · P(x / factor)``, P a Poisson number: what a camera sees in little light."""

    name = "noise.shot"
    schema_name = "noise__Shot"
    title = "Shot noise"
    arguments = (
        number(
            "factor",
            12.0,
            "Strength of the noise; 0 leaves the input as it is.",
            tensor=True,
            important=True,
            slider=(0.0, 100.0),
        ),
    )
    example = ">>> fn.noise.shot(images, factor=20.0)"

    def run(self, call: Call, data: Batch) -> Batch:
        stream = self.stream(call, data)
        factor = call.numbers("factor")
        out = call.allocate(data.shapes, data.dtype, data.layout)
        call.kernels("noise").add_shot_noise(stream, data.addresses, out.addresses, data.sizes, factor, data.kind)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        values = PerSample.of(1, 20, 60)
        yield from Case.each((pictures,), {}, {"factor": 5.0}, {"factor": values}, batches=2)
        yield Case((samples.pictures(dtype=np.uint16),), {"factor": 30.0})
        yield Case((samples.pictures(dtype=np.int16),), {"factor": -20.0})
        yield Case((pictures,), {"factor": PerSample.of(-1, 0, 1)})
