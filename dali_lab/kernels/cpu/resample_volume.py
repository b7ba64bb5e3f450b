"""Resizing volumes along three axes: NVIDIA DALI's order of passes, with the filters and sums of pictures.

What DALI 2.4 does on the CPU, and so what is done here:

* Three passes, the results of the first two in float32. The order is the cheapest of the six
  (:func:`order_of_passes`).
* All passes but the first count positions from the first element that the region reaches along their axis.
* Of an integer output, halves go to the even neighbour in whole vectors, as in pictures: of a slice's elements where
  the pass along the depth is the last one, of a row's elements where it is that along the height, and of its columns
  where it is that along the width.

What :mod:`~dali_lab.kernels.cpu.resample_rows` does better is better here, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, like, part, rows
from dali_lab.kernels.cpu.resample_filters import (
    NN,
    filter_taps,
    inner_columns,
    nearest_taps,
    plan_axis,
    turning_points,
)
from dali_lab.kernels.cpu.resample_rows import ROWS, across, finish, sum_rows, widen_row


@part
def order_of_passes(reach: Array, out_size: Array, taps: Array) -> Array:
    """The axes (0 to 2 for depth, height, width) in the order in which passes over them cost least.

    As NVIDIA DALI reckons: an element of a pass costs 3 and its taps, those along the width dearer by 1.4, those along
    the depth by 1.2. Ties go to the first of the orders that begin with the width, then the height.

    Parameters
    ----------
    reach, out_size, taps
        ``int64[3]``: elements of the source that are read, size of the result, and taps along each axis.
    """
    dearer = np.array([1.2, 1.0, 1.4], np.float32)
    best = np.array([2, 1, 0], np.int64)
    least = np.float32(1e30)
    size = np.empty(3, np.int64)
    order = np.empty(3, np.int64)
    for first in range(2, -1, -1):
        for second in range(2, -1, -1):
            if second == first:
                continue
            order[0], order[1], order[2] = first, second, 3 - first - second
            copy_row(reach, size)
            total = np.float32(0)
            for k in range(3):
                axis = order[k]
                size[axis] = out_size[axis]
                elements = size[0] * size[1] * size[2]
                cost = dearer[axis] * np.float32(taps[axis] * elements)
                total += cost + np.float32(elements) * np.float32(3)
            if total < least:
                least = total
                copy_row(order, best)
    return best


@part
def plan_volume(size: Array, out_size: Array, roi: Array, minify: int, magnify: int, antialias: bool) -> Any:
    """Filters, reach and order of passes of one volume.

    Returns
    -------
    tuple
        ``int64[3, 7]``: type of the filter, place and length of its table, taps, the first element that is read and
        the one after the last, and from which element positions count; ``float32[3, 4]``: scale, anchor, origin and
        step; and the order of passes.
    """
    whole = np.zeros((3, 7), np.int64)
    real = np.zeros((3, 4), np.float32)
    for axis in range(3):
        low, high = roi[axis], roi[axis + 3]
        kind, base, count, scale, anchor, n, first, last = plan_axis(
            size[axis], out_size[axis], low, high, minify, magnify, antialias
        )
        whole[axis, 0], whole[axis, 1], whole[axis, 2], whole[axis, 3] = kind, base, count, max(n, 1)
        whole[axis, 4], whole[axis, 5] = first, last
        real[axis, 0], real[axis, 1], real[axis, 2] = scale, anchor, low
        real[axis, 3] = (high - low) / np.float32(out_size[axis])
    order = order_of_passes(whole[:, 5] - whole[:, 4], out_size, whole[:, 3])
    for k in range(1, 3):
        axis = order[k]
        whole[axis, 6] = whole[axis, 4]
        real[axis, 2] -= np.float32(whole[axis, 4])
    return whole, real, order


@part
def inner_columns_of_volume(whole: Array, real: Array, out_width: int) -> Any:
    """:func:`~dali_lab.kernels.cpu.resample_filters.inner_columns` of the width."""
    return inner_columns(out_width, whole[2, 5] - whole[2, 4], real[2, 2], real[2, 3], real[2, 1], whole[2, 3])


@part
def halves_of_volume(whole: Array, real: Array, order: Array, out_size: Array, channels: int, lanes: int) -> Array:
    """Turning points of what the last pass works on at once: a slice, or a row.

    See :func:`~dali_lab.kernels.cpu.resample_filters.turning_points`.
    """
    last = order[2]
    nearest = whole[last, 0] == NN
    if last != 2:
        wide = out_size[2] * (out_size[1] if last == 0 else 1)
        return turning_points(nearest, False, wide, channels, lanes, 0, 0)
    first, after = inner_columns_of_volume(whole, real, out_size[2])
    return turning_points(nearest, True, out_size[2], channels, lanes, first, after)


@part
def _place_taps(axis: int, size: Array, out_size: Array, whole: Array, real: Array, start: int) -> Any:
    """First tap, counted from element `start` of the volume, and weights of each output along an axis."""
    n, begin = whole[axis, 3], whole[axis, 6]
    first = np.empty(out_size[axis], np.int64)
    weights = np.empty(out_size[axis] * n, np.float32)
    if whole[axis, 0] == NN:
        nearest_taps(first, weights, 0, real[axis, 2], real[axis, 3], size[axis] - begin, axis != 2)
    else:
        filter_taps(
            first, weights, 0, real[axis, 2], real[axis, 3], whole[axis, 1], whole[axis, 2], real[axis, 0],
            real[axis, 1], n,
        )  # fmt: skip
    first += begin - start
    return first, weights


@part
def _pass_over(
    source: Array, kind: Array, base: int, pitch: int, held: Array, shift: Array, axis: int, channels: int,
    first: Array, weights: Array, out: Array, size: Array,
) -> None:  # fmt: skip
    """Resample along one axis into float32.

    Parameters
    ----------
    source, kind, base, pitch
        Where the part of a volume that is held begins, in rows of `pitch` elements.
    held, size
        ``int64[3]``: depth, height and width of that part, and of the result.
    shift
        ``int64[3]``: which element of the part is the first of the result, along the other two axes.
    out
        Rows of ``size[2] * channels + 4`` elements, the last four of them scratch.
    """
    n = weights.shape[0] // first.shape[0]
    offsets = np.empty(n, np.int64)
    group = ROWS if axis == 2 else 1
    line_pitch = held[2] * channels + 4
    lines = np.empty(group * line_pitch, np.float32)
    out_pitch = size[2] * channels + 4
    for z in range(size[0]):
        plane = z + shift[0]
        for y in range(0, size[1], group):
            at = (z * size[1] + y) * out_pitch
            if axis == 2:
                count = min(group, size[1] - y)
                for r in range(count):
                    begin = base + (plane * held[1] + y + r + shift[1]) * pitch
                    widen_row(source, kind, begin, lines, r * line_pitch, held[2] * channels)
                if count == group:
                    across(lines, line_pitch, ROWS, 0, held[2], channels, first, weights, n, out, at, out_pitch)
                else:
                    for r in range(count):
                        line = lines[r * line_pitch :]
                        across(line, 0, 1, 0, held[2], channels, first, weights, n, out, at + r * out_pitch, 0)
                continue
            place = z if axis == 0 else y
            for k in range(n):
                element = min(max(first[place] + k, 0), held[axis] - 1)
                row = element * held[1] + y + shift[1] if axis == 0 else plane * held[1] + element
                offsets[k] = base + row * pitch + shift[2] * channels
            sum_rows(source, kind, offsets, weights, place * n, n, out, at, size[2] * channels)


@part
def _write(result: Array, size: Array, channels: int, turns: Array, slices: bool, target: Array, like: Array) -> None:
    """Round what the last pass gave; `slices` says that turning points are those of a slice, not of a row."""
    count = size[2] * channels
    points = np.empty(7, np.int64)
    for row in range(size[0] * size[1]):
        before = row % size[1] * count if slices else 0
        for k in range(7):
            points[k] = min(max(turns[k] - before, 0), count)
        line = result[row * (count + 4) :]
        goal = target[row * count : (row + 1) * count]
        for k in range(0, 6, 2):
            for j in range(points[k], points[k + 1]):
                goal[j] = finish(line[j], like)
            for j in range(points[k + 1], points[k + 2]):
                goal[j] = saturate(line[j], like)


@kernel
def _resize_volumes(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        frames, channels = src_shapes[i, 0], src_shapes[i, 4]
        size, out_size = src_shapes[i, 1:4], dst_shapes[i, 1:4]
        if src_shapes[i].min() == 0 or dst_shapes[i].min() == 0:
            continue
        whole, real, order = plan_volume(size, out_size, roi[i], minify[i], magnify[i], antialias)
        a, b, c = order[0], order[1], order[2]
        low, reach = whole[:, 4], whole[:, 5] - whole[:, 4]
        a_size, b_size = reach.copy(), reach.copy()
        a_size[a] = b_size[a] = out_size[a]
        b_size[b] = out_size[b]
        a_first, a_weights = _place_taps(a, size, out_size, whole, real, 0)
        b_first, b_weights = _place_taps(b, size, out_size, whole, real, low[b])
        c_first, c_weights = _place_taps(c, size, out_size, whole, real, low[c])
        shift, none = low.copy(), np.zeros(3, np.int64)
        shift[a] = 0
        a_pitch, b_pitch, c_pitch = a_size[2] * channels + 4, b_size[2] * channels + 4, out_size[2] * channels + 4
        a_rows = np.empty(a_size[0] * a_size[1] * a_pitch, np.float32)
        b_rows = np.empty(b_size[0] * b_size[1] * b_pitch, np.float32)
        c_rows = np.empty(out_size[0] * out_size[1] * c_pitch, np.float32)
        turns = halves_of_volume(whole, real, order, out_size, channels, 16 // like_dst.itemsize)
        before, after = size.prod() * channels, out_size.prod() * channels
        source = array_at(src[i], (frames * before,), like_src)
        target = array_at(dst[i], (frames * after,), like_dst)
        for frame in range(frames):
            _pass_over(
                source, like_src, frame * before, size[2] * channels, size, shift, a, channels, a_first, a_weights,
                a_rows, a_size,
            )  # fmt: skip
            _pass_over(a_rows, a_rows, 0, a_pitch, a_size, none, b, channels, b_first, b_weights, b_rows, b_size)
            _pass_over(b_rows, b_rows, 0, b_pitch, b_size, none, c, channels, c_first, c_weights, c_rows, out_size)
            goal = target[frame * after : (frame + 1) * after]
            _write(c_rows, out_size, channels, turns, c == 0, goal, like_dst)


def resize_volumes(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, min_filter: Array, mag_filter: Array,
    antialias: bool, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Resize volumes, each sample with its own sizes, region and filters.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes, dst_shapes
        ``int64[N, 5]``: frames, depth, height, width, channels. The frames and the channels of both are the same.
    roi
        ``float32[N, 6]``: ``(z0, y0, x0, z1, y1, x1)`` in source elements, as in
        :func:`~dali_lab.kernels.cpu.resample.resize`, which has the other parameters.

    Notes
    -----
    Equal to NVIDIA DALI to the bit, but for regions where DALI errs (:mod:`~dali_lab.kernels.cpu.resample_rows`).
    """
    _resize_volumes(
        rows(src), rows(dst), rows(src_shapes), rows(dst_shapes), rows(roi, np.float32), rows(min_filter),
        rows(mag_filter), antialias, like(src_dtype), like(dst_dtype),
    )  # fmt: skip
