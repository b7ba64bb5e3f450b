"""Lists shuffled by places that were drawn before."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.memory import kernel

Array = np.ndarray[Any, Any]


@kernel
def swap(order: Array, first: Any, places: Array) -> None:
    """Swap each element from `first` on with that at the place drawn for it, one after the other."""
    for i in range(places.shape[0]):
        place = places[i]
        moved = order[first + i]
        order[first + i] = order[place]
        order[place] = moved
