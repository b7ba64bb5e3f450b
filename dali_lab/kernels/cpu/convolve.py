"""Convolution of images and volumes with windows along their axes; Gaussian blur and Laplacian.

What NVIDIA DALI does: axes are convolved one after the other, the innermost first, in float32, the border reflected
without repeating the edge (``reflect_101``), and the last result is rounded half away from zero and clamped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu import background, color_plain
from dali_lab.kernels.cpu.borders import REFLECT_101, place_of
from dali_lab.kernels.cpu.convert import float_to_half, half_to_float, saturate
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.pixel_vectors import BLOCK, sum_floats
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part, rows
from dali_lab.kernels.cpu.resample_rows import sum_rows, widen_row

_VECTORS = uses("vectors")
_SCALE = np.float32(2.0**32)
"""Makes the least weight a normal number: processors take some hundred cycles for each product of others."""
_PLAIN = {np.dtype(np.uint8), np.dtype(np.float32)}


@part
def _sum(source: Array, offsets: Array, window: Array, n: int, target: Array, to: int, count: int) -> None:
    """Weighted sum of `n` rows of `source` that start at `offsets`; these are made addresses."""
    if _VECTORS and count >= BLOCK:
        for k in range(n):
            offsets[k] = source.ctypes.data + 4 * offsets[k]
        sum_floats(offsets.ctypes.data, window.ctypes.data, n, target.ctypes.data + 4 * to, count)
    else:
        sum_rows(source, source, offsets, window, 0, n, target, to, count)


@part
def _trimmed(window: Array, n: int) -> Any:
    """Number of zeros at both ends of a window."""
    k = 0
    while 2 * k + 1 < n and window[k] == 0 and window[n - 1 - k] == 0:
        k += 1
    return k


@part
def _across(
    source: Array, like_src: Array, at: int, width: int, channels: int, window: Array, n: int, line: Array,
    offsets: Array, target: Array, to: int,
) -> None:  # fmt: skip
    """Convolve one row along x: all its elements at once, as the window is the same everywhere."""
    radius = n // 2
    widen_row(source, like_src, at, line, radius * channels, width * channels)
    for k in range(radius):
        left = (radius + place_of(k - radius, width, REFLECT_101)) * channels
        right = (radius + place_of(width + k, width, REFLECT_101)) * channels
        for c in range(channels):
            line[k * channels + c] = line[left + c]
            line[(radius + width + k) * channels + c] = line[right + c]
    for k in range(n):
        offsets[k] = k * channels
    _sum(line, offsets, window, n, target, to, width * channels)


@inner_part
def as_half(value: Real) -> Any:
    """A float32 as it is once it was stored as float16."""
    return half_to_float(np.int32(float_to_half(value)))


@kernel
def _separable_halves(
    src: Array, dst: Array, shapes: Array, windows: Array, lengths: Array, like_src: Array, like_dst: Array
) -> None:
    """Convolution of float16: NVIDIA DALI rounds every product, and the image between two axes."""
    for i in range(src.shape[0]):
        shape = shapes[i]
        total = shape.prod()
        if total == 0:
            continue
        source = array_at(src[i], (total,), like_src)
        target = array_at(dst[i], (total,), like_dst)
        values, sums = np.empty(total, np.float32), np.empty(total, np.float32)
        widen_row(source, like_src, 0, sums, 0, total)
        inner = shape[3]
        for axis in range(2, -1, -1):
            size, n = shape[axis], lengths[i, axis]
            window = windows[i, axis]
            if n > 1 or window[0] != 1:
                for j in range(total):
                    values[j] = as_half(sums[j])
                for first in range(0, total, size * inner):
                    for at in range(size):
                        goal = sums[first + at * inner : first + (at + 1) * inner]
                        goal[:] = 0
                        for k in range(n):
                            place = first + place_of(at + k - n // 2, size, REFLECT_101) * inner
                            for c in range(inner):
                                goal[c] += as_half(window[k] * values[place + c])
            inner *= size
        for j in range(total):
            target[j] = saturate(sums[j], like_dst)


@kernel
def _separable(
    src: Array, dst: Array, shapes: Array, windows: Array, lengths: Array, like_src: Array, like_dst: Array
) -> None:
    for i in range(src.shape[0]):
        depth, height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3]
        total = depth * height * width * channels
        if total == 0:
            continue
        source = array_at(src[i], (total,), like_src)
        target = array_at(dst[i], (total,), like_dst)
        nz, ny, nx = lengths[i, 0], lengths[i, 1], lengths[i, 2]
        window_y, window_x = windows[i, 1, :ny], windows[i, 2, :nx]
        back = np.float32(1)
        if like_src.itemsize == 1:  # a zero weight adds nothing to whole numbers
            trimmed_y, trimmed_x = _trimmed(window_y, ny), _trimmed(window_x, nx)
            window_y, window_x = window_y[trimmed_y:], window_x[trimmed_x:]
            ny, nx = ny - 2 * trimmed_y, nx - 2 * trimmed_x
            if like_dst.itemsize == 1 and nz == 1:
                window_y, window_x = window_y * _SCALE, window_x * _SCALE
                back = np.float32(1) / (_SCALE * _SCALE)
        pitch = width * channels
        line = np.empty((width + 2 * (nx // 2)) * channels, np.float32)
        offsets = np.empty(max(nx, max(ny, nz)), np.int64)
        ring = np.empty(ny * pitch, np.float32)
        tags = np.empty(ny, np.int64)
        # With a window along z, blurred slices wait for their neighbours; else a row is written at once.
        slices = np.empty(depth * height * pitch if nz > 1 else pitch, np.float32)
        for z in range(depth):
            tags[:] = -1
            for y in range(height):
                for k in range(ny):
                    row = place_of(y + k - ny // 2, height, REFLECT_101)
                    slot = row % ny
                    if tags[slot] != row:
                        tags[slot] = row
                        _across(
                            source, like_src, (z * height + row) * pitch, width, channels, window_x, nx, line,
                            offsets, ring, slot * pitch,
                        )  # fmt: skip
                for k in range(ny):
                    offsets[k] = (place_of(y + k - ny // 2, height, REFLECT_101) % ny) * pitch
                to = (z * height + y) * pitch
                _sum(ring, offsets, window_y, ny, slices, to if nz > 1 else 0, pitch)
                if nz == 1:
                    goal = target[to : to + pitch]
                    for j in range(pitch):
                        goal[j] = saturate(slices[j] * back, like_dst)
        if nz > 1:
            row_out = np.empty(pitch, np.float32)
            for z in range(depth):
                for y in range(height):
                    for k in range(nz):
                        offsets[k] = (place_of(z + k - nz // 2, depth, REFLECT_101) * height + y) * pitch
                    _sum(slices, offsets, windows[i, 0], nz, row_out, 0, pitch)
                    to = (z * height + y) * pitch
                    goal = target[to : to + pitch]
                    for j in range(pitch):
                        goal[j] = saturate(row_out[j], like_dst)


def separable_convolution(
    src: Array, dst: Array, shapes: Array, windows: Array, lengths: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Convolve images or volumes along z, y and x with windows of each sample.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes
        ``int64[N, 4]``: depth, height, width, channels. Frames of a video are slices with a window of length 1.
    windows
        ``float32[N, 3, L]``: the windows along z, y and x, from index 0; see :func:`gaussian_windows`.
    lengths
        ``int64[N, 3]``: their lengths, odd. A window of one element 1 leaves an axis as it is.
    src_dtype, dst_dtype
        Any; NVIDIA DALI has all of them to the same or float32.
    """
    arguments = (
        rows(src), rows(dst), rows(shapes), rows(windows, np.float32), rows(lengths), like(src_dtype), like(dst_dtype),
    )  # fmt: skip
    if np.dtype(src_dtype) == np.float16:
        _separable_halves(*arguments)
    elif {np.dtype(src_dtype), np.dtype(dst_dtype)} <= _PLAIN and (arguments[4][:, 0] == 1).all():
        background.call(_separable, *arguments, meanwhile=color_plain.separable_slices)
    else:
        _separable(*arguments)


def gaussian_windows(sigma: Array, length: Array) -> tuple[Array, Array]:
    """Windows of a Gaussian blur and their lengths, ``float32[N, A, L]`` and ``int64[N, A]``.

    Where only one of the two is given (not zero), the other follows: ``length = 2 * ceil(3 * sigma) + 1``, or
    ``sigma = (radius - 1) * 0.3 + 0.8``. A window is sampled at whole pixels and divided by its sum.

    Parameters
    ----------
    sigma, length
        ``[N, A]``, zero for what is not given.
    """
    from dali_lab.kernels.cpu import libm

    sigma = np.atleast_2d(np.asarray(sigma, np.float32))
    length = np.atleast_2d(np.asarray(length, np.int64))
    sigma, length = (np.array(value) for value in np.broadcast_arrays(sigma, length))
    unsized = length == 0
    length[unsized] = 2 * np.ceil(3 * sigma[unsized]).astype(np.int64) + 1
    radius = (length - 1) // 2
    sigma = np.where(sigma == 0, (radius - 1) * 0.3 + 0.8, sigma).astype(np.float32)
    index = np.arange(int(length.max(initial=1)))
    distance = (index - radius[..., None]).astype(np.float32)
    exponent = -(distance * distance * (np.float32(0.5) / (sigma * sigma))[..., None])
    values = exponent.reshape(-1)
    if not libm.apply("exp", values):
        values = np.exp(values.astype(np.float64)).astype(np.float32)
    values = np.where(index < length[..., None], values.reshape(exponent.shape), np.float32(0))
    # In DALI's order: one side is summed outside in, doubled, and the centre, which is 1, added.
    sides = np.concatenate([np.zeros_like(values[..., :1]), np.cumsum(values, axis=-1, dtype=np.float32)], axis=-1)
    total = np.take_along_axis(sides, radius[..., None], axis=-1) * np.float32(2) + np.float32(1)
    return values * (np.float32(1) / total), length


@kernel
def _add_scaled(src: Array, dst: Array, sizes: Array, scales: Array, fresh: bool, halves: bool, item: Array) -> None:
    for i in range(src.shape[0]):
        source = array_at(src[i], (sizes[i],), item)
        target = array_at(dst[i], (sizes[i],), item)
        scale = scales[i]
        if fresh:
            for j in range(sizes[i]):
                target[j] = source[j] * scale
        else:
            for j in range(sizes[i]):
                target[j] = source[j] * scale + target[j]
        if halves:
            for j in range(sizes[i]):
                target[j] = as_half(target[j])


def add_scaled(src: Array, dst: Array, sizes: Array, scales: Array, fresh: bool, halves: bool) -> None:
    """Add float32 samples of ``sizes[n]`` elements, times ``scales[n]``, to those at `dst`; put them there if `fresh`.

    The two may be the same. With `halves` results are rounded to float16.
    """
    _add_scaled(rows(src), rows(dst), rows(sizes), rows(scales, np.float32), fresh, halves, like(np.float32))
