"""Separable resampling of uint8 pictures with three channels into normalised planes: the same sums as the general rows.

What :mod:`~dali_lab.kernels.cpu.resample_rows` says of order and rounding holds here to the bit; what differs is that
channels are taken apart first (:mod:`~dali_lab.kernels.cpu.machine.plane_vectors`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Window
from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.pixel_vectors import normalize_mirrored_row, normalize_row
from dali_lab.kernels.cpu.machine.plane_vectors import (
    LANES,
    NEAR,
    REACH,
    ROWS,
    STEP,
    across_bytes,
    across_far_pixels,
    across_far_planes,
    across_near_pixels,
    across_near_planes,
    available,
    finish_pixels,
    finish_planes,
    split_bytes,
    sum_planes,
)
from dali_lab.kernels.cpu.memory import kernel, part, rows
from dali_lab.kernels.cpu.resample_pixels import halves_away
from dali_lab.kernels.cpu.resample_rows import Plan, plan_taps

AVAILABLE = uses("vectors") and available()


def call(planes: Any, pixels: Any, meanwhile: Callable[..., Any], *arguments: Any) -> None:
    """Call a kernel for planes with those pictures that it can do, and one for pixels with the others.

    Parameters
    ----------
    meanwhile
        Does what the kernels do as long as they are not compiled.
    arguments
        Of the kernel for pixels: addresses, shapes and windows stand where :func:`resize_windows` has them.
    """
    done = rows(candidates(arguments[2][:, 2], arguments[4][:, 3]))
    if done.any():
        if not background.ready(planes, *arguments, done):
            if not done.all():  # the others will need theirs
                background.ready(pixels, *arguments)
            meanwhile(*arguments)
            return
        planes(*arguments, done)
        if done.all():
            return
        tables = (isinstance(value, np.ndarray) and len(value) == len(done) for value in arguments)
        arguments = tuple(value[done == 0] if table else value for value, table in zip(arguments, tables, strict=True))
    background.call(pixels, *arguments, meanwhile=meanwhile)


def candidates(widths: Array, out_widths: Array) -> Array:
    """Pictures of three channels that can be tried here, by the widths of the source and of the result."""
    return np.asarray(np.minimum(widths, out_widths) >= (STEP if AVAILABLE else np.inf))


@part
def _aligned(array: Array) -> Any:
    """The first address in the array that is a multiple of 64."""
    return (array.ctypes.data + 63) // 64 * 64


@part
def _place_taps(first: Array, weights: Array, n: int, width: int, low: int, mirrored: bool, memory: Array) -> Any:
    """Lay out the taps of all columns in vectors, and tell the reach of the widest.

    `memory` gets, from its first multiple of 64 on, ``float32[vectors, n, 16]`` weights and ``int32`` places likewise.
    """
    columns = first.shape[0]
    vectors = (columns + LANES - 1) // LANES
    tables = np.empty(2 * vectors, np.int64)
    at = (_aligned(memory) - memory.ctypes.data) // 4
    places = memory.view(np.int32)
    reach = 0
    for j in range(vectors):
        column = min(j * LANES, columns - LANES)
        left, right = width, 0
        for lane in range(LANES):
            start = first[columns - 1 - column - lane if mirrored else column + lane]
            left = min(left, min(max(start, 0), width - 1))
            right = max(right, min(max(start + n - 1, 0), width - 1))
        reach = max(reach, right - left + 1)
        tables[j] = left - low
        tables[vectors + j] = column
        for lane in range(LANES):
            x = columns - 1 - column - lane if mirrored else column + lane
            for k in range(n):
                to = at + (j * n + k) * LANES + lane
                memory[to] = weights[x * n + k]
                places[to + vectors * n * LANES] = min(max(first[x] + k, 0), width - 1) - left
    return tables, reach


@part
def plan_planes(
    height: int, width: int, out_height: int, out_width: int, window: Window, roi: Array, minify: int, magnify: int,
    antialias: bool, mirrored: bool,
) -> Any:  # fmt: skip
    """The plan of one picture; arguments as for :func:`~dali_lab.kernels.cpu.resample_rows.plan_rows`.

    Returns
    -------
    tuple
        Whether the picture can be resampled here, and what :func:`resample_planes` takes as `plan`.
    """
    y_n, x_n, y_first, y_weights, x_first, x_weights, low, high, y_step, vertical_first, turns = plan_taps(
        height, width, out_height, out_width, window, roi, minify, magnify, antialias, 3, 16
    )
    columns = x_first.shape[0]
    levels = halves_away(turns, columns, mirrored, 1, columns)
    if high - low < STEP:
        low = max(0, min(low, width - STEP))
        high = max(high, low + STEP)
    vectors = (columns + LANES - 1) // LANES
    taps = np.empty(2 * vectors * x_n * LANES + 16, np.float32)
    tables, reach = _place_taps(x_first, x_weights, x_n, width, low, mirrored, taps)
    # Every row is resampled that lies between taps: others would be wasted.
    fits = reach <= REACH and (vertical_first or abs(y_step) <= np.float32(y_n))
    count = high - low
    # As many groups of rows as those of one output can lie in, and a power of two.
    groups = 1
    while not vertical_first and groups < (y_n + ROWS - 1) // ROWS + 1:
        groups *= 2
    pitch = (columns + LANES - 1) // LANES * LANES
    line_pitch = (count + 2 * REACH) // LANES * LANES
    lines = np.empty(3 * line_pitch + 16, np.float32)
    ring = np.empty(groups * ROWS * 3 * pitch + 16, np.float32)
    tags = np.empty(groups, np.int64)
    addresses = np.empty(y_n, np.int64)
    return fits, (
        (height, low, count, y_n, x_n, groups, line_pitch, pitch, reach),
        (y_first, tables, tags, addresses, levels),
        (y_weights, taps, lines, ring),
        vertical_first,
    )


@part
def rows_before(plan: Plan) -> int:
    """Rows at the top of the picture that are not read."""
    height = plan[0][0]
    y_first = plan[1][0]
    first: int = min(y_first[0], y_first[y_first.shape[0] - 1])
    return min(max(first, 0), height - 1) // ROWS * ROWS


@part
def _no_more(row: int, columns: int, mean: int, inverse: int, planes: int, plane: int, mirrored: bool) -> None:
    """There is nothing else to make of a row."""


@part
def _normalized(row: int, columns: int, mean: int, inverse: int, planes: int, plane: int, mirrored: bool) -> None:
    """Normalise a row of pixels, too."""
    if mirrored:
        normalize_mirrored_row(row, mean, inverse, planes, plane, columns)
    else:
        normalize_row(row, mean, inverse, planes, plane, columns)


def _resampling(across_near: Any, across_far: Any, finish: Any, size: int, more: Any = _no_more) -> Any:
    """Make the function whose rows are written by three others, with `size` bytes from one column to the next.

    It resamples a picture at an address, rounds to levels, and writes three planes of ``(level - mean) * inverse``, or
    pixels, for which both are 0. `row_pitch` is the number of bytes from one row of the picture to the next. `more`
    makes `planes` of each row of pixels as well.
    """

    @part
    def resample(
        picture: int, row_pitch: int, plan: Plan, mean: int, inverse: int, out: int, planes: int = 0,
        mirrored: bool = False,
    ) -> None:  # fmt: skip
        sizes, indices, floats, vertical_first = plan
        height, low, count, y_n, x_n, groups, line_pitch, pitch, reach = sizes
        y_first, tables, tags, addresses, levels = indices
        y_weights, taps, lines, ring = floats
        vectors = tables.shape[0] // 2
        columns = tables[2 * vectors - 1] + LANES
        rows = y_first.shape[0]
        plane = rows * columns * 4
        weights = _aligned(taps)
        places = weights + vectors * x_n * LANES * 4
        line = _aligned(lines)
        base = _aligned(ring)
        tags[:] = -1
        rounding = levels.ctypes.data
        for y in range(rows):
            goal, other = out + y * columns * size, planes + y * columns * 4
            start = y_first[y]
            factors = y_weights.ctypes.data + 4 * y * y_n
            if vertical_first:
                for k in range(y_n):
                    addresses[k] = picture + min(max(start + k, 0), height - 1) * row_pitch + low * 3
                sum_planes(addresses.ctypes.data, factors, y_n, line, line_pitch * 4, count)
                if reach <= NEAR:
                    across_near(
                        line, line_pitch * 4, tables.ctypes.data, places, weights, x_n, mean, inverse, goal, plane,
                        vectors, rounding,
                    )  # fmt: skip
                else:
                    across_far(
                        line, line_pitch * 4, tables.ctypes.data, places, weights, x_n, mean, inverse, goal, plane,
                        vectors, rounding,
                    )  # fmt: skip
                more(goal, columns, mean, inverse, other, plane, mirrored)
                continue
            for k in range(y_n):
                row = min(max(start + k, 0), height - 1)
                number = row // ROWS
                slot = number & (groups - 1)
                if tags[slot] != number:
                    tags[slot] = number
                    for r in range(ROWS):
                        at = min(number * ROWS + r, height - 1)
                        split_bytes(picture + at * row_pitch + low * 3, line + 3 * r * line_pitch, line_pitch, count)
                    across_bytes(
                        line, line_pitch, tables.ctypes.data, places, weights, x_n, base + slot * ROWS * 3 * pitch * 4,
                        3 * pitch * 4, pitch * 4, vectors,
                    )  # fmt: skip
                addresses[k] = base + (row - number * ROWS + slot * ROWS) * 3 * pitch * 4
            finish(addresses.ctypes.data, pitch * 4, factors, y_n, mean, inverse, goal, plane, columns, rounding)
            more(goal, columns, mean, inverse, other, plane, mirrored)

    return resample


resample_planes = _resampling(across_near_planes, across_far_planes, finish_planes, 4)
resample_pixels = _resampling(across_near_pixels, across_far_pixels, finish_pixels, 3)
resample_both = _resampling(across_near_pixels, across_far_pixels, finish_pixels, 3, _normalized)
"""Pixels, and planes made of them, which are mirrored where asked for."""


@kernel
def resize_windows(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, done: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.resample.resize_windows`, plane by plane.

    `done` is that of :func:`resize_crop_mirror_normalize`.
    """
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        window = (windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3])
        if done[i] == 0 or frames * height == 0 or windows[i, 2] == 0:
            continue
        fits, plan = plan_planes(
            height, width, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias, False
        )
        if not fits:
            done[i] = 0
            continue
        for frame in range(frames):
            picture = src[i] + frame * height * width * 3
            resample_pixels(picture, width * 3, plan, 0, 0, dst[i] + frame * windows[i, 2] * windows[i, 3] * 3)


@kernel
def resize_crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, mirror: Array, mean: Array, inverse: Array, done: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.normalize.resize_crop_mirror_normalize` for pixels, plane by plane.

    Parameters
    ----------
    mean, inverse
        ``float32[M, C]`` with at least three channels; M is 1 or the number of samples.
    done
        ``int64[N]``: 1 for pictures to resample, which is made 0 where the taps lie too far apart for it.
    """
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        out_height, out_width = windows[i, 2], windows[i, 3]
        if done[i] == 0 or frames * height == 0 or out_height == 0:
            continue
        window = (windows[i, 0], windows[i, 1], out_height, out_width)
        fits, plan = plan_planes(
            height, width, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias, mirror[i] != 0
        )
        if not fits:
            done[i] = 0
            continue
        centre = mean[min(i, mean.shape[0] - 1)].ctypes.data
        factor = inverse[min(i, inverse.shape[0] - 1)].ctypes.data
        for frame in range(frames):
            picture = src[i] + frame * height * width * 3
            goal = dst[i] + frame * out_height * out_width * 12
            resample_planes(picture, width * 3, plan, centre, factor, goal)
