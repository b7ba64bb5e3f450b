"""Blur of pixels in NumPy: the bits of the kernel, for the batches before it is compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_in_memory


def to_levels(values: Array) -> Array:
    """float32 rounded half away from zero and clamped to 0 to 255; what is not a number becomes 0."""
    within = np.minimum(np.fmax(values, np.float32(0)), np.float32(255))
    whole = np.trunc(within)
    whole += within - whole >= np.float32(0.5)
    return whole


def to_bytes(values: Array) -> Array:
    """:func:`to_levels` as uint8."""
    return to_levels(values).astype(np.uint8)


def _convolved(values: Array, window: Array, places: Array, axis: int) -> Array:
    """Sums of elements weighted by a window, in order; `places` are those that the axis with its borders has."""
    padded = values.take(places, axis).astype(np.float32, copy=False)
    size = values.shape[axis]
    weighted = (
        weight * (padded[k : k + size] if axis == 0 else padded[:, k : k + size]) for k, weight in enumerate(window)
    )
    total: Array = next(weighted)
    for product in weighted:
        total += product
    return total


def separable_slices(
    src: Array, dst: Array, shapes: Array, windows: Array, lengths: Array, like_src: Array, like_dst: Array
) -> None:
    """The kernel of :func:`~dali_lab.kernels.cpu.convolve.separable_convolution`.

    That is for uint8 and float32, with no window along z.
    """
    for i, (depth, height, width, channels) in enumerate(shapes.tolist()):
        if depth * height * width * channels == 0:
            continue
        _, ny, nx = lengths[i].tolist()
        down, across = (np.pad(np.arange(size), n // 2, "reflect") for size, n in ((height, ny), (width, nx)))
        slices = array_in_memory(src[i], (depth, height, width, channels), like_src)
        results = array_in_memory(dst[i], (depth, height, width, channels), like_dst)
        for picture, result in zip(slices, results, strict=True):
            blurred = _convolved(_convolved(picture, windows[i, 2, :nx], across, 1), windows[i, 1, :ny], down, 0)
            result[:] = blurred if like_dst.dtype == np.float32 else to_levels(blurred)
