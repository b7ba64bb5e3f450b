"""Random windows that hold as much as they can of a region of interest."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel, rows
from dali_lab.kernels.cpu.philox import start_words
from dali_lab.kernels.cpu.standard_random import below
from dali_lab.kernels.streams import Key


@kernel
def _draw(key: Key, highs: Array, low: Array, high: Array, drawn: Array, out: Array) -> None:
    state = np.empty(8, np.uint64)
    for i in range(low.shape[0]):
        start_words(state, key, highs[i], np.uint64(0))
        for d in range(low.shape[1]):
            out[i, d] = low[i, d]
            if drawn[i, d]:
                out[i, d] += np.int64(below(state, np.uint64(high[i, d] - low[i, d] + 1)))


def window_starts(key: Key, highs: Array, starts: Array, extents: Array, windows: Array, shapes: Array | None) -> Array:
    """Starts of windows, ``int64[N, D]``: inside the region if it is smaller, around it if it is larger.

    Words of a sample are drawn one after the other, one for each axis whose window differs from the region.

    Parameters
    ----------
    key, highs
        The samples' stream: see :class:`~dali_lab.kernels.streams.Stream`.
    starts, extents
        ``int64[N, D]``: the regions.
    windows
        ``int64[N, D]``: extents of the windows.
    shapes
        ``int64[N, D]``: extents of samples, which windows must not leave; `None` if they may.
    """
    slack = extents - windows
    low, high = np.minimum(starts, starts + slack), np.maximum(starts, starts + slack)
    drawn = slack != 0
    if shapes is not None:
        low = np.where(drawn, np.maximum(low, 0), low)
        high = np.where(drawn, np.minimum(high, shapes - windows), high)
    out = np.empty(low.shape, np.int64)
    _draw(key, rows(highs, np.uint64), rows(low), rows(high), rows(drawn, np.bool_), out)
    return out
