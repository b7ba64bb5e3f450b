"""Turns the hue of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, UINT8
from dali_lab.operators.color.twisting import HUE, LEVEL, Twisting
from dali_lab.schema import Arg, Case, ErrorCase, PerSample, register, samples

SUMS = "a sine may differ in its last bit, and the matrix with it"


@register
class Hue(Twisting):
    """Turns the hue of RGB images."""

    name = "hue"
    arguments = (
        HUE,
        Arg("dtype", "dtype", None, "Type of the result; that of the input if not given.", or_no_type=True),
        Arg("image_type", "image_type", None, "", removed=True),
    )
    example = ">>> fn.hue(images, hue=fn.random.uniform(range=[-30.0, 30.0]))"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"hue": 45.0}, tolerance=1, reason=LEVEL, fraction=0.001)
        yield Case(
            (pictures,),
            {"hue": PerSample([np.float32(v) for v in (0, 90, -45)])},
            tolerance=1,
            reason=LEVEL,
            fraction=0.001,
        )
        yield Case((pictures,), {"hue": 300.0}, tolerance=1, reason=LEVEL, fraction=0.001)
        yield Case((pictures,), {"hue": 30.0, "dtype": FLOAT}, tolerance=1e-3, reason=SUMS)
        yield Case((pictures,), {"hue": 30.0, "dtype": INT16}, tolerance=1, reason=LEVEL)
        yield Case((samples.pictures(dtype=np.float32),), {"hue": 30.0, "dtype": FLOAT}, tolerance=1e-5, reason=SUMS)
        yield Case((samples.pictures(dtype=np.float16),), {"hue": 30.0, "dtype": FLOAT16}, tolerance=2e-3, reason=SUMS)
        yield Case((samples.pictures(dtype=np.float32),), {"hue": 30.0, "dtype": UINT8}, tolerance=1, reason=LEVEL)
        yield Case((samples.sequences(),), {"hue": 30.0}, tolerance=1, reason=LEVEL)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(channels=4),), words=("3 channels", "4"))
        yield ErrorCase((samples.planar(),), words=("CHW",))
        yield ErrorCase((samples.pictures(dtype=np.float64),), words=("FLOAT64",))
