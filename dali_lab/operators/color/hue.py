"""Turns the hue of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

from dali_lab.operators.color.scaling import DTYPE
from dali_lab.operators.color.twisting import HUE, TURNED, Twisting
from dali_lab.schema import Arg, Case, PerSample, register, samples


@register
class Hue(Twisting):
    """Turns the hue of RGB images."""

    name = "hue"
    arguments = (HUE, DTYPE, Arg("image_type", "image_type", None, "", removed=True))
    start = {"hue": 40.0}
    example = ">>> fn.hue(images, hue=fn.random.uniform(range=[-30.0, 30.0]))"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"hue": 45.0}, **TURNED)
        yield Case((pictures,), {"hue": PerSample.of(0, 90, -45)}, **TURNED)
        yield Case((pictures,), {"hue": 300.0}, **TURNED)
        yield from cls.cases_of_types({"hue": 30.0})
