"""Border modes: how an axis is extended beyond its ends."""

from __future__ import annotations

from typing import Any

from dali_lab.kernels.arrays import Integer
from dali_lab.kernels.cpu.memory import part

BORDERS = {
    "constant": 0, "replicate": 1, "clamp": 1, "reflect": 2, "reflect_1001": 2, "wrap": 3, "reflect_101": 4,
}  # fmt: skip
"""Outside there is nothing, the edge, the picture mirrored with its edge, repeated, or mirrored without the edge.

The enumeration in ``common.cuh`` has the same numbers.
"""
REFLECT_101 = BORDERS["reflect_101"]


@part
def place_of(index: Integer, size: int, border: int) -> Any:
    """The element of an axis that stands at `index`; -1 for none."""
    if 0 <= index < size:
        return index
    if border == 0:
        return -1
    if border == 1 or size == 1:
        return 0 if index < 0 else size - 1
    if border == 3:
        return index % size
    period = 2 * size - 2 if border == 4 else 2 * size
    place = index % period
    if place < size:
        return place
    return period - place if border == 4 else period - 1 - place
