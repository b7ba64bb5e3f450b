"""Shuffling of lists by places that were drawn before."""

from __future__ import annotations

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel


@kernel
def swap(order: Array, first: int, places: Array) -> None:
    """Swap each element from `first` on with that at the place drawn for it, one after the other."""
    for i in range(places.shape[0]):
        place = places[i]
        moved = order[first + i]
        order[first + i] = order[place]
        order[place] = moved
