"""Extremes and medians of rectangles around each element of pictures.

Both are made of the lesser and the greater of two rows, element by element, which compilers turn into vector
instructions for all types; only large medians go element by element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.borders import BORDERS, place_of
from dali_lab.kernels.cpu.memory import array_at, kernel, like, part, rows
from dali_lab.model.dtypes import numpy_dtype

if TYPE_CHECKING:
    from dali_lab.model.batch import Batch


_BY_EXCHANGE, _BYTES_BY_EXCHANGE = 441, 63
"""Elements of the largest windows whose medians are found by exchanging rows."""


def pictures(data: Batch) -> Array:
    """Planes, height, width and channels of samples of layout HW, HWC or CHW: ``int64[N, 4]``."""
    shapes = np.ones((len(data), 4), np.int64)
    if data.layout == "CHW":
        shapes[:, :3] = data.shapes
    else:
        shapes[:, 1 : 1 + data.ndim] = data.shapes
    return shapes


@part
def _copy(source: Array, target: Array) -> None:
    for k in range(target.shape[0]):
        target[k] = source[k]


@part
def _extreme(one: Array, other: Array, out: Array, greatest: bool) -> None:
    """The greater or the lesser of each two elements."""
    if greatest:
        for k in range(out.shape[0]):
            out[k] = one[k] if one[k] > other[k] else other[k]
    else:
        for k in range(out.shape[0]):
            out[k] = one[k] if one[k] < other[k] else other[k]


@part
def _meet(row: Array, other: Array, greatest: bool) -> None:
    """:func:`_extreme` into the first row: arrays that overlap would keep the compiler from vectors there."""
    if greatest:
        for k in range(row.shape[0]):
            row[k] = row[k] if row[k] > other[k] else other[k]
    else:
        for k in range(row.shape[0]):
            row[k] = row[k] if row[k] < other[k] else other[k]


@part
def _widen(line: Array, spare: Array, count: int, step: int, taps: int, greatest: bool, out: Array) -> None:
    """The extreme of `taps` elements, `step` apart, from each of the first `out.shape[0]` elements of a line on.

    Spans are doubled until they are longer than half of it; two that overlap make the whole.
    """
    span = 1
    while 2 * span <= taps:
        count -= span * step
        _extreme(line[:count], line[span * step : span * step + count], spare[:count], greatest)
        line, spare = spare, line
        span *= 2
    shift = (taps - span) * step
    _extreme(line[: out.shape[0]], line[shift : shift + out.shape[0]], out, greatest)


@kernel
def _extremes(
    src: Array, dst: Array, shapes: Array, windows: Array, border: int, greatest: bool, nothing: Array, item: Array
) -> None:
    for i in range(src.shape[0]):
        planes, height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        left, wide, top, high = windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3]
        pitch = width * channels
        if planes * height * pitch == 0:
            continue
        source = array_at(src[i], (planes * height, pitch), item)
        target = array_at(dst[i], (planes * height, pitch), item)
        beside = width + wide - 1
        padded, spare = np.empty(beside * channels, item.dtype), np.empty(beside * channels, item.dtype)
        image = np.empty((height + high - 1, pitch), item.dtype)
        for plane in range(planes):
            for y in range(height):
                row = source[plane * height + y]
                _copy(row, padded[left * channels : left * channels + pitch])
                for k in range(wide - 1):
                    x = k if k < left else k + width
                    place = place_of(x - left, width, border)
                    for c in range(channels):
                        padded[x * channels + c] = nothing[0] if place < 0 else row[place * channels + c]
                _widen(padded, spare, beside * channels, channels, wide, greatest, image[top + y])
            for y in range(height + high - 1):
                place = place_of(y - top, height, border)
                if place < 0:
                    image[y] = nothing[0]
                elif place != y - top:
                    _copy(image[top + place], image[y])
            span, count = 1, height + high - 1
            while 2 * span <= high:
                count -= span
                for y in range(count):
                    _meet(image[y], image[y + span], greatest)
                span *= 2
            for y in range(height):
                _extreme(image[y], image[y + high - span], target[plane * height + y], greatest)


def extremes(source: Batch, out: Batch, sizes: Array, anchors: Array, *, greatest: bool, border: str) -> None:
    """The greatest or least element of a rectangle around each one.

    Parameters
    ----------
    source, out
        Pictures of layout HW, HWC or CHW.
    sizes, anchors
        ``int64[N, 2]``: width and height of the rectangle, and which column and row of it lie on the element.
    border
        One of :data:`BORDERS`; ``"constant"`` counts nothing outside.
    """
    shapes = pictures(source)
    # Elements further away than two periods of the border have been seen nearer by.
    furthest = 2 * shapes[:, [2, 1]]
    before = np.minimum(anchors, furthest)
    lengths = before + np.minimum(sizes - 1 - anchors, furthest) + 1
    windows = np.stack([before[:, 0], lengths[:, 0], before[:, 1], lengths[:, 1]], axis=1)
    dtype = numpy_dtype(source.dtype)
    if dtype.kind == "f":
        nothing = np.array([-np.inf if greatest else np.inf], dtype)
    else:
        limits = np.iinfo(dtype)
        nothing = np.array([limits.min if greatest else limits.max], dtype)
    _extremes(
        rows(source.addresses), rows(out.addresses), rows(shapes), rows(windows), BORDERS[border], greatest, nothing,
        like(dtype),
    )  # fmt: skip


@part
def _exchange(low: Array, high: Array) -> None:
    """Put the lesser of each two elements into `low`, the greater into `high`."""
    for k in range(low.shape[0]):
        one, other = low[k], high[k]
        low[k] = one if one < other else other
        high[k] = other if one < other else one


@part
def _part_ends(held: Array, count: int, length: int) -> None:
    """Bring the least of `count` elements to the front, and the greatest to the end."""
    for a in range(count // 2):
        _exchange(held[a, :length], held[count - 1 - a, :length])
    for a in range(1, (count + 1) // 2):
        _exchange(held[0, :length], held[a, :length])
    for a in range(count // 2, count - 1):
        _exchange(held[a, :length], held[count - 1, :length])


@part
def _by_exchange(padded: Array, y: int, wide: int, high: int, channels: int, held: Array, out: Array) -> None:
    """Medians of a row: half of the window and two more are held, and of these neither end can be the median; the least
    gives its place to the next element, the greatest goes, until three are left.
    """
    length = out.shape[0]
    count = wide * high // 2 + 2
    for k in range(wide * high):
        line = padded[y + k // wide, k % wide * channels : k % wide * channels + length]
        if k < wide * high // 2 + 2:
            _copy(line, held[k, :length])
        else:
            _part_ends(held, count, length)
            _copy(line, held[0, :length])
            count -= 1
    _part_ends(held, count, length)
    _copy(held[1, :length], out)


@part
def _selected(values: Array, count: int) -> Any:
    """The middle one of `count` values, which are put into another order (Hoare's selection)."""
    low, high, middle = 0, count - 1, count // 2
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    return values[middle]


@part
def _by_selection(padded: Array, y: int, wide: int, high: int, channels: int, values: Array, out: Array) -> None:
    for x in range(out.shape[0]):
        count = 0
        for j in range(high):
            for k in range(wide):
                values[count] = padded[y + j, x + k * channels]
                count += 1
        out[x] = _selected(values, count)


@part
def _by_levels(padded: Array, y: int, wide: int, high: int, channels: int, levels: Array, out: Array) -> None:
    """Medians of a row of bytes: a count of each level goes along the row, with how many lie below the median."""
    middle = wide * high // 2
    for c in range(channels):
        levels[:] = 0
        for j in range(high):
            for k in range(wide):
                levels[padded[y + j, k * channels + c]] += 1
        median, below = 0, 0
        for x in range(c, out.shape[0], channels):
            if x > c:
                for j in range(high):
                    gone, new = padded[y + j, x - channels], padded[y + j, x + (wide - 1) * channels]
                    levels[gone] -= 1
                    levels[new] += 1
                    below += (1 if new < median else 0) - (1 if gone < median else 0)
            while below > middle:
                median -= 1
                below -= levels[median]
            while below + levels[median] <= middle:
                below += levels[median]
                median += 1
            out[x] = median


@part
def _pad(source: Array, wide: int, high: int, channels: int, padded: Array) -> None:
    """Repeat the edge of a picture, ``[height, width · channels]``, around it, by half a window."""
    height, pitch = source.shape
    left = wide // 2 * channels
    for y in range(padded.shape[0]):
        row, line = source[min(max(y - high // 2, 0), height - 1)], padded[y]
        _copy(row, line[left : left + pitch])
        for k in range(left):
            line[k] = row[k % channels]
            line[left + pitch + k] = row[pitch - channels + k % channels]


@kernel
def _medians(src: Array, dst: Array, shapes: Array, windows: Array, item: Array) -> None:
    for i in range(src.shape[0]):
        planes, height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        wide, high = windows[i, 0], windows[i, 1]
        pitch, size = width * channels, wide * high
        if planes * height * pitch == 0:
            continue
        source = array_at(src[i], (planes, height, pitch), item)
        target = array_at(dst[i], (planes * height, pitch), item)
        padded = np.empty((height + high - 1, (width + wide - 1) * channels), item.dtype)
        held = np.empty((size // 2 + 2 if size <= _BY_EXCHANGE else 1, pitch), item.dtype)
        values = np.empty(size, item.dtype)
        for plane in range(planes):
            _pad(source[plane], wide, high, channels, padded)
            for y in range(height):
                if size == 1:
                    _copy(padded[y], target[plane * height + y])
                elif size <= _BY_EXCHANGE:
                    _by_exchange(padded, y, wide, high, channels, held, target[plane * height + y])
                else:
                    _by_selection(padded, y, wide, high, channels, values, target[plane * height + y])


@kernel
def _medians_of_bytes(src: Array, dst: Array, shapes: Array, windows: Array, item: Array) -> None:
    levels = np.empty(256, np.int64)
    for i in range(src.shape[0]):
        planes, height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        wide, high = windows[i, 0], windows[i, 1]
        pitch, size = width * channels, wide * high
        if planes * height * pitch == 0:
            continue
        source = array_at(src[i], (planes, height, pitch), item)
        target = array_at(dst[i], (planes * height, pitch), item)
        padded = np.empty((height + high - 1, (width + wide - 1) * channels), item.dtype)
        held = np.empty((size // 2 + 2 if size <= _BYTES_BY_EXCHANGE else 1, pitch), item.dtype)
        for plane in range(planes):
            _pad(source[plane], wide, high, channels, padded)
            for y in range(height):
                if size == 1:
                    _copy(padded[y], target[plane * height + y])
                elif size <= _BYTES_BY_EXCHANGE:
                    _by_exchange(padded, y, wide, high, channels, held, target[plane * height + y])
                else:
                    _by_levels(padded, y, wide, high, channels, levels, target[plane * height + y])


def medians(source: Batch, out: Batch, sizes: Array) -> None:
    """The median of a window around each element of pictures, the edge repeated.

    Parameters
    ----------
    source, out
        Pictures of layout HW, HWC or CHW, of any type.
    sizes
        ``int64[N, 2]``: width and height of the window, odd.
    """
    dtype = numpy_dtype(source.dtype)
    run = _medians_of_bytes if dtype == np.uint8 else _medians
    run(rows(source.addresses), rows(out.addresses), rows(pictures(source)), rows(sizes), like(dtype))
