"""Scales the saturation of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, UINT8
from dali_lab.operators.color.twisting import SATURATION, Twisting
from dali_lab.schema import Arg, Case, ErrorCase, PerSample, register, samples


@register
class Saturation(Twisting):
    """Scales the saturation of RGB images."""

    name = "saturation"
    arguments = (
        SATURATION,
        Arg("dtype", "dtype", None, "Type of the result; that of the input if not given.", or_no_type=True),
        Arg("image_type", "image_type", None, "", removed=True),
    )
    example = ">>> fn.saturation(images, saturation=fn.random.uniform(range=[0.5, 1.5]))"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"saturation": 0.0})
        yield Case(
            (pictures,),
            {"saturation": PerSample([np.float32(v) for v in (0.5, 1, 2)])},
        )
        yield Case((pictures,), {"saturation": 1.5, "dtype": FLOAT})
        yield Case((pictures,), {"saturation": 1.5, "dtype": INT16})
        yield Case((samples.pictures(dtype=np.float32),), {"saturation": 1.5, "dtype": FLOAT})
        yield Case(
            (samples.pictures(dtype=np.float16),),
            {"saturation": 1.5, "dtype": FLOAT16},
        )
        yield Case((samples.pictures(dtype=np.float32),), {"saturation": 1.5, "dtype": UINT8})
        yield Case((samples.sequences(),), {"saturation": 1.5})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(channels=4),), words=("3 channels", "4"))
        yield ErrorCase((samples.planar(),), words=("CHW",))
        yield ErrorCase((samples.pictures(dtype=np.float64),), words=("FLOAT64",))
