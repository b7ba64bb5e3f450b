"""Shows images as if seen in a sphere."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INTERP_LINEAR
from dali_lab.operators.geometry.displacing import DISPLACING, Displacing
from dali_lab.schema import Call, Case, PerSample, register, samples


@register
class Sphere(Displacing):
    """Bends images as if seen in a sphere.

    Each pixel is taken from further inside: its offset from the middle of the image is multiplied by its distance
    from there, divided by half the larger extent.
    """

    name = "sphere"
    arguments = DISPLACING
    example = ">>> fn.sphere(images, fill_value=0)"

    def run(self, call: Call, data: Batch) -> Batch:
        return self.displaced(call, data, "sphere")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        some = PerSample.of(0, 1, 2, dtype=np.int32)
        for arguments in (
            {},
            {"fill_value": 77.6},
            {"fill_value": -1.4},
            {"interp_type": INTERP_LINEAR},
            {"interp_type": INTERP_LINEAR, "fill_value": 200.0},
            {"mask": some},
            {"mask": some, "interp_type": INTERP_LINEAR},
        ):
            yield Case((pictures,), arguments)
            yield Case((samples.pictures(dtype=np.float32, channels=2),), arguments)
        yield Case((samples.pictures(((1, 2), (9, 1), (2, 7)), channels=1),), {"interp_type": INTERP_LINEAR})
