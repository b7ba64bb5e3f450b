"""Standardisation: elements less their mean, over their deviation; both given, or found in each sample."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.convert import widen
from dali_lab.kernels.cpu.machine.instructions import estimated_root
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, part
from dali_lab.kernels.cpu.reciprocal_root import reciprocal_root
from dali_lab.kernels.cpu.totals import (
    FEW,
    LANES,
    SHORT,
    SPREAD,
    SUM,
    add_sample,
    group_of,
    lanes_of,
    read_given,
    results_of,
    workplace,
)


@part
def _invert(sums: Array, count: int, ddof: int, epsilon: Real, scale: Real) -> None:
    """Make sums of squared distances the factors ``scale / deviation``; 0 where nothing is added to no variance.

    As in NVIDIA DALI it is the processor's estimate, made better by Newton's method. Four neighbours are multiplied in
    another order than the ones that are left.
    """
    share = np.float32(1.0 / (count - ddof)) if count > ddof else np.float32(0 if epsilon else 1)
    factor = scale if count > ddof or epsilon else np.float32(0)
    half = factor * np.float32(0.5)
    fours = sums.shape[0] // 4 * 4
    for k in range(sums.shape[0]):
        variance = sums[k] * share
        if epsilon:
            variance += epsilon
        elif variance == 0:
            sums[k] = 0
            continue
        if k < fours:
            y = estimated_root(variance)
            sums[k] = (y * (np.float32(3) - variance * (y * y))) * half
        else:
            sums[k] = reciprocal_root(variance) * factor


@kernel
def invert(sums: Array, count: int, ddof: int, epsilon: float, scale: float) -> None:
    """Make sums of squared distances, float32, of `count` elements each the factors ``scale / deviation``."""
    _invert(sums, count, ddof, np.float32(epsilon), np.float32(scale))


@part
def _repeat(values: Array, row: Array) -> None:
    """Fill a row with results over and over."""
    for start in range(0, row.shape[0], values.shape[0]):
        copy_row(values, row[start : start + values.shape[0]])


@part
def _apply(row: Array, out: Array, mean: Array, factor: Array, shift: Real, like_src: Array) -> None:
    for k in range(row.shape[0]):
        out[k] = (np.float32(widen(row[k], like_src)) - mean[k]) * factor[k] + shift


@part
def _apply_one(row: Array, out: Array, mean: Real, factor: Real, shift: Real, like_src: Array) -> None:
    for k in range(row.shape[0]):
        out[k] = (np.float32(widen(row[k], like_src)) - mean) * factor + shift


@part
def _apply_block(
    block: Array, out: Array, mean: Array, factor: Array, shift: Real, row_mean: Array, row_factor: Array,
    like_src: Array,
) -> None:  # fmt: skip
    """Standardise a block of rows of as many elements as there are means."""
    kept = mean.shape[0]
    wide = lanes_of(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        _repeat(mean, row_mean[:wide])
        _repeat(factor, row_factor[:wide])
        for row in range(rows):
            at = slice(row * wide, (row + 1) * wide)
            _apply(block[at], out[at], row_mean[:wide], row_factor[:wide], shift, like_src)
        block, out = block[rows * wide :], out[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _apply(block[start : start + kept], out[start : start + kept], mean, factor, shift, like_src)


@kernel
def standardize(
    src: Array, dst: Array, extents: Array, few: int, means: Array, mean_steps: Array, factors: Array,
    factor_steps: Array, ddof: int, epsilon: float, scale: float, shift: float, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    """``(x - mean) * factor + shift`` in float32, with what is not given found in each sample.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses; the results are float32.
    extents
        ``int64[N, 2 * M]``, see :func:`levels`.
    few
        How many elements may be added in any order: :func:`exact`.
    means, mean_steps
        ``int64[N]`` addresses of float32 means, and 0 where one serves the sample, else 1; empty to find them.
    factors, factor_steps
        The same for ``scale / deviation``.
    ddof, epsilon, scale
        Where factors are found: subtracted from the number of elements, added to the variance, multiplied.
    """
    plan = np.empty((3, extents.shape[1] // 2), np.int64)
    work = workplace(plan.shape[1], np.empty(0, np.float32))
    row_mean, row_factor = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    offset = np.float32(shift)
    for i in range(src.shape[0]):
        total, kept = extents[i].prod(), extents[i, -1]
        if total == 0:
            continue
        x = array_at(src[i], (total,), like_src)
        y = array_at(dst[i], (total,), like_dst)
        size, count = extents[i, -2] * kept, results_of(extents[i])
        mean, factor = np.empty(count, np.float32), np.empty(count, np.float32)
        read_given(means, mean_steps, i, mean)
        if not means.shape[0]:
            add_sample(SUM, x, extents[i], few, mean, mean, plan, work, like_src)
            mean *= np.float32(1.0 / (total // count))
        read_given(factors, factor_steps, i, factor)
        if not factors.shape[0]:
            add_sample(SPREAD, x, extents[i], FEW, mean, factor, plan, work, like_src)
            _invert(factor, total // count, ddof, np.float32(epsilon), np.float32(scale))
        for start in range(0, total, size):
            first = group_of(extents[i], start // size) * kept
            block, group = slice(start, start + size), slice(first, first + kept)
            if size >= SHORT:
                _apply_block(x[block], y[block], mean[group], factor[group], offset, row_mean, row_factor, like_src)
            elif kept == 1:
                _apply_one(x[block], y[block], mean[first], factor[first], offset, like_src)
            else:
                for r in range(start, start + size, kept):
                    for k in range(kept):
                        apart = np.float32(widen(x[r + k], like_src)) - mean[first + k]
                        y[r + k] = apart * factor[first + k] + offset
