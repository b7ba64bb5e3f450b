"""Colours, normalisation and blur of pixels in NumPy: bit for bit what the kernels give, before these are compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_in_memory, like


def to_levels(values: Array) -> Array:
    """float32 rounded half away from zero and clamped to 0 to 255; what is not a number becomes 0."""
    within = np.minimum(np.fmax(values, np.float32(0)), np.float32(255))
    whole = np.trunc(within)
    whole += within - whole >= np.float32(0.5)
    return whole


def to_bytes(values: Array) -> Array:
    """The same as uint8."""
    return to_levels(values).astype(np.uint8)


def _matrix(channels: list[Array], matrix: Array, offset: Array) -> list[Array]:
    """``matrix @ channels + offset``, products added in order."""
    red, green, blue = channels
    return [matrix[k] * red + matrix[k + 1] * green + matrix[k + 2] * blue + offset[k // 3] for k in (0, 3, 6)]


def linear_rgb(
    src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, like_src: Array, like_dst: Array
) -> None:
    """Do what :func:`~dali_lab.kernels.cpu.color.linear_rgb` asks of its kernel, for uint8."""
    for i, count in enumerate(pixels.tolist()):
        source = array_in_memory(src[i], (count, 3), like_src)
        channels = [source[:, c].astype(np.float32) for c in range(3)]
        target = array_in_memory(dst[i], (count, 3), like_dst)
        for c, values in enumerate(_matrix(channels, matrix[i], offset[i])):
            target[:, c] = to_levels(values)


def chain(
    src: Array, dst: Array, pixels: Array, matrices: Array, offsets: Array, kinds: Array, like_bytes: Array
) -> None:
    """Do what :func:`dali_lab.kernels.cpu.color_chain.chain` does."""
    from dali_lab.kernels.cpu.color_chain import EXCHANGE, SCALE

    for i, count in enumerate(pixels.tolist()):
        source = array_in_memory(src[i], (count, 3), like_bytes)
        channels = [source[:, c].astype(np.float32) for c in range(3)]
        for kind, matrix, offset in zip(kinds.tolist(), matrices[i], offsets[i], strict=True):
            if kind == EXCHANGE:
                channels.reverse()
            elif kind == SCALE:
                channels = [to_levels(channel * matrix[0] + offset[0]) for channel in channels]
            else:
                channels = [to_levels(values) for values in _matrix(channels, matrix, offset)]
        target = array_in_memory(dst[i], (count, 3), like_bytes)
        for c, channel in enumerate(channels):
            target[:, c] = channel


def crop_mirror_normalize_pixels(
    src: Array, dst: Array, src_shapes: Array, windows: Array, mirror: Array, mean: Array, inverse: Array
) -> None:
    """Do what :func:`~dali_lab.kernels.cpu.normalize.crop_mirror_normalize` asks of its kernel for pixels."""
    for i, (top, left, height, width) in enumerate(windows.tolist()):
        frames = int(src_shapes[i, 0])
        pictures = array_in_memory(src[i], (*src_shapes[i, :3].tolist(), 3), like(np.uint8))
        results = array_in_memory(dst[i], (frames, 3, height, width), like(np.float32))
        centre = mean[min(i, len(mean) - 1), :3]
        factor = inverse[min(i, len(inverse) - 1), :3]
        for picture, result in zip(pictures, results, strict=True):
            image = (picture[top : top + height, left : left + width].astype(np.float32) - centre) * factor
            result[:] = (image[:, ::-1] if mirror[i] else image).transpose(2, 0, 1)


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
    """Do what :func:`~dali_lab.kernels.cpu.convolve.separable_convolution` asks of its kernel.

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
