"""Resizing in NumPy: the bits of the kernels, for the batches before those are compiled.

Some milliseconds a picture. Order and rounding are those of :mod:`~dali_lab.kernels.cpu.resample_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.memory import array_in_memory, as_python, like
from dali_lab.kernels.cpu.resample_filters import TABLES
from dali_lab.kernels.cpu.resample_rows import plan_taps


def _filter_taps(
    first: Array, weights: Array, begin: int, origin: Real, step: Real, base: int, count: int, scale: Real,
    anchor: Real, n: int,
) -> None:  # fmt: skip
    """:func:`~dali_lab.kernels.cpu.resample_filters.filter_taps` for all outputs at once."""
    one = np.float32(1)
    origin = origin + (np.float32(0.5) * step - np.float32(0.5) - anchor)
    start = np.arange(begin, begin + len(first)).astype(np.float32) * step + origin
    tap = np.ceil(start)
    first[:] = tap
    position = ((tap - start)[:, None] + np.arange(n, dtype=np.float32)) * scale
    inside = (position > -one) & (position < np.float32(count))
    floor = np.floor(np.where(inside, position, 0))
    left = floor.astype(np.int64)
    low = np.where(left >= 0, TABLES[base + np.maximum(left, 0)], np.float32(0))
    high = np.where(left + 1 < count, TABLES[base + np.minimum(left + 1, count - 1)], np.float32(0))
    values = np.where(inside, low + (position - floor) * (high - low), np.float32(0))
    total = np.zeros(len(first), np.float32)
    for k in range(n):
        total += values[:, k]
    weights[:] = (values / np.where(total != 0, total, one)[:, None]).reshape(-1)


_plan_taps = as_python(plan_taps, filter_taps=_filter_taps)


def _sum(source: Array, first: Array, weights: Array, axis: int) -> Array:
    """Weighted sums along an axis, taps in order; those outside repeat the edge."""
    n = len(weights) // len(first)
    total: Any = None
    for k in range(n):
        values = source.take(np.clip(first + k, 0, source.shape[axis] - 1), axis)
        factor = weights[k::n].reshape([-1 if a == axis else 1 for a in range(3)])
        product = factor * values.astype(np.float32, copy=False)
        # Sums along rows begin with a zero, which shows in the sign of a result of 0.
        total = total + product if k else product + np.float32(0) if axis else product
    return np.asarray(total)


def _windows(
    address: int, shape: tuple[int, ...], like_src: Array, size: list[int], window: tuple[int, ...], roi: Array,
    minify: int, magnify: int, antialias: bool, lanes: int = 16,
) -> Iterator[tuple[Array, Array]]:  # fmt: skip
    """A window of each frame of a sample resized to `size`, ``float32[rows, columns, channels]``, and how to round it.

    Yields
    ------
    tuple of arrays
        The window, and ``bool[columns, channels]``: where halves are rounded away from zero, not to even numbers.
    """
    _, height, width, channels = shape
    with np.errstate(all="ignore"):
        _, _, y_first, y_weights, x_first, x_weights, _, _, _, vertical_first, turns = _plan_taps(
            height, width, *size, window, roi, minify, magnify, antialias, channels, lanes
        )
    away = np.repeat(np.arange(6) % 2 == 1, np.diff(turns)).reshape(window[3], channels)
    top, bottom = max(int(y_first.min()), 0), min(int(y_first.max()) + len(y_weights) // window[2], height)
    for picture in array_in_memory(address, shape, like_src):
        if vertical_first or bottom <= top:
            image = _sum(_sum(picture, y_first, y_weights, 0), x_first, x_weights, 1)
        else:
            image = _sum(_sum(picture[top:bottom], x_first, x_weights, 1), y_first - top, y_weights, 0)
        yield image, away


def _rounded(image: Array, away: Array, dtype: np.dtype[Any]) -> Array:
    """Levels of a type, still in float32."""
    if dtype.kind == "f":
        return image
    limits = np.iinfo(dtype)
    image = np.minimum(np.maximum(image, np.float32(limits.min)), np.float32(limits.max))
    even = np.rint(image)
    if dtype == np.int16:
        even -= (image < 0) & (image >= np.float32(-0.5))  # as NVIDIA DALI does
    whole = np.trunc(image)
    return np.where(away, whole + np.trunc((image - whole) * 2), even)


def resize(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.resample.resize`; not for float16."""
    for i, shape in enumerate(src_shapes.tolist()):
        size = dst_shapes[i, 1:3].tolist()
        if min(*shape, *size) == 0:
            continue
        results = array_in_memory(dst[i], (shape[0], *size, shape[3]), like_dst)
        images = _windows(
            src[i], tuple(shape), like_src, size, (0, 0, *size), roi[i], int(minify[i]), int(magnify[i]), antialias,
            16 // like_dst.itemsize,
        )  # fmt: skip
        for (image, away), result in zip(images, results, strict=True):
            result[:] = _rounded(image, away, like_dst.dtype)


def resize_crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, rounded: bool, mirror: Array, mean: Array, inverse: Array, out_channels: int, planar_dst: bool,
    like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.normalize.resize_crop_mirror_normalize`.

    Results are float32.
    """
    for i, shape in enumerate(src_shapes.tolist()):
        window, channels = tuple(windows[i].tolist()), shape[3]
        if min(*shape, *window[2:]) == 0:
            continue
        sides = (out_channels, *window[2:]) if planar_dst else (*window[2:], out_channels)
        results = array_in_memory(dst[i], (shape[0], *sides), like_dst)
        centre, factor = mean[min(i, len(mean) - 1)], inverse[min(i, len(inverse) - 1)]
        kept = [np.minimum(np.arange(channels), len(values) - 1) for values in (centre, factor)]
        images = _windows(
            src[i], tuple(shape), like_src, sizes[i].tolist(), window, roi[i], int(minify[i]), int(magnify[i]),
            antialias,
        )  # fmt: skip
        for (image, away), result in zip(images, results, strict=True):
            levels = _rounded(image, away, np.dtype(np.uint8)) if rounded else image
            levels = (levels - centre[kept[0]]) * factor[kept[1]]
            goal = result.transpose(1, 2, 0) if planar_dst else result
            goal[..., :channels] = levels[:, ::-1] if mirror[i] else levels
            goal[..., channels:] = 0


def resize_pixels(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.resample.resize_windows`."""
    stand, none = like(np.uint8), np.zeros(len(src), np.int64)
    resize_crop_mirror_normalize(
        src, dst, src_shapes, sizes, windows, roi, minify, magnify, antialias, True, none, np.zeros((1, 3), np.float32),
        np.ones((1, 3), np.float32), 3, False, stand, stand,
    )  # fmt: skip


def resize_crop_mirror_normalize_pixels(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, mirror: Array, mean: Array, inverse: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.normalize.resize_crop_mirror_normalize` for pixels."""
    resize_crop_mirror_normalize(
        src, dst, src_shapes, sizes, windows, roi, minify, magnify, antialias, True, mirror, mean[:, :3],
        inverse[:, :3], 3, True, like(np.uint8), like(np.float32),
    )  # fmt: skip
