"""Masks drawn from polygons and runs, to the pixel as the COCO tools and NVIDIA DALI draw them.

A mask is a list of runs over the pixels of a picture, column by column: so many outside, so many inside, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, part

_int32 = np.empty(0, np.int32)
_SCALE = 5.0


@part
def _outline(points: Array, first: int, last: int) -> Any:
    """Points along the edges of a polygon, five for each pixel: their columns and rows."""
    count = last - first
    x, y = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    for j in range(count):
        x[j] = int(_SCALE * points[first + j, 0] + 0.5)
        y[j] = int(_SCALE * points[first + j, 1] + 0.5)
    total = 0
    if count:
        x[count], y[count] = x[0], y[0]
    for j in range(count):
        total += max(abs(x[j] - x[j + 1]), abs(y[j] - y[j + 1])) + 1
    columns, lines = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for j in range(count):
        x0, x1, y0, y1 = x[j], x[j + 1], y[j], y[j + 1]
        across, down = abs(x1 - x0), abs(y1 - y0)
        steep = across < down
        flip = y0 > y1 if steep else x0 > x1
        if flip:
            x0, x1, y0, y1 = x1, x0, y1, y0
        length = down if steep else across
        slope = 0.0
        if length > 0:
            slope = ((x1 - x0) if steep else (y1 - y0)) / length
        for d in range(length + 1):
            t = length - d if flip else d
            if steep:
                columns[at] = int(x0 + slope * t + 0.5)
                lines[at] = t + y0
            else:
                columns[at] = t + x0
                lines[at] = int(y0 + slope * t + 0.5)
            at += 1
    return columns, lines


@part
def _polygon(points: Array, first: int, last: int, height: int, width: int) -> Any:
    """The runs of a polygon."""
    columns, lines = _outline(points, first, last)
    cells = np.empty(columns.shape[0] + 1, np.int64)
    count = 0
    for j in range(1, columns.shape[0]):
        if columns[j] == columns[j - 1]:
            continue
        column = columns[j] if columns[j] < columns[j - 1] else columns[j] - 1
        x = (column + 0.5) / _SCALE - 0.5
        if np.floor(x) != x or x < 0 or x > width - 1:
            continue
        y = (min(lines[j], lines[j - 1]) + 0.5) / _SCALE - 0.5
        y = np.ceil(min(max(y, 0.0), float(height)))
        cells[count] = int(x) * height + int(y)
        count += 1
    cells[count] = height * width
    count += 1
    cells = np.sort(cells[:count])
    runs = np.empty(count, np.int64)
    runs[0] = cells[0]
    used, j = 1, 1
    while j < count:
        run = cells[j] - cells[j - 1]
        if run > 0:
            runs[used] = run
            used += 1
        elif j + 1 < count:
            # Two crossings in one place: the runs on both sides are one.
            j += 1
            runs[used - 1] += cells[j] - cells[j - 1]
        j += 1
    return runs[:used]


@part
def _union(a: Array, b: Array) -> Any:
    """The runs of what is in one of two masks."""
    out = np.empty(a.shape[0] + b.shape[0], np.int64)
    left_a, left_b, next_a, next_b = a[0], b[0], 1, 1
    inside, in_a, in_b = False, False, False
    run, used, left = 0, 0, 1
    while left > 0:
        step = min(left_a, left_b)
        run += step
        left_a -= step
        if left_a == 0 and next_a < a.shape[0]:
            left_a = a[next_a]
            next_a += 1
            in_a = not in_a
        left_b -= step
        if left_b == 0 and next_b < b.shape[0]:
            left_b = b[next_b]
            next_b += 1
            in_b = not in_b
        left = left_a + left_b
        before = inside
        inside = in_a or in_b
        if inside != before or left == 0:
            out[used] = run
            used += 1
            run = 0
    return out[:used]


@part
def _over(runs: Array, values: Array, mask: Array, label: int) -> Any:
    """Runs of labels with a mask of another label laid over them; where both end the picture, the one below stays."""
    out, marks = np.empty(runs.shape[0] + mask.shape[0], np.int64), np.empty(runs.shape[0] + mask.shape[0], np.int64)
    left_a, left_b, next_a, next_b = runs[0], mask[0], 1, 1
    value = below = values[0]
    inside = covered = False
    used, left = 0, 1
    while left > 0:
        step = min(left_a, left_b)
        left_a -= step
        if left_a == 0 and next_a < runs.shape[0]:
            left_a, below = runs[next_a], values[next_a]
            next_a += 1
        left_b -= step
        if left_b == 0 and next_b < mask.shape[0]:
            left_b = mask[next_b]
            next_b += 1
            inside = not inside
        left = left_a + left_b
        out[used] = step
        marks[used] = label if covered and (value == 0 or left_a > 0) else value
        used += 1
        value, covered = below, inside
        if left_a == 0:
            break
    return out[:used], marks[:used]


@part
def _label_runs(
    label: int, labels: Array, polygons: Array, first: int, last: int, points: Array, height: int, width: int,
    masks: Array, begin: int, end: int, ends: Array, counts: Array,
) -> Any:  # fmt: skip
    """The runs of all objects of a label: its polygons, or else its last list of runs, or nothing."""
    runs = np.empty(0, np.int64)
    for j in range(begin, end):
        if labels[masks[j]] == label:
            runs = counts[ends[j] : ends[j + 1]]
    drawn = False
    for j in range(first, last):
        if labels[polygons[j, 0]] == label:
            polygon = _polygon(points, polygons[j, 1], polygons[j, 2], height, width)
            runs = _union(runs, polygon) if drawn else polygon
            drawn = True
    return runs


@kernel
def draw(
    targets: Array, extents: Array, box_starts: Array, labels: Array, polygon_starts: Array, polygons: Array,
    points: Array, mask_starts: Array, masks: Array, ends: Array, counts: Array,
) -> None:  # fmt: skip
    """Draw the labels of objects into pictures of INT32; larger labels over smaller ones.

    Parameters
    ----------
    targets, extents
        Addresses, height and width of the pictures.
    box_starts, labels
        ``int64[N + 1]``: which of ``int64`` labels are those of a picture's objects.
    polygon_starts, polygons, points
        ``int64[N + 1]``: which rows of polygons are a picture's; each has the object, and the first and last of its
        points, ``float64[V, 2]`` of x and y.
    mask_starts, masks, ends, counts
        ``int64[N + 1]``: which of the lists of runs are a picture's; the object of each; where each ends, after a 0;
        and the runs.
    """
    for i in range(targets.shape[0]):
        height, width = extents[i, 0], extents[i, 1]
        out = array_at(targets[i], (height * width,), _int32)
        out[:] = 0
        own = labels[box_starts[i] : box_starts[i + 1]]
        if own.shape[0] == 0:
            continue
        runs, values = np.empty(1, np.int64), np.empty(1, np.int64)
        runs[0], values[0] = height * width, 0
        begun = False
        for label in np.unique(own):
            mask = _label_runs(
                label, own, polygons, polygon_starts[i], polygon_starts[i + 1], points, height, width, masks,
                mask_starts[i], mask_starts[i + 1], ends, counts,
            )  # fmt: skip
            if mask.shape[0] == 0:
                continue
            if begun:
                runs, values = _over(runs, values, mask, label)
            else:
                runs = mask.copy()
                values = np.zeros(mask.shape[0], np.int64)
                values[1::2] = label
                begun = True
        at = 0
        for j in range(runs.shape[0]):
            if values[j] != 0:
                for p in range(at, at + runs[j]):
                    out[p % height * width + p // height] = values[j]
            at += runs[j]
