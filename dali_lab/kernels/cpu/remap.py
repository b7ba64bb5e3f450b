"""Remapping: pixels taken from positions in two maps, or from those of a projection, as OpenCV takes them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.borders import BORDERS
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part, rows
from dali_lab.kernels.cpu.remap_rows import PARTS, take_row
from dali_lab.kernels.cpu.warp import whole

_TOGETHER = 16
"""Columns of OpenCV's vector code."""
_AT_ONCE = 256
"""Pixels of maps that are worked on together."""
like_floats = like(np.float32)


@inner_part
def _is_old(first: int, last: int, taps: int, words: bool) -> Any:
    """Whether OpenCV takes the older way for these channels."""
    return taps == 8 or (taps < 4 and (words or last - first == 2))


@kernel
def _remap(
    src: Array, dst: Array, columns: Array, lines: Array, shapes: Array, sizes: Array, taps: int, shift: Real,
    words: bool, weights: Array, halves_up: bool, fill: Array, item: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        if sizes[i] == 0:
            continue
        source = array_at(src[i], (height * width * channels,), item)
        target = array_at(dst[i], (sizes[i] * channels,), item)
        map_x, map_y = array_at(columns[i], (sizes[i],), like_floats), array_at(lines[i], (sizes[i],), like_floats)
        most = min(sizes[i], _AT_ONCE)
        xs, ys = np.empty(most, np.float32), np.empty(most, np.float32)
        parts_x, parts_y = np.zeros(most, np.int64), np.zeros(most, np.int64)
        for start in range(0, sizes[i], most):
            count = min(most, sizes[i] - start)
            for k in range(count):
                xs[k] = map_x[start + k] - shift
                ys[k] = map_y[start + k] - shift
            for first in range(0, channels, 4):
                last = min(first + 4, channels)
                in_parts = taps > 1 and _is_old(first, last, taps, words)
                if in_parts:
                    for k in range(count):
                        parts_x[k] = whole(np.rint(xs[k] * np.float32(PARTS)))
                        parts_y[k] = whole(np.rint(ys[k] * np.float32(PARTS)))
                zero: Any = np.int64(0)  # not a constant, for which the rows would be compiled once more
                take_row(
                    source, item, zero, height, width, channels, first, last, xs[:count], ys[:count],
                    parts_x[:count], parts_y[:count], in_parts, words, taps, weights, halves_up, zero, fill,
                    target, start * channels,
                )  # fmt: skip


@inner_part
def _nearest(position: Real) -> Any:
    """The integer next to a position, safe for those beyond all images and for NaN."""
    known = position if position == position else -1e9
    return np.int64(np.rint(min(max(known, -1e9), 1e9)))


@part
def _project_old(matrix: Array, row: int, xs: Array, ys: Array, parts_x: Array, parts_y: Array) -> None:
    """Positions of a row in float64: whole numbers next to them, and parts of a pixel."""
    y = np.float64(row)
    for k in range(xs.shape[0]):
        x = np.float64(k)
        depth = matrix[6] * x + matrix[7] * y + matrix[8]
        scale = 1.0 / depth if depth != 0.0 else 0.0
        u = (matrix[0] * x + matrix[1] * y + matrix[2]) * scale
        v = (matrix[3] * x + matrix[4] * y + matrix[5]) * scale
        parts_x[k], parts_y[k] = _nearest(u * PARTS), _nearest(v * PARTS)
        xs[k], ys[k] = np.float32(_nearest(u)), np.float32(_nearest(v))


@part
def _project_cubic(m: Array, row: int, xs: Array, ys: Array) -> None:
    """Positions of a row for cubic interpolation: what is the same for all columns in float32, the rest in float64."""
    y = np.float32(row)
    a, b, c = np.float64(y * m[1] + m[2]), np.float64(y * m[4] + m[5]), np.float64(y * m[7] + m[8])
    across, down, deep = np.float64(m[0]), np.float64(m[3]), np.float64(m[6])
    for k in range(xs.shape[0]):
        x = np.float64(k)
        depth = x * deep + c
        xs[k], ys[k] = np.float32((x * across + a) / depth), np.float32((x * down + b) / depth)


@part
def _project_new(m: Array, row: int, xs: Array, ys: Array) -> None:
    """Positions of a row in float32, as vector code finds them, and what comes after it in the last columns."""
    y = np.float32(row)
    together = xs.shape[0] // _TOGETHER * _TOGETHER
    a, b, c = y * m[1] + m[2], y * m[4] + m[5], y * m[7] + m[8]
    for k in range(together):
        x = np.float32(k)
        depth = fused_multiply_add(x, m[6], c)
        xs[k] = fused_multiply_add(x, m[0], a) / depth
        ys[k] = fused_multiply_add(x, m[3], b) / depth
    for k in range(together, xs.shape[0]):
        x = np.float32(k)
        depth = fused_multiply_add(x, m[6], y * m[7]) + m[8]
        xs[k] = (fused_multiply_add(x, m[0], y * m[1]) + m[2]) / depth
        ys[k] = (fused_multiply_add(x, m[3], y * m[4]) + m[5]) / depth


@kernel
def _project(
    src: Array, dst: Array, shapes: Array, sizes: Array, matrices: Array, taps: int, words: bool, weights: Array,
    halves_up: bool, border: int, fill: Array, item: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        planes, height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        out_height, out_width = sizes[i, 0], sizes[i, 1]
        plane, out_plane = height * width * channels, out_height * out_width * channels
        if planes * plane * out_plane == 0:
            continue
        source = array_at(src[i], (planes * plane,), item)
        target = array_at(dst[i], (planes * out_plane,), item)
        xs, ys = np.empty(out_width, np.float32), np.empty(out_width, np.float32)
        parts_x, parts_y = np.zeros(out_width, np.int64), np.zeros(out_width, np.int64)
        matrix = np.empty(9, np.float32)
        for k in range(9):
            matrix[k] = matrices[i, k]
        for row in range(out_height):
            for first in range(0, channels, 4):
                last = min(first + 4, channels)
                old = _is_old(first, last, taps, words)
                if old:
                    _project_old(matrices[i], row, xs, ys, parts_x, parts_y)
                elif first == 0 and taps == 4:
                    _project_cubic(matrix, row, xs, ys)
                elif first == 0:
                    _project_new(matrix, row, xs, ys)
                for p in range(planes):
                    to = p * out_plane + row * out_width * channels
                    take_row(
                        source, item, p * plane, height, width, channels, first, last, xs, ys, parts_x, parts_y, old,
                        words, taps, weights, halves_up, border, fill, target, to,
                    )  # fmt: skip


def remap(
    src: Array, dst: Array, columns: Array, lines: Array, shapes: Array, sizes: Array, taps: int, shift: float,
    dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Take pixels from where two maps say; outside the picture there is 0.

    Parameters
    ----------
    src, dst, columns, lines
        ``int64[N]`` addresses; the maps are float32.
    shapes
        ``int64[N, 3]``: height, width, channels of the sources.
    sizes
        ``int64[N]``: pixels of the results.
    taps
        Neighbours along each axis: 1, 2 for linear, 4 for cubic, 8 for Lanczos interpolation.
    shift
        Subtracted from the coordinates.
    dtype
        uint8, uint16, int16 or float32.
    """
    _remap(
        rows(src), rows(dst), rows(columns), rows(lines), rows(shapes), rows(sizes), taps, np.float32(shift),
        np.dtype(dtype) == np.int16, part_weights(taps, np.dtype(dtype) == np.uint8), np.dtype(dtype) == np.uint8,
        np.zeros(1, np.float32), like(dtype),
    )  # fmt: skip


def warp_perspective(
    src: Array, dst: Array, shapes: Array, sizes: Array, matrices: Array, taps: int, border: str, fill: Array,
    dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Warp pictures by projections.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes
        ``int64[N, 4]``: planes, height, width, channels of the sources.
    sizes
        ``int64[N, 2]``: height and width of the results.
    matrices
        ``float64[N, 3, 3]``: from positions in the result to positions in the source.
    taps
        Neighbours along each axis: 1, 2 for linear, 4 for cubic interpolation.
    border, fill
        The border mode, one of :data:`~dali_lab.kernels.cpu.borders.BORDERS`, and the values for ``"constant"``: one
        for each channel, or one for all.
    dtype
        uint8, uint16, int16 or float32.

    Notes
    -----
    Equal to NVIDIA DALI, which calls OpenCV, on processors with AVX2.
    """
    _project(
        rows(src), rows(dst), rows(shapes), rows(sizes), rows(np.reshape(matrices, (len(src), 9)), np.float64), taps,
        np.dtype(dtype) == np.int16, part_weights(taps, np.dtype(dtype) == np.uint8), np.dtype(dtype) == np.uint8,
        BORDERS[border], rows(fill_levels(fill, dtype), np.float32), like(dtype),
    )  # fmt: skip


def fill_levels(fill: Array, dtype: npt.DTypeLike) -> Array:
    """Values for what is outside as elements of a dtype have them, ``float32``."""
    values = np.asarray(fill, np.float64)
    if np.dtype(dtype).kind == "f":
        return np.asarray(values, np.float32)
    limits = np.iinfo(dtype)
    return np.asarray(np.clip(np.rint(values), limits.min, limits.max), np.float32)


@functools.lru_cache(maxsize=8)
def part_weights(taps: int, fixed: bool) -> Array:
    """Weights of neighbours for positions at each part of a pixel, ``float32[PARTS * PARTS, taps * taps]``.

    They are for rows, then columns, of parts and of neighbours, and add up to 1; with `fixed` they are multiples of
    2**-15, and what is amiss of 1 goes to the greatest or the least of the four in the middle.
    """
    position = np.arange(PARTS) / PARTS
    if taps == 8:
        distance = position[:, None] - np.arange(8) + 3
        values = np.sinc(distance) * np.sinc(distance / 4)
        line = (values / values.sum(axis=1, keepdims=True)).astype(np.float32)
    elif taps == 4:
        x, slope, one = position.astype(np.float32), np.float32(-0.75), np.float32(1)
        far, rest = x + one, one - x
        first = ((slope * far - 5 * slope) * far + 8 * slope) * far - 4 * slope
        second, third = (((slope + 2) * d - (slope + 3)) * d * d + one for d in (x, rest))
        line = np.stack([first, second, third, one - first - second - third], axis=1)
    else:
        line = np.stack([1 - position, position], axis=1).astype(np.float32)
    table = (line[:, None, :, None] * line[None, :, None, :]).reshape(PARTS * PARTS, -1)
    if not fixed or taps == 1:
        return np.ascontiguousarray(table)
    levels = np.rint(table * np.float32(1 << 15)).astype(np.int64)
    middle = [j * taps + i for j in (taps // 2, taps // 2 + 1) for i in (taps // 2, taps // 2 + 1)]
    if taps > 2:
        for row in levels[levels.sum(axis=1) != 1 << 15]:
            over = row.sum() - (1 << 15)
            row[middle[int(row[middle].argmax() if over < 0 else row[middle].argmin())]] -= over
    return np.asarray(levels / (1 << 15), np.float32)
