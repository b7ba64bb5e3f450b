"""Shrinks bright regions."""

from __future__ import annotations

from dali_lab.operators.filters.morphing import Morphing
from dali_lab.schema import register


@register
class Erode(Morphing):
    """Replaces each element by the darkest one of a rectangle around it, in each channel.

    With ``border_mode="constant"``, elements outside the image never count.
    """

    name = "experimental.erode"
    example = ">>> fn.experimental.erode(masks, mask_size=(5, 5))"
