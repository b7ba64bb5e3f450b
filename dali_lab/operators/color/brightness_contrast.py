"""Changes brightness and contrast."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8
from dali_lab.operators.color.scaling import BRIGHTNESS_AND_SHIFT, CONTRAST_AND_CENTER, DTYPE, Scaling
from dali_lab.schema import Case, PerSample, register, samples

SUMS = "float32 products and sums are formed in another order"


@register
class BrightnessContrast(Scaling):
    """Changes the brightness and the contrast of images.

    ``out = brightness_shift · range + brightness · (contrast_center + contrast · (in − contrast_center))``
    """

    name = "brightness_contrast"
    title = "Brightness and contrast"
    differs = "Results of FLOAT agree to within 1e-6 of their size, as products and sums are formed in another order."
    arguments = (*BRIGHTNESS_AND_SHIFT, *CONTRAST_AND_CENTER, DTYPE)
    start = {"brightness": 1.2, "contrast": 1.4}
    example = ">>> fn.brightness_contrast(images, brightness=fn.random.uniform(range=(0.8, 1.2)), contrast=1.1)"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        values = PerSample.of(0.5, 1.0, 1.7)
        yield from Case.each(
            (pictures,),
            {"brightness": 0.5},
            {"brightness": 1.5, "contrast": 0.7},
            {"contrast": 1.8},
            {"brightness_shift": 0.2},
            {"brightness_shift": -0.3, "brightness": 1.2},
            {"contrast": 0.4, "contrast_center": 40.0},
            {"brightness": values, "contrast": 0.8},
            {"contrast": values, "contrast_center": 100.0},
            {"brightness": 1.1, "dtype": INT16},
            {"brightness": 1.1, "brightness_shift": 0.01, "dtype": INT32},
        )
        yield Case((pictures,), {"brightness": 1.3, "contrast": 0.8, "dtype": FLOAT}, tolerance=1e-4, reason=SUMS)
        yield Case(
            (samples.pictures(dtype=np.float32),), {"brightness": 1.3, "contrast": 0.8}, tolerance=1e-6, reason=SUMS
        )
        yield Case((samples.pictures(dtype=np.float32),), {"brightness": 100.0, "dtype": UINT8})
        yield Case((samples.pictures(dtype=np.int16),), {"contrast": 0.5})
        yield Case((samples.sequences(),), {"brightness": values})
        frames = PerSample.of([0.5, 1.5], [1, 0.8, 0.6], [2], layout="F")
        yield Case((samples.sequences(),), {"brightness": frames})
        yield Case((samples.volumes(),), {"contrast": 0.7})
        yield Case((samples.pictures(channels=1),), {"brightness": 0.7})
