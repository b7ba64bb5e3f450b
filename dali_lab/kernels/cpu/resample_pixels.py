"""Separable resampling of uint8 pictures with three channels: the same sums as the general rows, four rows at a time.

What :mod:`~dali_lab.kernels.cpu.resample_rows` says of order and rounding holds here to the bit; only the layout of the
intermediate values differs (:mod:`~dali_lab.kernels.cpu.machine.pixel_vectors`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Window
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.pixel_vectors import STEP, across, sum_bytes, widen_bytes
from dali_lab.kernels.cpu.memory import part
from dali_lab.kernels.cpu.resample_rows import ROWS, Plan, plan_taps


def takes(channels: Array, widths: Array, out_widths: Array) -> bool:
    """Whether pictures with these channels and widths, of the source and of what is computed, can be resampled here."""
    return bool(
        uses("vectors") and len(channels) and (channels == 3).all() and min(widths.min(), out_widths.min()) >= STEP
    )


@part
def halves_away(turns: Array, columns: int, mirrored: bool, pixel_step: int, channel_step: int) -> Array:
    """Levels of a row of pixels that are rounded away from zero at a half, as the functions that finish rows take them.

    Parameters
    ----------
    turns
        Turning points of the row before it is mirrored (:func:`~dali_lab.kernels.cpu.resample_filters.turning_points`).
    pixel_step, channel_step
        Lanes from one pixel to the next, and from one channel to the next.

    Returns
    -------
    numpy.ndarray
        ``float32``: as the bits of three ``int64`` the first pixel of a stretch where none do, the one after the last,
        and `channel_step`; then for each lane 0.5 where they do.
    """
    halves = np.zeros(6 + (columns * pixel_step + 3 * channel_step + 1) // 2 * 2, np.float32)
    stretch = halves.view(np.int64)
    stretch[2] = channel_step
    for k in range(0, 6, 2):
        first, after = (turns[k] + 2) // 3, turns[k + 1] // 3
        if after - first > stretch[1] - stretch[0]:
            stretch[0] = columns - after if mirrored else first
            stretch[1] = columns - first if mirrored else after
        for element in range(turns[k + 1], turns[k + 2]):
            pixel = element // 3
            x = columns - 1 - pixel if mirrored else pixel
            halves[6 + x * pixel_step + (element - 3 * pixel) * channel_step] = 0.5
    return halves


@part
def plan_pixels(
    height: int, width: int, out_height: int, out_width: int, window: Window, roi: Array, minify: int, magnify: int,
    antialias: bool, mirrored: bool,
) -> Any:  # fmt: skip
    """The plan of one picture; arguments as for :func:`~dali_lab.kernels.cpu.resample_rows.plan_rows`.

    Returns
    -------
    tuple
        The `plan` of :func:`pixel_row`; and the levels for rounding (:func:`halves_away`).
    """
    y_n, x_n, y_first, y_weights, x_first, x_weights, low, high, y_step, vertical_first, turns = plan_taps(
        height, width, out_height, out_width, window, roi, minify, magnify, antialias, 3, 16
    )
    columns = x_first.shape[0]
    levels = halves_away(turns, columns, mirrored, 4, 1)
    if mirrored:
        for x in range(columns // 2):
            other = columns - 1 - x
            x_first[x], x_first[other] = x_first[other], x_first[x]
            for k in range(x_n):
                x_weights[x * x_n + k], x_weights[other * x_n + k] = (
                    x_weights[other * x_n + k],
                    x_weights[x * x_n + k],
                )
    if high - low < STEP:
        low = max(0, min(low, width - STEP))
        high = max(high, low + STEP)
    # The lines have room for taps outside the picture, where the pixels of its edge are repeated.
    before, after = np.int64(0), np.int64(0)
    for x in range(columns):
        place = min(max(x_first[x], -x_n), width) - low
        before = max(before, -place)
        after = max(after, place + x_n - (high - low))
        x_first[x] = (place + x_n) * 64
    lines = np.zeros((high - low + 2 * x_n + 1) * 16, np.float32)
    group = ROWS if abs(y_step) <= np.float32(y_n) else 1
    # As many as the rows of one output can lie in, and a power of two.
    wanted = 1 if vertical_first else (y_n + group - 1) // group + 1
    groups = 1
    while groups < wanted:
        groups *= 2
    ring = np.empty((groups * ROWS * columns + 1) * 4, np.float32)
    tags = np.full(groups, -1, np.int64)
    addresses = np.empty(ROWS * (y_n + 1), np.int64)
    factors = np.ones(ROWS * y_n + 1, np.float32)
    plan = (
        (height, width, low, high, y_n, x_n, group, groups, before, after),
        (y_first, x_first, tags, addresses),
        (y_weights, x_weights, lines, ring, factors),
        vertical_first,
    )
    return plan, levels


@part
def _aligned(array: Array, size: int) -> Any:
    """The first address in the array that is a multiple of `size`."""
    return (array.ctypes.data + size - 1) // size * size


@part
def _repeat_edges(lines: Array, start: int, count: int, before: int, after: int) -> None:
    """Copy the first and the last column of `count` into the room before and after them."""
    first = (start - lines.ctypes.data) // 4
    last = first + (count - 1) * 16
    for k in range(1, before + 1):
        for lane in range(16):
            lines[first - k * 16 + lane] = lines[first + lane]
    for k in range(1, after + 1):
        for lane in range(16):
            lines[last + k * 16 + lane] = lines[last + lane]


@part
def pixel_row(picture: int, y: int, plan: Plan) -> Any:
    """Prepare output row `y` of a picture at an address; rows are asked for in ascending order.

    Returns
    -------
    tuple
        Address of the addresses of rows of float32 pixels of four lanes, address of their weights, and their number:
        the row is their weighted sum.
    """
    sizes, indices, floats, vertical_first = plan
    height, width, low, high, y_n, x_n, group, groups, before, after = sizes
    y_first, x_first, tags, addresses = indices
    y_weights, x_weights, lines, ring, factors = floats
    columns = x_first.shape[0]
    pitch = columns * 16
    count = high - low
    line = _aligned(lines, 64) + x_n * 64
    rows = _aligned(ring, 16)
    if vertical_first:
        block = y // ROWS
        if tags[0] != block:
            tags[0] = block
            for r in range(ROWS):
                place = min(block * ROWS + r, y_first.shape[0] - 1)
                start = y_first[place]
                for k in range(y_n):
                    addresses[r * y_n + k] = picture + (min(max(start + k, 0), height - 1) * width + low) * 3
                    factors[r * y_n + k] = y_weights[place * y_n + k]
            sum_bytes(addresses.ctypes.data, factors.ctypes.data, y_n, line, count)
            _repeat_edges(lines, line, count, before, after)
            across(line - x_n * 64, x_first.ctypes.data, x_weights.ctypes.data, x_n, rows, pitch, columns)
        addresses[0] = rows + (y - block * ROWS) * pitch
        return addresses.ctypes.data, factors.ctypes.data + 4 * ROWS * y_n, 1
    start = y_first[y]
    shift = 2 if group == ROWS else 0
    number: Any = np.int64(-1)
    base: Any = rows
    for k in range(y_n):
        row = min(max(start + k, 0), height - 1)
        if row >> shift != number:
            number = row >> shift
            slot = number & (groups - 1)
            base = rows + slot * ROWS * pitch
            if tags[slot] != number:
                tags[slot] = number
                for g in range(ROWS):
                    place = min(number * group + min(g, group - 1), height - 1)
                    addresses[ROWS * y_n + g] = picture + (place * width + low) * 3
                widen_bytes(addresses.ctypes.data + 8 * ROWS * y_n, line, count)
                _repeat_edges(lines, line, count, before, after)
                across(line - x_n * 64, x_first.ctypes.data, x_weights.ctypes.data, x_n, base, pitch, columns)
        addresses[k] = base + (row - number * group) * pitch
    return addresses.ctypes.data, y_weights.ctypes.data + 4 * y * y_n, y_n


@part
def start_picture(plan: Plan) -> None:
    """Forget the rows that were kept from another frame."""
    plan[1][2][:] = -1
