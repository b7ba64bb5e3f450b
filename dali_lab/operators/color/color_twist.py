"""Turns the hue and scales saturation, contrast and brightness of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

from dali_lab.model.dtypes import RGB
from dali_lab.operators.color.scaling import BRIGHTNESS, CONTRAST, DTYPE
from dali_lab.operators.color.twisting import HUE, SATURATION, TURNED, Twisting
from dali_lab.schema import Arg, Case, PerSample, register, samples


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
        DTYPE,
    )
    start = {"hue": 20.0, "saturation": 1.4, "contrast": 1.2}
    example = ">>> fn.color_twist(images, hue=fn.random.uniform(range=[-20.0, 20.0]), saturation=1.2)"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"hue": 45.0}, **TURNED)
        yield Case((pictures,), {"contrast": 1.5})
        yield Case((pictures,), {"contrast": 0.3, "brightness": 1.3})
        yield Case((pictures,), {"hue": -33.0, "saturation": 1.6, "brightness": 0.8, "contrast": 1.1}, **TURNED)
        yield Case((pictures,), {"hue": PerSample.of(0, 90, -45), "contrast": PerSample.of(0.5, 1, 2)}, **TURNED)
        yield from cls.cases_of_types({"hue": 30.0, "saturation": 1.2, "contrast": 0.9})
