"""Random windows that keep to boxes: what ``random_bbox_crop`` draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.memory import copy_row, kernel, part
from dali_lab.kernels.cpu.philox import start_words
from dali_lab.kernels.cpu.standard_random import below, canonical32
from dali_lab.kernels.streams import Key

_0 = np.uint64(0)
ANY_EXTENT = np.float32(-1)
BY_CENTRE = np.float32(-1)


@part
def _uniform(state: Array, low: Real, high: Real) -> Any:
    """``uniform_real_distribution<float>(low, high)``."""
    return canonical32(state) * (high - low) + low


@part
def _volume(box: Array, ndim: int) -> Any:
    volume = np.float32(1)
    for d in range(ndim):
        volume *= box[ndim + d] - box[d]
    return volume


@part
def _common(window: Array, box: Array, ndim: int) -> Any:
    """Volume of the intersection of two boxes."""
    volume = np.float32(1)
    for d in range(ndim):
        extent = min(window[ndim + d], box[ndim + d]) - max(window[d], box[d])
        if extent <= 0:
            return np.float32(0)
        volume *= extent
    return volume


@part
def _metric(window: Array, box: Array, ndim: int, by_union: bool) -> Any:
    common = _common(window, box, ndim)
    if common == 0:
        return np.float32(0)
    own = _volume(box, ndim)
    if by_union:
        return common / (_volume(window, ndim) + own - common)
    return common / own


@part
def _keeps(window: Array, box: Array, ndim: int, least: Real) -> Any:
    """Whether a box stays: its centre lies within, or enough of its volume."""
    if least < 0:
        for d in range(ndim):
            centre = (box[d] + box[ndim + d]) * np.float32(0.5)
            if not window[d] <= centre <= window[ndim + d]:
                return False
        return True
    own = _volume(box, ndim)
    common = _common(window, box, ndim)
    return common > 0 and common / own >= least


@part
def _aspect_fits(lengths: Array, ndim: int, ratios: Array) -> bool:
    place = 0
    for i in range(ndim):
        for j in range(i + 1, ndim):
            if not ratios[place, 0] <= lengths[i] / lengths[j] <= ratios[place, 1]:
                return False
            place += 1
    return True


@part
def _shuffled(state: Array, order: Array, ndim: int) -> None:
    """The axes in a random order, as the GNU C++ library shuffles them; the words that it takes are drawn again."""
    for d in range(ndim):
        order[d] = d
    ahead = state.copy()
    if ndim == 2:
        chosen = np.int64(below(ahead, np.uint64(2)))
        order[1], order[chosen] = order[chosen], order[1]
    else:
        both = np.int64(below(ahead, np.uint64(6)))
        order[1], order[both // 3] = order[both // 3], order[1]
        order[2], order[both % 3] = order[both % 3], order[2]


@part
def _fix_aspect(state: Array, lengths: Array, ndim: int, ratios: Array, order: Array) -> None:
    """Give axes the only ratio that is allowed, one after the other; the longest keeps its length."""
    _shuffled(state, order, ndim)
    longest = np.float32(0)
    for d in range(ndim):
        longest = max(longest, lengths[d])
    for i in range(ndim):
        for j in range(i + 1, ndim):
            known, changed = order[i], order[j]
            low, high = min(known, changed), max(known, changed)
            place = high - 1 if low == 0 else ndim - 1
            if ratios[place, 0] == ratios[place, 1]:
                ratio = ratios[place, 0]
                if low == known:
                    ratio = np.float32(1.0 / np.float64(ratio))
                lengths[changed] = lengths[known] * ratio
    now = np.float32(0)
    for d in range(ndim):
        now = max(now, lengths[d])
    for d in range(ndim):
        lengths[d] = longest * lengths[d] / now


@kernel
def windows(
    key: Key, highs: Array, boxes: Array, starts: Array, counts: Array, thresholds: Array, may_keep: bool,
    scaling: Array, ratios: Array, fixed: Array, sizes: Array, by_union: bool, every: bool, least: Real,
    attempts: int, total: int, found: Array, kept: Array, success: Array,
) -> None:  # fmt: skip
    """Draw a window for each sample.

    Parameters
    ----------
    boxes, starts, counts
        ``float32[M, 2 * ndim]``: all boxes by their two corners; those of sample `i` begin at ``starts[i]``.
    thresholds, may_keep
        Values of the metric to choose from; `may_keep` adds the choice to take the whole.
    scaling, ratios
        Range of extents; range of the aspect ratio of each pair of axes, ``float32[pairs, 2]``.
    fixed, sizes
        ``float32[N, ndim]``: extents of the windows in elements, or :data:`ANY_EXTENT`; shapes of the samples, or 1.
    by_union, every
        The metric is intersection over union; all boxes must reach the threshold, not just one.
    least
        Part of a box that must remain, or :data:`BY_CENTRE`.
    attempts, total
        Windows that are drawn for a threshold; windows that are drawn in all, or -1.
    found
        Result, ``float32[N, 2 * ndim]``: corners of the windows.
    kept
        Result, ``bool[M]``: boxes that stay.
    success
        Result, ``bool[N]``: not the best one of those that failed.
    """
    state = np.empty(8, np.uint64)
    ndim = boxes.shape[1] // 2
    window = np.empty(2 * ndim, np.float32)
    extent = np.empty(ndim, np.float32)
    options = thresholds.shape[0] + may_keep
    lengths = np.empty(ndim, np.float32)
    order = np.empty(ndim, np.int64)
    ratio_fixed = False
    for k in range(ratios.shape[0]):
        ratio_fixed = ratio_fixed or ratios[k, 0] == ratios[k, 1]
    for i in range(highs.shape[0]):
        start_words(state, key, highs[i], _0)
        first, last = starts[i], starts[i] + counts[i]
        found[i, :] = 0
        kept[first:last] = False
        success[i] = False
        best = np.float32(-1)
        tried = 0
        while not success[i] and (total < 0 or tried < total):
            option = np.int64(below(state, np.uint64(options)))
            if option == thresholds.shape[0]:
                for d in range(ndim):
                    found[i, d] = 0
                    found[i, ndim + d] = 1
                kept[first:last] = True
                success[i] = True
                break
            threshold = thresholds[option]
            for _ in range(attempts):
                tried += 1
                if fixed[i, 0] >= 0:
                    for d in range(ndim):
                        # A window that is larger than the sample begins before it.
                        room = np.int64(sizes[i, d] - fixed[i, d])
                        place = np.float32(0)
                        if room != 0:
                            first_place = room if room < 0 else np.int64(0)
                            place = np.float32(first_place + np.int64(below(state, np.uint64(abs(room) + 1))))
                        window[d] = place / sizes[i, d]
                        window[ndim + d] = fixed[i, d] / sizes[i, d] + window[d]
                else:
                    for d in range(ndim):
                        extent[d] = _uniform(state, scaling[0], scaling[1])
                        lengths[d] = extent[d] * sizes[i, d]
                    if ratio_fixed:
                        _fix_aspect(state, lengths, ndim, ratios, order)
                    # Lengths whose ratio is rounded to another number than the one allowed do not fit, either.
                    if not _aspect_fits(lengths, ndim, ratios):
                        continue
                    # A ratio may ask for more than the sample has; the window then leaves it, as in NVIDIA DALI.
                    for d in range(ndim):
                        if ratio_fixed:
                            extent[d] = lengths[d] / sizes[i, d]
                        window[d] = _uniform(state, np.float32(0), np.float32(1) - extent[d])
                        window[ndim + d] = window[d] + extent[d]
                count = 0
                worst, highest = np.float32(2), np.float32(-1)
                for b in range(first, last):
                    value = _metric(window, boxes[b], ndim, by_union)
                    worst, highest = min(worst, value), max(highest, value)
                    count += _keeps(window, boxes[b], ndim, least)
                value = worst if every else highest
                good = first == last or value >= threshold
                if not good and value <= best:
                    continue
                # The last window of those that overlap enough counts, even if it leaves no box.
                best = value
                success[i] = good and (first == last or count > 0)
                copy_row(window, found[i])
                for b in range(first, last):
                    kept[b] = _keeps(window, boxes[b], ndim, least)
