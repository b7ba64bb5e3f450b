"""Resampling filters as NVIDIA DALI has them: tables, how they are stretched, and the taps of every output.

An axis is a map ``source = origin + (x + 0.5) * scale``, with ``scale = (roi_end - roi_start) / out_size`` in float32;
a negative scale flips. A filter is a table (3, 65, 129 or 193 float32 values) read with linear interpolation and
stretched to its radius. The taps of one output are ``ceil`` of the window's start and the ``support`` samples that
follow; their weights are divided by their sum. Nearest neighbour takes ``floor(source)``, where the row coordinate is
accumulated (``y += scale``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.memory import part

NN, LINEAR, CUBIC, LANCZOS3, TRIANGULAR, GAUSSIAN = range(6)
"""Codes of the interpolation types, with the values of ``types.INTERP_*``."""


_f32 = np.float32


_MOST_TAPS = 8192
"""Filters are not stretched further than this."""

_UNEVEN_SINES = (0.2945243, 0.32724923, 0.5563237, 3.436117)
"""Angles whose ``sinf`` in glibc is the second nearest float32 to the sine."""


def _sinc(x: Array) -> Array:
    """``sin(pi x) / (pi x)`` of float32 `x` as the C library of Linux computes it in float32."""
    angles = (x.astype(np.float64) * np.pi).astype(np.float32)
    exact = np.sin(angles.astype(np.float64))
    sines = exact.astype(np.float32)
    other = np.nextafter(sines, np.where(exact > sines, np.inf, -np.inf).astype(np.float32))
    uneven = np.isin(np.abs(angles), np.array(_UNEVEN_SINES, np.float32))
    sines = np.where(uneven, other, sines)
    result: Array = np.where(angles == 0, _f32(1), sines / np.where(angles == 0, _f32(1), angles))
    return result


def _filter_tables() -> Array:
    """The four sampled windows in one array: triangle, Gaussian, Lanczos, cubic."""

    def positions(count: int, width: Real) -> Array:
        index = np.arange(count, dtype=np.float32)
        return _f32(width) * (index - _f32((count - 1) * 0.5)) / _f32(count - 1)

    gaussian = np.exp(-np.square(positions(_GAUSSIAN_SIZE, 4)).astype(np.float64))
    x = positions(_LANCZOS_SIZE, 6)
    lanczos = np.where(np.abs(x) < 3, _sinc(x) * _sinc(x / _f32(3)), _f32(0))
    x = np.abs(positions(_CUBIC_SIZE, 4))
    cubic = np.where(
        x > 1,
        _f32(-0.5) * x**3 + _f32(2.5) * x**2 - _f32(4) * x + _f32(2),
        _f32(1.5) * x**3 - _f32(2.5) * x**2 + _f32(1),
    )
    cubic[[0, -1]] = 0
    return np.concatenate([np.array([0, 1, 0]), gaussian, lanczos, cubic]).astype(np.float32)


_TRIANGLE_SIZE, _GAUSSIAN_SIZE, _LANCZOS_SIZE, _CUBIC_SIZE = 3, 65, 193, 129
_GAUSSIAN_BASE = _TRIANGLE_SIZE
_LANCZOS_BASE = _GAUSSIAN_BASE + _GAUSSIAN_SIZE
_CUBIC_BASE = _LANCZOS_BASE + _LANCZOS_SIZE
TABLES = _filter_tables()
"""The sampled filters one after the other, ``float32[390]``."""


@part
def _window(ftype: int, antialias: bool, in_size: Real, out_size: int) -> Any:
    """Place of a filter's table and how it is stretched: (base, count, scale, anchor, support)."""
    ratio = np.float32(1)
    if antialias and in_size > np.float32(out_size):
        ratio = in_size / np.float32(out_size)
    if ftype in (LINEAR, TRIANGULAR):
        base, count, anchor = 0, _TRIANGLE_SIZE, np.float32(1)
        width = np.float32(2) * (ratio if ftype == TRIANGULAR else np.float32(1))
        old_scale = np.float32(1)
        width = max(np.float32(1), width)
    elif ftype == GAUSSIAN:
        base, count, anchor = _GAUSSIAN_BASE, _GAUSSIAN_SIZE, np.float32(32)
        sigma = np.float32(np.float64(ratio * np.float32(0.5)) / np.sqrt(2.0))
        width = max(np.float32(1), np.float32(4 * np.sqrt(2.0)) * sigma)
        old_scale = np.float32(1)
    elif ftype == CUBIC:
        base, count, anchor = _CUBIC_BASE, _CUBIC_SIZE, np.float32(2)
        width = np.float32(2) * max(np.float32(2), np.float32(2) * ratio)
        old_scale = np.float32(32)
    elif ftype == LANCZOS3:
        base, count, anchor = _LANCZOS_BASE, _LANCZOS_SIZE, np.float32(3)
        radius = np.float32(3)
        if antialias:
            radius = max(radius, np.float32(3) * in_size / np.float32(out_size))
        width = np.float32(2) * radius
        old_scale = np.float32(32)
    else:
        return 0, 0, np.float32(0), np.float32(0), 0
    scale = np.float32(count - 1) / width
    anchor = anchor * old_scale / scale
    reach = np.ceil(np.float32(count - 1) / scale)
    if reach > np.float32(_MOST_TAPS):
        old_scale = scale
        scale = np.float32(count - 1) / np.float32(_MOST_TAPS)
        anchor = anchor * old_scale / scale
        reach = np.ceil(np.float32(count - 1) / scale)
    support = int(reach)
    return base, count, scale, anchor, support


@part
def _element(position: Real) -> Any:
    """A whole position as an integer, safe for positions beyond all samples."""
    return np.int64(min(max(position, np.float32(-1e9)), np.float32(1e9)))


@part
def _triangle_taps(first: Array, weights: Array, begin: int, origin: Real, step: Real, scale: Real, n: int) -> None:
    """:func:`filter_taps` for the triangle, in loops that vectorise: on it, interpolation is exact."""
    count = first.shape[0]
    offsets = np.empty(count, np.float32)
    totals = np.zeros(count, np.float32)
    values = np.empty(n * count, np.float32)
    for x in range(count):
        start = np.float32(begin + x) * step + origin
        tap = np.ceil(start)
        first[x] = _element(tap)
        offsets[x] = tap - start
    for k in range(n):
        row = values[k * count : (k + 1) * count]
        for x in range(count):
            rising = (offsets[x] + np.float32(k)) * scale
            falling = np.float32(2) - rising
            value = rising if rising < falling else falling
            value = value if value > np.float32(0) else np.float32(0)
            row[x] = value
            totals[x] += value
    for x in range(count):
        totals[x] = totals[x] if totals[x] != np.float32(0) else np.float32(1)
    for k in range(n):
        row = values[k * count : (k + 1) * count]
        for x in range(count):
            row[x] /= totals[x]
    for x in range(count):
        for k in range(n):
            weights[x * n + k] = values[k * count + x]


@part
def filter_taps(
    first: Array, weights: Array, begin: int, origin: Real, step: Real, base: int, count: int, scale: Real,
    anchor: Real, n: int,
) -> None:  # fmt: skip
    """Fill the first tap and the weights of each output along one axis."""
    origin = origin + (np.float32(0.5) * step - np.float32(0.5) - anchor)
    if count == _TRIANGLE_SIZE:
        _triangle_taps(first, weights, begin, origin, step, scale, n)
        return
    for x in range(first.shape[0]):
        start = np.float32(begin + x) * step + origin
        tap = np.ceil(start)
        first[x] = _element(tap)
        offset = tap - start
        total = np.float32(0)
        for k in range(n):
            position = (offset + np.float32(k)) * scale
            value = np.float32(0)
            if position > np.float32(-1) and position < np.float32(count):
                left = np.int64(np.floor(position))
                fraction = position - np.float32(left)
                low = TABLES[base + left] if left >= 0 else np.float32(0)
                high = TABLES[base + left + 1] if left + 1 < count else np.float32(0)
                value = low + fraction * (high - low)
            weights[x * n + k] = value
            total += value
        if total != 0:
            for k in range(n):
                weights[x * n + k] /= total


@part
def nearest_taps(
    first: Array, weights: Array, begin: int, origin: Real, step: Real, size: int, accumulate: bool
) -> None:
    """One tap of weight 1 for each output: the sample that holds its centre."""
    position = origin + np.float32(0.5) * step
    for _ in range(begin):
        position += step
    for x in range(first.shape[0]):
        if not accumulate:
            position = origin + (np.float32(begin + x) + np.float32(0.5)) * step
        first[x] = min(max(_element(np.floor(position)), 0), size - 1)
        weights[x] = 1
        position += step


@part
def _extent(lo: Real, hi: Real, anchor: Real, support: int, size: int) -> Any:
    """The part of an axis that a region and its filter reach, clipped to the image."""
    if lo > hi:
        lo, hi = hi, lo
    start: Any = np.floor(lo - anchor)
    stop: Any = np.ceil(hi - anchor + np.float32(support))
    first: Any = min(max(np.int64(min(np.float32(size), start)), 0), size - 1)
    last = min(max(np.int64(min(np.float32(size), stop)), 0), size)
    return first, max(first + 1, last)


@part
def vertical_pass_first(rows: int, columns: int, out_rows: int, out_columns: int, y_taps: int, x_taps: int) -> bool:
    """Whether the vertical pass comes before the horizontal one: whether that costs less, as NVIDIA DALI reckons.

    An element of a pass costs 3 and its taps; those along a row are dearer by 1.4. `rows` and `columns` are what is
    read of the source.
    """
    tall, wide, area = columns * out_rows, rows * out_columns, out_rows * out_columns
    along, each = np.float32(1.4), np.float32(3)
    down = np.float32(y_taps * tall) + np.float32(tall) * each
    down += along * np.float32(x_taps * area) + np.float32(area) * each
    across = along * np.float32(x_taps * wide) + np.float32(wide) * each
    across += np.float32(y_taps * area) + np.float32(area) * each
    return bool(down < across)


@part
def inner_columns(out_width: int, extent: int, origin: Real, step: Real, anchor: Real, n: int) -> Any:
    """The output columns whose taps all lie in the `extent` columns that are read: the first, and that after the last.

    As NVIDIA DALI finds them: searched for from both ends, so that they can also be the wrong way round.
    """
    start = origin + (np.float32(0.5) * step - np.float32(0.5) - anchor)
    flipped = np.ceil(np.float32(out_width - 1) * step + start) < np.ceil(start)
    first, after = 0, out_width
    while first < out_width:
        tap = np.ceil(np.float32(first) * step + start)
        if not (tap + np.float32(n) > np.float32(extent) if flipped else tap < np.float32(0)):
            break
        first += 1
    while after > 0:
        tap = np.ceil(np.float32(after - 1) * step + start)
        if not (tap < np.float32(0) if flipped else tap + np.float32(n) > np.float32(extent)):
            break
        after -= 1
    return first, after


@part
def turning_points(
    nearest: bool, vertical_first: bool, width: int, channels: int, lanes: int, first: int, after: int
) -> Array:
    """Places in a row of the output where the rounding of halves changes, ``int64[7]`` elements from 0 to its end.

    Between the first two points, the next two, and the two after these, halves go to the even neighbour, elsewhere away
    from zero. NVIDIA DALI works on `lanes` elements at a time, and where the horizontal pass is the last one on as many
    columns, the inner ones and those on both sides apart; what is left over it rounds one by one.

    Parameters
    ----------
    nearest
        Whether the last pass takes the nearest neighbour: then all halves go away from zero.
    first, after
        The inner columns.
    """
    points = np.full(7, width * channels, np.int64)
    points[0] = 0
    if nearest:
        points[1] = 0
    elif not vertical_first:
        points[1] = width * channels // lanes * lanes
    else:
        low, high = min(first, after), max(first, after)
        points[1] = low // lanes * lanes * channels
        points[2] = low * channels
        points[3] = (low + (high - low) // lanes * lanes) * channels
        points[4] = high * channels
        points[5] = (high + (width - high) // lanes * lanes) * channels
    return points


@part
def plan_axis(size: int, out_size: int, lo: Real, hi: Real, minify: int, magnify: int, antialias: bool) -> Any:
    """Filter and reach of one axis: (type, base, count, scale, anchor, support, first, last)."""
    in_size: Any = abs(hi - lo)
    ftype = minify if np.float32(out_size) < in_size else magnify
    if ftype == LINEAR and antialias and np.float32(out_size) < in_size:
        ftype = TRIANGULAR
    elif ftype == TRIANGULAR and not antialias:
        ftype = LINEAR
    base, count, scale, anchor, support = _window(ftype, antialias, in_size, out_size)
    first, last = _extent(lo, hi, anchor, max(support, 1), size)
    return ftype, base, count, scale, anchor, support, first, last
