"""Changes brightness."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.operators.color.scaling import BRIGHTNESS_AND_SHIFT, DTYPE, Scaling
from dali_lab.schema import Case, PerSample, register, samples


@register
class Brightness(Scaling):
    """Changes the brightness of images: ``out = brightness_shift · range + brightness · in``."""

    name = "brightness"
    arguments = (*BRIGHTNESS_AND_SHIFT, DTYPE)
    start = {"brightness": 1.4}
    example = ">>> fn.brightness(images, brightness=fn.random.uniform(range=[0.7, 1.3]))"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"brightness": 0.6})
        yield Case((samples.pictures(),), {"brightness": 1.4, "brightness_shift": 0.1})
        yield Case((samples.pictures(),), {"brightness": PerSample.of(0.2, 1, 3)})
        yield Case((samples.pictures(dtype=np.int16),), {"brightness_shift": 0.1})
