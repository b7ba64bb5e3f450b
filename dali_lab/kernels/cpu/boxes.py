"""Boxes and masks: matching with anchors, pixels drawn from masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.memory import array_at, kernel, part
from dali_lab.kernels.cpu.philox import start_words
from dali_lab.kernels.cpu.standard_random import below
from dali_lab.kernels.streams import Key

_0 = np.uint64(0)


@part
def overlap(a: Array, b: Array) -> Any:
    """Intersection over union of two boxes given by two corners; 0 where they do not meet."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return np.float32(0)
    common = width * height
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


@kernel
def encode(
    boxes: Array, labels: Array, counts: Array, out_boxes: Array, out_labels: Array, anchors: Array, criteria: Real,
    offset: bool, scale: Real, means: Array, stds: Array, like_box: Array, like_label: Array,
) -> None:  # fmt: skip
    """Match the boxes of each sample with `anchors`; see :mod:`dali_lab.operators.boxes.box_encoder`."""
    total = anchors.shape[0]
    half = np.float32(0.5)
    chosen = np.empty(total, np.int64)
    best = np.empty(total, np.float32)
    for i in range(boxes.shape[0]):
        n = counts[i]
        rows = array_at(boxes[i], (n, 4), like_box)
        names = array_at(labels[i], (n,), like_label)
        result = array_at(out_boxes[i], (total, 4), like_box)
        classes = array_at(out_labels[i], (total,), like_label)
        chosen[:] = -1
        best[:] = -1
        for b in range(n):
            # Of equal ones the last counts: for the anchors of a box, and for the boxes of an anchor.
            favourite = 0
            highest = np.float32(-1)
            for a in range(total):
                value = overlap(rows[b], anchors[a])
                if value >= highest:
                    highest = value
                    favourite = a
                if value >= best[a]:
                    best[a] = value
                    chosen[a] = b
            best[favourite] = np.float32(2)
            chosen[favourite] = b
        for a in range(total):
            anchor = anchors[a]
            width, height = anchor[2] - anchor[0], anchor[3] - anchor[1]
            x, y = (anchor[0] + anchor[2]) * half, (anchor[1] + anchor[3]) * half
            if chosen[a] < 0 or not best[a] > criteria:
                classes[a] = 0
                if offset:
                    result[a, :] = 0
                else:
                    result[a, 0], result[a, 1], result[a, 2], result[a, 3] = x, y, width, height
                continue
            box = rows[chosen[a]]
            classes[a] = names[chosen[a]]
            bw, bh = box[2] - box[0], box[3] - box[1]
            bx, by = (box[0] + box[2]) * half, (box[1] + box[3]) * half
            if not offset:
                result[a, 0], result[a, 1], result[a, 2], result[a, 3] = bx, by, bw, bh
                continue
            result[a, 0] = ((bx * scale - x * scale) / (width * scale) - means[0]) / stds[0]
            result[a, 1] = ((by * scale - y * scale) / (height * scale) - means[1]) / stds[1]
            result[a, 2] = (np.float32(math.log((bw * scale) / (width * scale))) - means[2]) / stds[2]
            result[a, 3] = (np.float32(math.log((bh * scale) / (height * scale))) - means[3]) / stds[3]


@kernel
def transform_points(points: Array, counts: Array, matrices: Array, offsets: Array, out: Array) -> None:
    """``matrices[i] @ point + offsets[i]`` for ``counts[i]`` points of ``float32[width]`` in each sample, one by one.

    Products are added in the order of the coordinates, each rounded, and the offset last. One matrix, or one offset,
    may stand for all samples.
    """
    rows, width = matrices.shape[1], matrices.shape[2]
    source = target = 0
    for i in range(counts.shape[0]):
        matrix, offset = matrices[i % matrices.shape[0]], offsets[i % offsets.shape[0]]
        for _ in range(counts[i]):
            for row in range(rows):
                total = points[source] * matrix[row, 0]
                for column in range(1, width):
                    total += points[source + column] * matrix[row, column]
                out[target + row] = total + offset[row]
            source += width
            target += rows


@kernel
def mask_pixels(
    key: Key, highs: Array, masks: Array, shapes: Array, foreground: Array, exact: bool, values: Array, out: Array,
    like: Array,
) -> None:  # fmt: skip
    """A pixel of each mask, ``int64[N, ndim]``: of those above ``values[i]`` (or equal to it), or of all.

    A mask without such pixels is treated as if any would do.
    """
    state = np.empty(8, np.uint64)
    ndim = shapes.shape[1]
    for i in range(masks.shape[0]):
        start_words(state, key, highs[i], _0)
        total = 1
        for d in range(ndim):
            total *= shapes[i, d]
        count = 0
        if foreground[i]:
            mask = array_at(masks[i], (total,), like)
            for p in range(total):
                count += mask[p] == values[i] if exact else mask[p] > values[i]
        if count == 0:
            for d in range(ndim):
                out[i, d] = np.int64(below(state, np.uint64(shapes[i, d])))
            continue
        mask = array_at(masks[i], (total,), like)
        left = np.int64(below(state, np.uint64(count)))
        place = -1
        while left >= 0:
            place += 1
            left -= mask[place] == values[i] if exact else mask[place] > values[i]
        for d in range(ndim - 1, -1, -1):
            out[i, d] = place % shapes[i, d]
            place //= shapes[i, d]
