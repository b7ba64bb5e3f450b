"""Scales the saturation of RGB images."""

from __future__ import annotations

from collections.abc import Iterable

from dali_lab.operators.color.scaling import DTYPE
from dali_lab.operators.color.twisting import SATURATION, Twisting
from dali_lab.schema import Arg, Case, PerSample, register, samples


@register
class Saturation(Twisting):
    """Scales the saturation of RGB images."""

    name = "saturation"
    arguments = (SATURATION, DTYPE, Arg("image_type", "image_type", None, "", removed=True))
    start = {"saturation": 1.8}
    example = ">>> fn.saturation(images, saturation=fn.random.uniform(range=[0.5, 1.5]))"

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,), {"saturation": 0.0})
        yield Case((pictures,), {"saturation": PerSample.of(0.5, 1, 2)})
        yield from cls.cases_of_types({"saturation": 1.5}, exact=True)
