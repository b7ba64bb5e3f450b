"""Objects of segmentation masks: connected pixels of a label, and one of them drawn for each mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, part
from dali_lab.kernels.cpu.philox import start_words
from dali_lab.kernels.cpu.standard_random import below, canonical64
from dali_lab.kernels.streams import Key

_0 = np.uint64(0)


@part
def _grow(
    mask: Array, shape: Array, steps: Array, seen: Array, waiting: Array, start: int, low: Array, high: Array
) -> None:
    """Mark all pixels that are connected with `start` along axes and have its label, and find their bounds."""
    ndim = shape.shape[0]
    label = mask[start]
    waiting[0] = start
    seen[start] = True
    count = 1
    for d in range(ndim):
        low[d] = start // steps[d] % shape[d]
        high[d] = low[d] + 1
    while count > 0:
        count -= 1
        at = waiting[count]
        for d in range(ndim):
            place = at // steps[d] % shape[d]
            low[d] = min(low[d], place)
            high[d] = max(high[d], place + 1)
            for side in (-1, 1):
                if 0 <= place + side < shape[d]:
                    other = at + side * steps[d]
                    if not seen[other] and mask[other] == label:
                        seen[other] = True
                        waiting[count] = other
                        count += 1


@part
def _objects(
    mask: Array, shape: Array, steps: Array, seen: Array, waiting: Array, label: int, any_but: bool, least: Array
) -> Any:
    """Bounds of the objects with a label (or with any other one), ``int64[objects, 2, ndim]``, as first pixels come."""
    ndim = shape.shape[0]
    found = np.empty((8, 2, ndim), np.int64)
    count = 0
    low, high = np.empty(ndim, np.int64), np.empty(ndim, np.int64)
    seen[:] = False
    for p in range(mask.shape[0]):
        if seen[p] or (mask[p] == label) == any_but:
            continue
        _grow(mask, shape, steps, seen, waiting, p, low, high)
        if mask.shape[0] == 1:
            copy_row(low, high)  # NVIDIA DALI gives a mask of one element an object without extent
        large = True
        for d in range(ndim):
            large = large and high[d] - low[d] >= least[d]
        if not large:
            continue
        if count == found.shape[0]:
            more = np.empty((2 * count, 2, ndim), np.int64)
            copy_row(found.reshape(-1), more.reshape(-1)[: found.size])
            found = more
        copy_row(low, found[count, 0])
        copy_row(high, found[count, 1])
        count += 1
    return found[:count]


@part
def _sift(keys: Array, at: int, end: int) -> None:
    """Let a number of a heap sink to its place."""
    key, child = keys[at], 2 * at + 1
    while child < end:
        if child + 1 < end and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at] = keys[child]
        at, child = child, 2 * child + 1
    keys[at] = key


@part
def _sort(keys: Array) -> None:
    """Sort whole numbers. Numba's own sorts take longer to compile than all else here."""
    for at in range(keys.shape[0] // 2 - 1, -1, -1):
        _sift(keys, at, keys.shape[0])
    for end in range(keys.shape[0] - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        _sift(keys, 0, end)


@part
def _labels(mask: Array) -> Any:
    """The labels of a mask in order, ``int64``."""
    found = np.empty(mask.shape[0], np.int64)
    count = 0
    for p in range(mask.shape[0]):
        if p == 0 or mask[p] != mask[p - 1]:
            found[count] = mask[p]
            count += 1
    _sort(found[:count])
    used = 0
    for k in range(count):
        if used == 0 or found[k] != found[used - 1]:
            found[used] = found[k]
            used += 1
    return found[:used]


@part
def _pick(state: Array, found: Array, largest: int, bounds: Array) -> None:
    """Draw one of the objects, or of the `largest` largest ones."""
    count = found.shape[0]
    if largest < 0 or largest >= count:
        drawn = np.int64(below(state, np.uint64(count)))
        copy_row(found[drawn].reshape(-1), bounds.reshape(-1))
        return
    order = np.empty(count, np.int64)
    for k in range(count):
        volume = 1
        for d in range(found.shape[2]):
            volume *= found[k, 1, d] - found[k, 0, d]
        order[k] = k - volume * count  # of objects of one size the first comes first
    _sort(order)
    drawn = order[np.int64(below(state, np.uint64(largest)))] % count
    copy_row(found[drawn].reshape(-1), bounds.reshape(-1))


@kernel
def draw(
    key: Key, highs: Array, masks: Array, shapes: Array, chance: Array, backgrounds: Array, classes: Array,
    weights: Array, offsets: Array, every_label: bool, ignore_class: bool, largest: int, least: Array,
    bounds: Array, labels: Array, like: Array,
) -> None:  # fmt: skip
    """Draw an object of each mask of ``int32``.

    Parameters
    ----------
    chance
        ``float32[N]``: of drawing an object rather than the whole.
    backgrounds
        ``int64[N]``: the label that is no object.
    classes, weights, offsets
        Labels to draw from and their weights; those of sample `i` are ``offsets[i]`` to ``offsets[i + 1]``.
    every_label
        Draw from all labels of the mask instead, each as likely.
    ignore_class
        Draw an object of any label directly.
    largest, least
        Draw from the largest objects, or -1; least extents, ``int64[N, ndim]``.
    bounds, labels
        Results: ``int64[N, 2, ndim]``, ``int32[N]``.
    """
    state = np.empty(8, np.uint64)
    ndim = shapes.shape[1]
    steps = np.empty(ndim, np.int64)
    for i in range(masks.shape[0]):
        start_words(state, key, highs[i], _0)
        total = 1
        for d in range(ndim - 1, -1, -1):
            steps[d] = total
            total *= shapes[i, d]
            bounds[i, 0, d] = 0
            bounds[i, 1, d] = shapes[i, d]
        labels[i] = backgrounds[i]
        if not canonical64(state) < chance[i] or total == 0:
            continue
        mask = array_at(masks[i], (total,), like)
        seen = np.empty(total, np.bool_)
        waiting = np.empty(total, np.int64)
        if ignore_class:
            found = _objects(mask, shapes[i], steps, seen, waiting, backgrounds[i], True, least[i])
            if found.shape[0] > 0:
                _pick(state, found, largest, bounds[i])
            continue
        present = _labels(mask)
        own = present if every_label else classes[offsets[i] : offsets[i + 1]]
        rest, cumulative = np.zeros(own.shape[0], np.float64), np.empty(own.shape[0], np.float64)
        for k in range(own.shape[0]):
            if every_label:
                rest[k] = own[k] != backgrounds[i]
                continue
            for label in present:
                if label == own[k]:
                    rest[k] = weights[offsets[i] + k]
        while True:
            # Labels whose objects are all too small are left out, and another one is drawn.
            total_weight = 0.0
            for k in range(own.shape[0]):
                total_weight += rest[k]
                cumulative[k] = total_weight
            if not total_weight > 0:
                break
            value = canonical64(state) * total_weight
            # Sums over negative weights do not rise all along: what is found then is up to the way of searching.
            chosen, left = 0, own.shape[0] - 1
            while left > 0:
                half = left // 2
                if cumulative[chosen + half] < value:
                    chosen += half + 1
                    left -= half + 1
                else:
                    left = half
            found = _objects(mask, shapes[i], steps, seen, waiting, own[chosen], False, least[i])
            if found.shape[0] > 0:
                labels[i] = own[chosen]
                _pick(state, found, largest, bounds[i])
                break
            rest[chosen] = 0
