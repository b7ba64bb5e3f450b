"""Turns the hue and scales the saturation and the value of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.dtypes import NO_TYPE, UINT8
from dali_lab.operators.color.twisting import HUE, SATURATION, SUMS, TURNED, Twisting
from dali_lab.schema import Arg, Case, PerSample, factor, register, samples


@register
class Hsv(Twisting):
    """Turns the hue and scales the saturation and the value of RGB images."""

    name = "hsv"
    title = "Hue, saturation, value"
    arguments = (
        HUE,
        SATURATION,
        factor("value", 1.0, "Factor of the value.", per_frame=True, important=True),
        Arg("dtype", "dtype", UINT8, "Type of the result; NO_TYPE asks for that of the input.", or_no_type=True),
    )
    start = {"hue": 40.0, "saturation": 1.3}
    example = ">>> fn.hsv(images, hue=15, saturation=0.8, value=1.1)"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"hue": 120.0}, **TURNED)
        yield Case((pictures,), {"saturation": 0.3})
        yield Case((pictures,), {"value": 1.4})
        yield Case((pictures,), {"hue": -33.0, "saturation": 1.6, "value": 0.8}, **TURNED)
        yield Case((pictures,), {"hue": PerSample.of(0, 90, -45), "saturation": PerSample.of(0.5, 1, 2)}, **TURNED)
        yield from cls.cases_of_types({"hue": 30.0, "saturation": 1.2, "value": 0.9})
        yield Case(
            (samples.pictures(dtype=np.float32),), {"saturation": 1.2, "dtype": NO_TYPE}, tolerance=1e-5, reason=SUMS
        )
