"""Sound: pre-emphasis, mel filters, decibels, silence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import libm
from dali_lab.kernels.cpu.extremes import LARGEST, extremes_of_block
from dali_lab.kernels.cpu.machine.foreign import call_with_float
from dali_lab.kernels.cpu.machine.logarithm_vectors import LANES, log2_of_eight
from dali_lab.kernels.cpu.memory import array_at, kernel, part
from dali_lab.kernels.cpu.totals import LANES as MOST_LANES

CLAMP, REFLECT = 1, 2
_SMALLEST = np.finfo(np.float32).tiny
LOG10_OF_2 = np.float32(math.log10(2))


@kernel
def preemphasis(src: Array, dst: Array, counts: Array, coefficients: Array, border: int, like: Array) -> None:
    """``y[t] = x[t] - c · x[t - 1]``; `border` says what comes before the first element."""
    for i in range(src.shape[0]):
        n = counts[i]
        if n == 0:
            continue
        x = array_at(src[i], (n,), like)
        y = array_at(dst[i], (n,), like)
        c = coefficients[i]
        before = x.dtype.type(0)
        if border == CLAMP or (border == REFLECT and n == 1):
            before = x[0]
        elif border == REFLECT:
            before = x[1]
        if c == 0:  # else what is infinite would spoil the next element
            for t in range(n):
                y[t] = x[t]
            continue
        y[0] = x[0] - c * before
        for t in range(1, n):
            y[t] = x[t] - c * x[t - 1]


@kernel
def filter_bank(
    src: Array, dst: Array, shapes: Array, tables: Array, bounds: Array, weights: Array, factors: Array, like: Array
) -> None:
    """Weighted sums along the middle axis of samples (``shapes[i]`` is outer, length, inner).

    Sample `i` uses table ``tables[i]``: filter `m` sums ``weights[table, m, k]`` for `k` in ``bounds[table, m]``, and
    the sum is multiplied by ``factors[table, m]``.
    """
    filters = bounds.shape[1]
    for i in range(src.shape[0]):
        outer, n, inner = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        x = array_at(src[i], (outer, n, inner), like)
        y = array_at(dst[i], (outer, filters, inner), like)
        table = tables[i]
        for a in range(outer):
            for m in range(filters):
                for b in range(inner):
                    y[a, m, b] = 0
                for k in range(bounds[table, m, 0], bounds[table, m, 1]):
                    weight = weights[table, m, k]
                    for b in range(inner):
                        y[a, m, b] += weight * x[a, k, b]
                for b in range(inner):
                    y[a, m, b] *= factors[table, m]


@kernel
def _decibels(
    src: Array, dst: Array, counts: Array, multiplier: float, reference: float, least: float, logarithm: int,
    table: Array, like: Array,
) -> None:  # fmt: skip
    """``multiplier · log10(max(least, x / reference))``; a `reference` of 0 stands for the sample's largest value.

    `logarithm` is the address of the C library's `log2f`, or 0, and `table` holds its numbers, or none.
    """
    scale = np.float32(multiplier) * LOG10_OF_2
    floor = np.float32(least)
    lanes, most = np.empty(MOST_LANES, np.float32), np.empty(1, np.float32)
    for i in range(src.shape[0]):
        n = counts[i]
        x = array_at(src[i], (n,), like)
        y = array_at(dst[i], (n,), like)
        largest = np.float32(reference)
        if reference == 0:
            most[0] = 0
            extremes_of_block(LARGEST, x, most, lanes, np.float32(0))
            largest = most[0] if most[0] != 0 else np.float32(1)
        inverse = np.float32(1) / largest
        for t in range(n):
            ratio = x[t] * inverse
            y[t] = ratio if ratio > floor else floor
        regular = table.shape[0] > 0 and _SMALLEST <= floor < np.inf
        if regular and reference != 0:
            for t in range(n):
                regular &= y[t] < np.inf
        done = n // LANES * LANES if regular else 0
        for t in range(0, done, LANES):
            log2_of_eight(dst[i] + 4 * t, table.ctypes.data)
        for t in range(done):
            y[t] *= scale
        for t in range(done, n):
            y[t] = (call_with_float(logarithm, y[t]) if logarithm else np.log2(y[t])) * scale


def decibels(
    src: Array, dst: Array, counts: Array, multiplier: float, reference: float, least: float, like: Array
) -> None:
    """``multiplier · log10(max(least, x / reference))``; a `reference` of 0 stands for the sample's largest value."""
    logarithm = libm.address("log2", "f4") or 0
    _decibels(src, dst, counts, multiplier, reference, least, logarithm, libm.log2_table(), like)


@part
def _sum_of_squares(x: Array, start: int, stop: int) -> Any:
    total = x.dtype.type(0)
    for t in range(max(start, 0), stop):
        total += x[t] * x[t]
    return total


@part
def _mean_squares(x: Array, window: int, reset: int, out: Array) -> None:
    """Mean square of the `window` elements that end at each element, with zeros before the first one."""
    n = x.shape[0]
    factor = np.float32(1) / np.float32(window)
    begin = -window + 1
    while begin <= n - window:
        total = _sum_of_squares(x, begin, begin + window)
        out[begin + window - 1] = np.float32(total) * factor
        stop = min(begin + reset, n - window + 1)
        begin += 1
        while begin < stop:
            entering = x[begin + window - 1]
            leaving = x[begin - 1] if begin > 0 else x.dtype.type(0)
            # Float32 sums keep what rounding leaves behind: this is the order of NVIDIA DALI.
            total -= leaving * leaving
            total += entering * entering
            out[begin + window - 1] = np.float32(total) * factor
            begin += 1


@kernel
def nonsilent(
    src: Array, lengths: Array, window: int, reset: int, reference: float, ratio: float, starts: Array, sizes: Array,
    like: Array,
) -> None:  # fmt: skip
    """Begin and length of what is not silent in each signal; a `reference` of 0 stands for its largest power."""
    for i in range(src.shape[0]):
        n = lengths[i]
        x = array_at(src[i], (n,), like)
        power = np.empty(n, np.float32)
        _mean_squares(x, window, reset if reset > 0 else n + window, power)
        base = np.float32(reference)
        if reference == 0 and n > 0:
            base = power.max()
        threshold = base * np.float32(ratio)
        first = 0
        while first < n and not power[first] >= threshold:
            first += 1
        last = n - 1
        while last >= first and not power[last] >= threshold:
            last -= 1
        starts[i] = max(first - window + 1, 0) if first < n else 0
        sizes[i] = last + 1 - starts[i] if first < n else 0
