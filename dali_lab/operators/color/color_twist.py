"""Turns the hue and scales saturation, contrast and brightness of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, RGB, UINT8
from dali_lab.operators.color.twisting import BRIGHTNESS, CONTRAST, HUE, LEVEL, SATURATION, Twisting
from dali_lab.schema import Arg, Case, ErrorCase, PerSample, register, samples

SUMS = "a sine may differ in its last bit, and the matrix with it"


@register
class ColorTwist(Twisting):
    """Turns the hue and scales saturation, contrast and brightness of RGB images."""

    name = "color_twist"
    title = "Colour twist"
    arguments = (
        HUE,
        SATURATION,
        CONTRAST,
        BRIGHTNESS,
        Arg("image_type", "image_type", RGB, "Kept for programs that set it.", advanced=True),
        Arg("dtype", "dtype", None, "Type of the result; that of the input if not given.", or_no_type=True),
    )
    example = ">>> fn.color_twist(images, hue=fn.random.uniform(range=[-20.0, 20.0]), saturation=1.2)"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"hue": 45.0}, tolerance=1, reason=LEVEL, fraction=0.001)
        yield Case((pictures,), {"contrast": 1.5})
        yield Case((pictures,), {"contrast": 0.3, "brightness": 1.3})
        yield Case(
            (pictures,),
            {"hue": -33.0, "saturation": 1.6, "brightness": 0.8, "contrast": 1.1},
            tolerance=1,
            reason=LEVEL,
            fraction=0.001,
        )
        yield Case(
            (pictures,),
            {
                "hue": PerSample([np.float32(v) for v in (0, 90, -45)]),
                "contrast": PerSample([np.float32(v) for v in (0.5, 1, 2)]),
            },
            tolerance=1,
            reason=LEVEL,
            fraction=0.001,
        )
        yield Case(
            (pictures,),
            {"hue": 30.0, "saturation": 1.2, "contrast": 0.9, "dtype": FLOAT},
            tolerance=1e-3,
            reason=SUMS,
        )
        yield Case(
            (pictures,),
            {"hue": 30.0, "saturation": 1.2, "contrast": 0.9, "dtype": INT16},
            tolerance=1,
            reason=LEVEL,
        )
        yield Case(
            (samples.pictures(dtype=np.float32),),
            {"hue": 30.0, "saturation": 1.2, "contrast": 0.9, "dtype": FLOAT},
            tolerance=1e-5,
            reason=SUMS,
        )
        yield Case(
            (samples.pictures(dtype=np.float16),),
            {"hue": 30.0, "saturation": 1.2, "contrast": 0.9, "dtype": FLOAT16},
            tolerance=2e-3,
            reason=SUMS,
        )
        yield Case(
            (samples.pictures(dtype=np.float32),),
            {"hue": 30.0, "saturation": 1.2, "contrast": 0.9, "dtype": UINT8},
            tolerance=1,
            reason=LEVEL,
        )
        yield Case((samples.sequences(),), {"hue": 30.0, "saturation": 1.2, "contrast": 0.9}, tolerance=1, reason=LEVEL)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(channels=4),), words=("3 channels", "4"))
        yield ErrorCase((samples.planar(),), words=("CHW",))
        yield ErrorCase((samples.pictures(dtype=np.float64),), words=("FLOAT64",))
