"""The parts of separable resampling: NVIDIA DALI's order of passes, a few output rows at a time.

What DALI 2.4 does on the CPU, and so what is done here:

* Taps and weights along an axis are those of :mod:`dali_lab.kernels.cpu.resample_filters`. Taps outside the image
  repeat its edge.
* Two passes, the intermediate image in float32. The order is the cheaper of the two, ties go to horizontal first.
  The second pass counts positions from the first element that it reads, which shows in the last digits of regions.
* Sums run over the taps in ascending order, in float32, with products rounded before they are added.
  An integer output is rounded and clamped. A sum that ends in exactly one half goes to the even neighbour in most
  columns and away from zero in the first and the last few
  (:func:`~dali_lab.kernels.cpu.resample_filters.turning_points`).

Where this does better: a region that lies outside the image repeats the edge (DALI reads out of bounds), and
nearest neighbour along one axis with another filter along the other keeps to the region (DALI shifts it twice).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import types as nb_types

from dali_lab.kernels.arrays import Array, Extents, Real, Window
from dali_lab.kernels.cpu.convert import saturate, widen
from dali_lab.kernels.cpu.machine.row_vectors import dot4
from dali_lab.kernels.cpu.memory import part, variants
from dali_lab.kernels.cpu.resample_filters import (
    NN,
    filter_taps,
    inner_columns,
    nearest_taps,
    plan_axis,
    turning_points,
    vertical_pass_first,
)

Plan: TypeAlias = tuple[Extents, tuple[Array, ...], tuple[Array, ...], bool]
"""The plan of a picture's rows: sizes, tables of integers, tables of floats, and whether rows are summed first."""
ROWS = 4
"""Rows that are resampled together: their taps and weights are the same, so are read once."""
_dot4_of_1, _dot4_of_4 = dot4(1), dot4(ROWS)


@part
def across(
    lines: Array, pitch: int, rows: int, low: int, width: int, channels: int, first: Array, weights: Array, n: int,
    out: Array, out_base: int, out_pitch: int,
) -> None:  # fmt: skip
    """Resample `rows` (1 or 4) float32 lines along x; element 0 of a line is column `low` of `width` columns.

    Four floats after each row of `out` are written to as well.
    """
    base = lines.ctypes.data
    taps = weights.ctypes.data
    target = out.ctypes.data + 4 * out_base
    edge_pitch = n * channels + 4
    edge = np.empty(rows * edge_pitch, np.float32)
    for x in range(first.shape[0]):
        start = first[x]
        if start >= 0 and start + n <= width:
            source = base + 4 * (start - low) * channels
            source_pitch = 4 * pitch
        else:
            for k in range(n):
                column = min(max(start + k, 0), width - 1) - low
                for r in range(rows):
                    for c in range(channels):
                        edge[r * edge_pitch + k * channels + c] = lines[r * pitch + column * channels + c]
            source = edge.ctypes.data
            source_pitch = 4 * edge_pitch
        for c in range(0, channels, 4):
            goal = target + 4 * (x * channels + c)
            if rows == 1:
                _dot4_of_1(source + 4 * c, source_pitch, taps + 4 * x * n, channels, n, goal, 4 * out_pitch)
            else:
                _dot4_of_4(source + 4 * c, source_pitch, taps + 4 * x * n, channels, n, goal, 4 * out_pitch)


@part
def sum_rows(
    source: Array, like: Array, offsets: Array, weights: Array, w0: int, n: int, target: Array, base: int, count: int
) -> None:
    """Weighted sum of `n` rows of `source` that start at `offsets`, taps in order."""
    out = target[base : base + count]
    k = 0
    while k < n:
        left = n - k
        a = source[offsets[k] : offsets[k] + count]
        wa = weights[w0 + k]
        if left >= 4:
            b = source[offsets[k + 1] : offsets[k + 1] + count]
            c = source[offsets[k + 2] : offsets[k + 2] + count]
            d = source[offsets[k + 3] : offsets[k + 3] + count]
            wb = weights[w0 + k + 1]
            wc = weights[w0 + k + 2]
            wd = weights[w0 + k + 3]
            if k == 0:
                for j in range(count):
                    total = wa * np.float32(widen(a[j], like)) + wb * np.float32(widen(b[j], like))
                    out[j] = total + wc * np.float32(widen(c[j], like)) + wd * np.float32(widen(d[j], like))
            else:
                for j in range(count):
                    total = out[j] + wa * np.float32(widen(a[j], like)) + wb * np.float32(widen(b[j], like))
                    out[j] = total + wc * np.float32(widen(c[j], like)) + wd * np.float32(widen(d[j], like))
            k += 4
        elif left >= 2:
            b = source[offsets[k + 1] : offsets[k + 1] + count]
            wb = weights[w0 + k + 1]
            if k == 0:
                for j in range(count):
                    out[j] = wa * np.float32(widen(a[j], like)) + wb * np.float32(widen(b[j], like))
            else:
                for j in range(count):
                    out[j] = out[j] + wa * np.float32(widen(a[j], like)) + wb * np.float32(widen(b[j], like))
            k += 2
        else:
            if k == 0:
                for j in range(count):
                    out[j] = wa * np.float32(widen(a[j], like))
            else:
                for j in range(count):
                    out[j] = out[j] + wa * np.float32(widen(a[j], like))
            k += 1


@part
def widen_row(source: Array, like: Array, offset: int, target: Array, base: int, count: int) -> None:
    """Copy `count` elements to float32."""
    row = source[offset : offset + count]
    out = target[base : base + count]
    for j in range(count):
        out[j] = np.float32(widen(row[j], like))


def finish(value: Real, like: Array) -> Any:
    """A finished float32 sum as an element of the output, halves to the even neighbour."""
    raise NotImplementedError


@variants(finish)
def _finish_typed(value: nb_types.Type, like: nb_types.Array) -> Any:
    if not isinstance(like.dtype, nb_types.Integer) or like.ndim == 2:

        def convert(value: Real, like: Array) -> Any:
            return saturate(value, like)

        return convert
    low, high = np.float32(like.dtype.minval), np.float32(like.dtype.maxval)

    def round_even(value: Real, like: Array) -> Any:
        return np.int32(min(max(np.rint(value), low), high))

    def round_even_signed(value: Real, like: Array) -> Any:
        # NVIDIA DALI makes -1 of all that lies between -1 and 0.
        return np.int32(min(max(np.rint(value), low), high)) - (value < 0 and value >= np.float32(-0.5))

    return round_even_signed if like.dtype == nb_types.int16 else round_even


@part
def plan_taps(
    height: int, width: int, out_height: int, out_width: int, window: Window, roi: Array, minify: int, magnify: int,
    antialias: bool, channels: int, lanes: int,
) -> Any:  # fmt: skip
    """Taps of both axes and the order of passes.

    Parameters
    ----------
    window
        The part of the output that is wanted, ``(y, x, rows, columns)``; rows are numbered within it.
    roi
        ``(y0, x0, y1, x1)`` in float32 pixels of the source; ends before starts flip.
    minify, magnify
        Interpolation codes for an axis that shrinks and one that does not.
    lanes
        Elements of the output in 16 bytes.

    Returns
    -------
    tuple
        Taps of a row and of a column; first tap and weights of each row, and of each column; the columns
        ``low`` to ``high`` of the source that are read; source rows between output rows; whether the vertical pass
        comes first; and the turning points of the window's rows.
    """
    y_type, y_base, y_count, y_scale, y_anchor, y_n, y_lo, y_hi = plan_axis(
        height, out_height, roi[0], roi[2], minify, magnify, antialias
    )
    x_type, x_base, x_count, x_scale, x_anchor, x_n, x_lo, x_hi = plan_axis(
        width, out_width, roi[1], roi[3], minify, magnify, antialias
    )
    y_step = (roi[2] - roi[0]) / np.float32(out_height)
    x_step = (roi[3] - roi[1]) / np.float32(out_width)
    y_n = max(y_n, 1)
    x_n = max(x_n, 1)

    vertical = vertical_pass_first(y_hi - y_lo, x_hi - x_lo, out_height, out_width, y_n, x_n)
    # The second pass counts from where what the first one made begins.
    y_from, x_from = 0, 0
    if vertical:
        x_from = x_lo
    else:
        y_from = y_lo
    top, left, rows, columns = window
    y_first = np.empty(rows, np.int64)
    y_weights = np.empty(rows * y_n, np.float32)
    y_origin = roi[0] - np.float32(y_from)
    if y_type == NN:
        nearest_taps(y_first, y_weights, top, y_origin, y_step, height - y_from, True)
    else:
        filter_taps(y_first, y_weights, top, y_origin, y_step, y_base, y_count, y_scale, y_anchor, y_n)
    x_first = np.empty(columns, np.int64)
    x_weights = np.empty(columns * x_n, np.float32)
    x_origin = roi[1] - np.float32(x_from)
    if x_type == NN:
        nearest_taps(x_first, x_weights, left, x_origin, x_step, width - x_from, False)
    else:
        filter_taps(x_first, x_weights, left, x_origin, x_step, x_base, x_count, x_scale, x_anchor, x_n)
    y_first += y_from
    x_first += x_from

    leftmost, rightmost = x_first[0], x_first[columns - 1]
    if leftmost > rightmost:
        leftmost, rightmost = rightmost, leftmost
    low = min(max(leftmost, 0), width - 1)
    high = max(low + 1, min(rightmost + x_n, width))
    nearest = (x_type if vertical else y_type) == NN
    inner = inner_columns(out_width, x_hi - x_lo, x_origin, x_step, x_anchor, x_n)
    turns = turning_points(nearest, vertical, out_width, channels, lanes, inner[0], inner[1])
    for k in range(turns.shape[0]):
        turns[k] = min(max(turns[k] - left * channels, 0), columns * channels)
    return y_n, x_n, y_first, y_weights, x_first, x_weights, low, high, y_step, vertical, turns


@part
def plan_rows(
    height: int, width: int, channels: int, out_height: int, out_width: int, window: Window, roi: Array, minify: int,
    magnify: int, antialias: bool, lanes: int,
) -> Any:  # fmt: skip
    """Everything that the rows of one sample share: taps of both axes, the order of passes, and buffers.

    Arguments are those of :func:`plan_taps`.

    Returns
    -------
    tuple
        The `plan` of :func:`resample_four_rows`, and the turning points of rows.
    """
    y_n, x_n, y_first, y_weights, x_first, x_weights, low, high, y_step, vertical_first, turns = plan_taps(
        height, width, out_height, out_width, window, roi, minify, magnify, antialias, channels, lanes
    )
    line_pitch = (high - low) * channels + 4
    row_pitch = x_first.shape[0] * channels + 4
    # Rows are resampled four at a time, unless the taps leave so many rows out that most would be wasted.
    group = ROWS if abs(y_step) <= np.float32(y_n) else 1
    groups = (y_n + group - 1) // group + 1
    lines = np.empty(ROWS * line_pitch, np.float32)
    ring = np.empty(1 if vertical_first else groups * group * row_pitch, np.float32)
    tags = np.full(groups, -1, np.int64)
    offsets = np.empty(y_n, np.int64)
    plan = (
        (height, width, channels, low, high, line_pitch, row_pitch, y_n, x_n, group, groups),
        (y_first, x_first, tags, offsets),
        (y_weights, x_weights, lines, ring),
        vertical_first,
    )
    return plan, turns


@part
def start_frame(plan: Plan) -> None:
    """Forget the rows that were kept from another frame."""
    plan[1][2][:] = -1


@part
def resample_four_rows(source: Array, like: Array, base: int, y: int, plan: Plan, out: Array) -> Any:
    """Compute output rows `y` to ``y + 3`` in float32, or as many as there are; return their number.

    Parameters
    ----------
    source, like, base
        The flat source, what stands for its dtype, and the element where the frame (all of it, not the region) begins.
    out
        Four rows of ``out_width * channels + 4`` floats each: the last four of a row are scratch.
    """
    sizes, indices, floats, vertical_first = plan
    height, width, channels, low, high, line_pitch, row_pitch, y_n, x_n, group, groups = sizes
    y_first, x_first, tags, offsets = indices
    y_weights, x_weights, lines, ring = floats
    count = (high - low) * channels
    rows = min(ROWS, y_first.shape[0] - y)
    for r in range(rows):
        start = y_first[y + r]
        if vertical_first:
            for k in range(y_n):
                row = min(max(start + k, 0), height - 1)
                offsets[k] = base + (row * width + low) * channels
            sum_rows(source, like, offsets, y_weights, (y + r) * y_n, y_n, lines, r * line_pitch, count)
        else:
            for k in range(y_n):
                row = min(max(start + k, 0), height - 1)
                number = row // group
                slot = number % groups
                offsets[k] = (slot * group + row - number * group) * row_pitch
                if tags[slot] != number:
                    tags[slot] = number
                    for g in range(min(group, height - number * group)):
                        at = base + ((number * group + g) * width + low) * channels
                        widen_row(source, like, at, lines, g * line_pitch, count)
                    across(
                        lines, line_pitch, group, low, width, channels, x_first, x_weights, x_n,
                        ring, slot * group * row_pitch, row_pitch,
                    )  # fmt: skip
            sum_rows(ring, ring, offsets, y_weights, (y + r) * y_n, y_n, out, r * row_pitch, row_pitch - 4)
    if vertical_first:
        across(
            lines, line_pitch, ROWS, low, width, channels, x_first, x_weights, x_n, out, 0, row_pitch
        )  # fmt: skip
    return rows
