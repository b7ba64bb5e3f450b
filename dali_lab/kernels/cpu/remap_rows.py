"""Rows of pixels sampled at positions between the pixels of a picture, as OpenCV samples them.

Pixel centres are at whole numbers. OpenCV has two ways. The newer takes pictures of one, three or four channels and
computes in float32, and multiplies and adds with one rounding. The older takes pictures of two channels and of int16
at parts of a pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb_types

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.borders import place_of
from dali_lab.kernels.cpu.convert import widen
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.machine.remap_vectors import cubic_pixel, linear_pixel
from dali_lab.kernels.cpu.memory import inner_part, part, variants
from dali_lab.kernels.cpu.warp import whole

_VECTORS = uses("vectors")

PARTS = 32
"""Parts of a pixel at which OpenCV samples for Lanczos interpolation, and for all of int16 and two channels."""


def stored(value: Real, like: Array) -> Any:
    """A float32 as an element: rounded to the nearest whole number, halves to even, and clamped."""
    raise NotImplementedError


@variants(stored)
def _choose_stored(value: nb_types.Type, like: nb_types.Array) -> Any:
    item: Any = like.dtype
    if isinstance(item, nb_types.Float):

        def unchanged(value: Real, like: Array) -> Any:
            return value

        return unchanged
    cast = getattr(np, str(item))
    low, high = np.float32(item.minval), np.float32(item.maxval)

    def nearest(value: Real, like: Array) -> Any:
        known = value if value == value else np.float32(0)
        return cast(np.int32(min(max(np.rint(known), low), high)))

    return nearest


@inner_part
def _element(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, row: int, column: int,
    c: int, border: int, fill: Array,
) -> Any:  # fmt: skip
    """An element of the picture, continued beyond its edges, as float32."""
    y, x = place_of(row, height, border), place_of(column, width, border)
    if y < 0 or x < 0:
        return np.float32(fill[min(c, fill.shape[0] - 1)])
    return np.float32(widen(source[np.uintp(base + (y * width + x) * channels + c)], item))


@part
def _nearest_row(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, first: int, last: int,
    xs: Array, ys: Array, border: int, fill: Array, target: Array, to: int,
) -> None:  # fmt: skip
    right, bottom = np.float32(width - 1), np.float32(height - 1)
    for k in range(xs.shape[0]):
        column, row = np.rint(xs[k]), np.rint(ys[k])
        if column >= 0 and row >= 0 and column <= right and row <= bottom:
            at = base + (np.int64(np.int32(row)) * width + np.int64(np.int32(column))) * channels
            if last - first == 3:
                target[np.uintp(to + first)] = source[np.uintp(at + first)]
                target[np.uintp(to + first + 1)] = source[np.uintp(at + first + 1)]
                target[np.uintp(to + first + 2)] = source[np.uintp(at + first + 2)]
            else:
                for c in range(first, last):
                    target[np.uintp(to + c)] = source[np.uintp(at + c)]
            to += channels
            continue
        x, y = place_of(whole(column), width, border), place_of(whole(row), height, border)
        at = base + (y * width + x) * channels
        for c in range(first, last):
            if x < 0 or y < 0:
                target[np.uintp(to + c)] = stored(np.float32(fill[min(c, fill.shape[0] - 1)]), item)
            else:
                target[np.uintp(to + c)] = source[np.uintp(at + c)]
        to += channels


@inner_part
def _between(nw: Real, ne: Real, sw: Real, se: Real, a: Real, b: Real) -> Any:
    upper = fused_multiply_add(a, ne - nw, nw)
    lower = fused_multiply_add(a, se - sw, sw)
    return fused_multiply_add(b, lower - upper, upper)


@part
def _linear_row(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, first: int, last: int,
    xs: Array, ys: Array, border: int, fill: Array, target: Array, to: int,
) -> None:  # fmt: skip
    right, bottom = np.float32(width - 1), np.float32(height - 1)
    line = width * channels
    begin, goal, size = np.int64(source.ctypes.data), np.int64(target.ctypes.data), source.itemsize
    for k in range(xs.shape[0]):
        x, y = xs[k], ys[k]
        left, top = np.floor(x), np.floor(y)
        if left >= 0 and top >= 0 and left < right and top < bottom:
            a, b = x - left, y - top
            at = base + np.int64(np.int32(top)) * line + np.int64(np.int32(left)) * channels
            if _VECTORS and channels == 3 and at + line + 6 < source.shape[0] and to + 3 < target.shape[0]:
                linear_pixel(begin + at * size, line * size, a, b, goal + to * size, item)
                to += channels
                continue
            for c in range(first, last):
                nw = np.float32(widen(source[np.uintp(at + c)], item))
                ne = np.float32(widen(source[np.uintp(at + channels + c)], item))
                sw = np.float32(widen(source[np.uintp(at + line + c)], item))
                se = np.float32(widen(source[np.uintp(at + line + channels + c)], item))
                target[np.uintp(to + c)] = stored(_between(nw, ne, sw, se, a, b), item)
        else:
            column, row = whole(x), whole(y)
            a, b = x - np.float32(column), y - np.float32(row)
            for c in range(first, last):
                nw = _element(source, item, base, height, width, channels, row, column, c, border, fill)
                ne = _element(source, item, base, height, width, channels, row, column + 1, c, border, fill)
                sw = _element(source, item, base, height, width, channels, row + 1, column, c, border, fill)
                se = _element(source, item, base, height, width, channels, row + 1, column + 1, c, border, fill)
                target[np.uintp(to + c)] = stored(_between(nw, ne, sw, se, a, b), item)
        to += channels


@inner_part
def _cubic_weights(x: Real, one_by_one: bool, out: Array) -> None:
    """Keys' cubic with a slope of -3/4, by the distance to the second of four neighbours."""
    one, slope = np.float32(1), np.float32(-0.75)
    rest = one - x
    out[0] = (slope * x) * (rest * rest) if one_by_one else slope * (x * (rest * rest))
    out[1] = fused_multiply_add(fused_multiply_add(np.float32(1.25), x, np.float32(-2.25)), x * x, one)
    out[3] = (slope * (x * x)) * rest if one_by_one else slope * ((x * x) * rest)
    out[2] = ((one - out[0]) - out[1]) - out[3]


@inner_part
def _within_reach(position: Real, size: int) -> Any:
    """A position, but for those far outside, which OpenCV moves closer where it interpolates cubically."""
    reach = np.float32(max(size, 16))
    known = position if position == position else -reach
    return min(max(known, -reach), np.float32(2) * reach)


@part
def _cubic_row(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, first: int, last: int,
    xs: Array, ys: Array, one_by_one: bool, border: int, fill: Array, target: Array, to: int,
) -> None:  # fmt: skip
    """Between four neighbours along each axis; `one_by_one` as OpenCV does it without vector code."""
    across, down, values = np.empty(4, np.float32), np.empty(4, np.float32), np.empty(4, np.float32)
    columns, lines = np.empty(4, np.int64), np.empty(4, np.int64)
    line = width * channels
    begin, goal, size = np.int64(source.ctypes.data), np.int64(target.ctypes.data), source.itemsize
    for k in range(xs.shape[0]):
        x, y = _within_reach(xs[k], width), _within_reach(ys[k], height)
        column, row = np.int64(np.floor(x)), np.int64(np.floor(y))
        _cubic_weights(x - np.float32(column), one_by_one, across)
        _cubic_weights(y - np.float32(row), one_by_one, down)
        inside = column >= 1 and row >= 1 and column + 2 < width and row + 2 < height
        at = base + (row - 1) * line + (column - 1) * 3
        if _VECTORS and channels == 3 and inside and not one_by_one and at + 3 * line + 12 < source.shape[0]:
            if to + 3 < target.shape[0]:
                cubic_pixel(
                    begin + at * size, line * size, across.ctypes.data, down.ctypes.data, goal + to * size, item
                )  # fmt: skip
                to += channels
                continue
        for j in range(4):
            columns[j] = (column + j - 1 if inside else place_of(column + j - 1, width, border)) * channels
            lines[j] = (row + j - 1 if inside else place_of(row + j - 1, height, border)) * width * channels
        beyond = columns.max() < 0 or lines.max() < 0
        for c in range(first, last):
            outside = fill[min(c, fill.shape[0] - 1)]
            if beyond:
                target[np.uintp(to + c)] = stored(outside, item)
                continue
            total = np.float32(0)
            for j in range(4):
                for i in range(4):
                    values[i] = outside
                    if inside or (columns[i] >= 0 and lines[j] >= 0):
                        values[i] = np.float32(widen(source[np.uintp(base + lines[j] + columns[i] + c)], item))
                if one_by_one:
                    made = fused_multiply_add(across[0], values[0], across[1] * values[1])
                else:
                    made = fused_multiply_add(across[1], values[1], across[0] * values[0])
                made = fused_multiply_add(across[3], values[3], fused_multiply_add(across[2], values[2], made))
                total = fused_multiply_add(down[j], made, total)
            target[np.uintp(to + c)] = stored(total, item)
        to += channels


@part
def _parts_row(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, first: int, last: int,
    xs: Array, ys: Array, taps: int, weights: Array, halves_up: bool, border: int, fill: Array, target: Array,
    to: int,
) -> None:  # fmt: skip
    """At parts of a pixel, with weights of the neighbours for each; four neighbours are one sum, more a sum of rows."""
    before = taps // 2 - 1
    for k in range(xs.shape[0]):
        column, row = xs[k] // PARTS - before, ys[k] // PARTS - before
        factors = weights[ys[k] % PARTS * PARTS + xs[k] % PARTS]
        inside = column >= 0 and row >= 0 and column + taps <= width and row + taps <= height
        for c in range(first, last):
            outside = fill[min(c, fill.shape[0] - 1)]
            total = np.float32(0)
            for j in range(taps):
                line = np.float32(0)
                y = row + j if inside else place_of(row + j, height, border)
                for i in range(taps):
                    x = column + i if inside else place_of(column + i, width, border)
                    value = outside
                    if inside or (x >= 0 and y >= 0):
                        place = base + (y * width + x) * channels + c
                        value = np.float32(widen(source[np.uintp(place)], item))
                    if taps == 2:
                        total += factors[j * taps + i] * value
                    else:
                        line += factors[j * taps + i] * value
                total += line
            if halves_up:
                total = np.floor(total + np.float32(0.5))
            target[np.uintp(to + c)] = stored(total, item)
        to += channels


@part
def take_row(
    source: Array, item: Array, base: int, height: int, width: int, channels: int, first: int, last: int,
    xs: Array, ys: Array, parts_x: Array, parts_y: Array, in_parts: bool, words: bool, taps: int, weights: Array,
    halves_up: bool, border: int, fill: Array, target: Array, to: int,
) -> None:  # fmt: skip
    """A row of the result from positions, for some of the channels."""
    if taps == 1:
        _nearest_row(
            source, item, base, height, width, channels, first, last, xs, ys, border, fill, target, to
        )  # fmt: skip
    elif in_parts:
        _parts_row(
            source, item, base, height, width, channels, first, last, parts_x, parts_y, taps, weights, halves_up,
            border, fill, target, to,
        )  # fmt: skip
    elif taps == 2:
        _linear_row(source, item, base, height, width, channels, first, last, xs, ys, border, fill, target, to)
    else:
        _cubic_row(
            source, item, base, height, width, channels, first, last, xs, ys, words or last - first == 2, border, fill,
            target, to,
        )  # fmt: skip
