"""Filters, reach and order of passes for each sample of a batch, for kernels that compute taps by themselves."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel, rows
from dali_lab.kernels.cpu.resample_filters import NN, inner_columns, plan_axis, vertical_pass_first
from dali_lab.kernels.cpu.resample_volume import inner_columns_of_volume, plan_volume


@kernel
def _plan(
    sizes: Array, out_sizes: Array, roi: Array, minify: Array, magnify: Array, antialias: bool, whole: Array,
    real: Array, vertical_first: Array, halves: Array,
) -> None:  # fmt: skip
    for i in range(sizes.shape[0]):
        reach = np.empty((2, 2), np.int64)
        for axis in range(2):
            size, out_size = sizes[i, axis], out_sizes[i, axis]
            lo, hi = roi[i, axis], roi[i, axis + 2]
            kind, base, count, scale, anchor, n, first, last = plan_axis(
                size, out_size, lo, hi, minify[i], magnify[i], antialias
            )
            reach[axis, 0], reach[axis, 1] = first, last - first
            whole[i, axis, 0] = 1 if kind == NN else 0
            whole[i, axis, 1] = base
            whole[i, axis, 2] = count
            whole[i, axis, 3] = max(n, 1)
            whole[i, axis, 4] = size
            real[i, axis, 0] = scale
            real[i, axis, 1] = anchor
            real[i, axis, 2] = lo
            real[i, axis, 3] = (hi - lo) / np.float32(out_size)
        vertical = vertical_pass_first(
            reach[0, 1], reach[1, 1], out_sizes[i, 0], out_sizes[i, 1], whole[i, 0, 3], whole[i, 1, 3]
        )
        vertical_first[i] = 1 if vertical else 0
        second = 1 if vertical else 0
        whole[i, second, 5] = reach[second, 0]
        real[i, second, 2] -= np.float32(reach[second, 0])
        halves[i, 0] = 0 if whole[i, 1 if vertical else 0, 0] else 2 if vertical else 1
        first, after = inner_columns(
            out_sizes[i, 1], reach[1, 1], real[i, 1, 2], real[i, 1, 3], real[i, 1, 1], whole[i, 1, 3]
        )
        halves[i, 1], halves[i, 2] = min(first, after), max(first, after)


def plan(
    sizes: Array, out_sizes: Array, roi: Array, min_filter: Array, mag_filter: Array, antialias: bool
) -> tuple[Array, Array, Array, Array]:
    """Both axes of each sample, as :func:`~dali_lab.kernels.cpu.resample_rows.plan_rows` has them.

    Parameters
    ----------
    sizes, out_sizes
        ``int64[N, 2]``: height and width, at least 1.
    roi, min_filter, mag_filter, antialias
        As in :func:`~dali_lab.kernels.cpu.resample.resize`.

    Returns
    -------
    whole
        ``int32[N, 2, 6]``: whether it is the nearest neighbour, place and length of the filter's table, taps, size,
        and from which element of the source the origin counts.
    real
        ``float32[N, 2, 4]``: scale, anchor, origin, step.
    vertical_first
        ``int32[N]``.
    halves
        ``int32[N, 3]``: which halves go to the even neighbour: none (0), those in whole vectors of a row's elements
        (1), or of its columns (2); and where the columns are parted
        (:func:`~dali_lab.kernels.cpu.resample_filters.turning_points`).
    """
    count = len(sizes)
    whole = np.zeros((count, 2, 6), np.int32)
    real = np.zeros((count, 2, 4), np.float32)
    vertical_first = np.zeros(count, np.int32)
    halves = np.zeros((count, 3), np.int32)
    _plan(
        rows(sizes), rows(out_sizes), rows(roi, np.float32), rows(min_filter), rows(mag_filter), antialias,
        whole, real, vertical_first, halves,
    )  # fmt: skip
    return whole, real, vertical_first, halves


@kernel
def _plan_volumes(
    sizes: Array, out_sizes: Array, roi: Array, minify: Array, magnify: Array, antialias: bool, whole: Array,
    real: Array, order: Array, halves: Array,
) -> None:  # fmt: skip
    for i in range(sizes.shape[0]):
        wide, deep, passes = plan_volume(sizes[i], out_sizes[i], roi[i], minify[i], magnify[i], antialias)
        for axis in range(3):
            whole[i, axis, 0] = 1 if wide[axis, 0] == NN else 0
            for k in range(1, 4):
                whole[i, axis, k] = wide[axis, k]
            whole[i, axis, 4] = sizes[i, axis]
            whole[i, axis, 5] = wide[axis, 6]
            for k in range(4):
                real[i, axis, k] = deep[axis, k]
            order[i, axis] = passes[axis]
        last = passes[2]
        halves[i, 0] = 0 if wide[last, 0] == NN else 2 if last == 2 else 1
        halves[i, 3] = out_sizes[i, 2] if last == 2 else 1
        first, after = inner_columns_of_volume(wide, deep, out_sizes[i, 2])
        halves[i, 1], halves[i, 2] = min(first, after), max(first, after)


def plan_volumes(
    sizes: Array, out_sizes: Array, roi: Array, min_filter: Array, mag_filter: Array, antialias: bool
) -> tuple[Array, Array, Array, Array]:
    """The axes of each volume, as :func:`~dali_lab.kernels.cpu.resample_volume.plan_volume` has them.

    Parameters
    ----------
    sizes, out_sizes
        ``int64[N, 3]``: depth, height and width, at least 1.
    roi, min_filter, mag_filter, antialias
        As in :func:`~dali_lab.kernels.cpu.resample_volume.resize_volumes`.

    Returns
    -------
    whole, real
        ``int32[N, 3, 6]`` and ``float32[N, 3, 4]``: as in :func:`plan`.
    order
        ``int64[N, 3]``: the axes in the order of passes.
    halves
        ``int32[N, 4]``: as in :func:`plan`, and how many columns there are; where the last pass is not along the width,
        all that it works on at once counts as one column.
    """
    count = len(sizes)
    whole = np.zeros((count, 3, 6), np.int32)
    real = np.zeros((count, 3, 4), np.float32)
    order = np.zeros((count, 3), np.int64)
    halves = np.zeros((count, 4), np.int32)
    _plan_volumes(
        rows(sizes), rows(out_sizes), rows(roi, np.float32), rows(min_filter), rows(mag_filter), antialias,
        whole, real, order, halves,
    )  # fmt: skip
    return whole, real, order, halves
