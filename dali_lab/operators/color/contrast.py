"""Changes contrast."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.operators.color.scaling import CONTRAST_AND_CENTER, DTYPE, Scaling
from dali_lab.schema import Case, PerSample, register, samples


@register
class Contrast(Scaling):
    """Changes the contrast of images: ``out = contrast_center + contrast · (in − contrast_center)``."""

    name = "contrast"
    arguments = (*CONTRAST_AND_CENTER, DTYPE)
    start = {"contrast": 1.5}
    example = ">>> fn.contrast(images, contrast=fn.random.uniform(range=[0.6, 1.4]), contrast_center=128)"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"contrast": 0.6})
        yield Case((samples.pictures(),), {"contrast": 1.4, "contrast_center": 60.0})
        yield Case((samples.pictures(),), {"contrast": PerSample.of(0.2, 1, 3)})
        yield Case((samples.pictures(dtype=np.int32),), {"contrast": 0.5})
