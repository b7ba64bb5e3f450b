"""Resizing pixels in NumPy: bit for bit what the kernels give, for the batches that come before these are compiled.

Some milliseconds a picture. Order and rounding are those of :mod:`~dali_lab.kernels.cpu.resample_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dali_lab.kernels.cpu.memory import array_in_memory, as_python, like
from dali_lab.kernels.cpu.resample_filters import TABLES
from dali_lab.kernels.cpu.resample_rows import plan_taps

Array = np.ndarray[Any, Any]


def _filter_taps(
    first: Array, weights: Array, begin: int, origin: Any, step: Any, base: int, count: int, scale: Any, anchor: Any,
    n: int,
) -> None:  # fmt: skip
    """What :func:`~dali_lab.kernels.cpu.resample_filters.filter_taps` does, for all outputs at once."""
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
    total: Any = np.float32(0)
    for k in range(n):
        values = source.take(np.clip(first + k, 0, source.shape[axis] - 1), axis)
        factor = weights[k::n].reshape([-1 if a == axis else 1 for a in range(3)])
        total = total + factor * values.astype(np.float32, copy=False)
    return np.asarray(total)


def _windows(
    address: int, shape: tuple[int, int, int], size: list[int], window: tuple[int, ...], roi: Array, minify: int,
    magnify: int, antialias: bool,
) -> Iterator[Array]:  # fmt: skip
    """A window of each frame of a sample resized to `size`: whole levels in ``float32[rows, columns, 3]``."""
    _, height, width = shape
    with np.errstate(all="ignore"):
        _, _, y_first, y_weights, x_first, x_weights, _, _, _, vertical_first, turns = _plan_taps(
            height, width, *size, window, roi, minify, magnify, antialias, 3, 16
        )
    away = np.repeat(np.arange(6) % 2 == 1, np.diff(turns)).reshape(window[3], 3)
    top, bottom = max(int(y_first.min()), 0), min(int(y_first.max()) + len(y_weights) // window[2], height)
    for picture in array_in_memory(address, (*shape, 3), like(np.uint8)):
        if vertical_first or bottom <= top:
            image = _sum(_sum(picture, y_first, y_weights, 0), x_first, x_weights, 1)
        else:
            image = _sum(_sum(picture[top:bottom], x_first, x_weights, 1), y_first - top, y_weights, 0)
        image = np.minimum(np.maximum(image, np.float32(0)), np.float32(255))
        whole = np.rint(image)
        yield whole + (away & (image - whole == np.float32(0.5)))


def resize_pixels(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool,
) -> None:  # fmt: skip
    """Do what :func:`~dali_lab.kernels.cpu.resample.resize` asks of its kernel for pixels."""
    for i, (frames, height, width) in enumerate(src_shapes[:, :3].tolist()):
        size = dst_shapes[i, 1:3].tolist()
        if frames * height == 0 or size[0] == 0:
            continue
        results = array_in_memory(dst[i], (frames, *size, 3), like(np.uint8))
        images = _windows(
            src[i], (frames, height, width), size, (0, 0, *size), roi[i], int(minify[i]), int(magnify[i]), antialias
        )
        for image, result in zip(images, results, strict=True):
            result[:] = image


def resize_crop_mirror_normalize_pixels(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, mirror: Array, mean: Array, inverse: Array,
) -> None:  # fmt: skip
    """Do what :func:`~dali_lab.kernels.cpu.normalize.resize_crop_mirror_normalize` asks of its kernel for pixels."""
    for i, (frames, height, width) in enumerate(src_shapes[:, :3].tolist()):
        window = tuple(windows[i].tolist())
        if frames * height == 0 or window[2] == 0:
            continue
        results = array_in_memory(dst[i], (frames, 3, *window[2:]), like(np.float32))
        centre = mean[min(i, len(mean) - 1), :3]
        factor = inverse[min(i, len(inverse) - 1), :3]
        images = _windows(
            src[i], (frames, height, width), sizes[i].tolist(), window, roi[i], int(minify[i]), int(magnify[i]),
            antialias,
        )  # fmt: skip
        for whole, result in zip(images, results, strict=True):
            image = (whole - centre) * factor
            result[:] = (image[:, ::-1] if mirror[i] else image).transpose(2, 0, 1)
