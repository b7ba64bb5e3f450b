"""Random windows as ``ssd_random_crop`` draws them."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel
from dali_lab.kernels.cpu.philox import start_words
from dali_lab.kernels.cpu.standard_random import below, canonical32
from dali_lab.kernels.streams import Key

_0 = np.uint64(0)
_OPTIONS = np.uint64(7)


@kernel
def windows(
    key: Key, highs: Array, boxes: Array, starts: Array, counts: Array, thresholds: Array, attempts: int,
    whole: Array, found: Array, kept: Array,
) -> None:  # fmt: skip
    """Draw a window for each sample.

    Parameters
    ----------
    boxes, starts, counts
        ``float32[M, 4]``: all boxes by their two corners; those of sample `i` begin at ``starts[i]``.
    thresholds
        ``float32[6]``: least intersection over union of the window with every box; a seventh choice takes the whole.
    attempts
        Windows that are drawn for a threshold.
    whole
        Result, ``bool[N]``: the whole sample is taken.
    found
        Result, ``float64[N, 4]``: start and extents of the window, in the order x, y.
    kept
        Result, ``bool[M]``: boxes whose centre is in the window.
    """
    state = np.empty(8, np.uint64)
    for i in range(highs.shape[0]):
        start_words(state, key, highs[i], _0)
        first, last = starts[i], starts[i] + counts[i]
        done = False
        while not done:
            option = np.int64(below(state, _OPTIONS))
            if option == 6:
                whole[i] = True
                kept[first:last] = True
                break
            for _ in range(attempts):
                w = canonical32(state) * (np.float32(1) - np.float32(0.3)) + np.float32(0.3)
                h = canonical32(state) * (np.float32(1) - np.float32(0.3)) + np.float32(0.3)
                ratio = np.float64(np.float32(w / h))
                if ratio < 0.5 or ratio > 2.0:
                    continue
                left = np.float64(canonical32(state) * (np.float32(1) - w))
                top = np.float64(canonical32(state) * (np.float32(1) - h))
                right, bottom = left + np.float64(w), top + np.float64(h)
                l, t, r, b = np.float32(left), np.float32(top), np.float32(right), np.float32(bottom)  # noqa: E741
                good = True
                count = 0
                for m in range(first, last):
                    box = boxes[m]
                    across = max(min(box[2], r) - max(box[0], l), np.float32(0))
                    down = max(min(box[3], b) - max(box[1], t), np.float32(0))
                    common = across * down
                    own = (box[3] - box[1]) * (box[2] - box[0])
                    if common / (own + (b - t) * (r - l) - common) < thresholds[option]:
                        good = False
                    x = 0.5 * np.float64(box[0] + box[2])
                    y = 0.5 * np.float64(box[1] + box[3])
                    kept[m] = left <= x <= right and top <= y <= bottom
                    count += kept[m]
                if good and count > 0:
                    whole[i] = False
                    found[i, 0], found[i, 1] = left, top
                    found[i, 2], found[i, 3] = np.float64(w), np.float64(h)
                    done = True
                    break
