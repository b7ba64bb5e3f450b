"""Displacing the pixels of images: as if seen in a sphere, or under water.

What NVIDIA DALI does: positions are computed in float32 and then sampled as a warp does, the centre of the first pixel
at ``(0.5, 0.5)``. The sphere measures from the middle of the image to the middle of a pixel; water takes a pixel's
corner for its position, so that nearest pixels are meant, and with interpolation there is half a pixel of offset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows
from dali_lab.kernels.cpu.warp import linear_blend, nearest_pixel
from dali_lab.kernels.streams import truncated

Array = np.ndarray[Any, Any]


@kernel
def _displace(
    src: Array, dst: Array, shapes: Array, chosen: Array, sphere: bool, waves: Array, linear: bool, fill: Array,
    item: Array,
) -> None:  # fmt: skip
    half = np.float32(0.5)
    ampl_x, freq_x, phase_x, ampl_y, freq_y, phase_y = waves
    for i in range(src.shape[0]):
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        total = height * width * channels
        source = array_at(src[i], (total,), item)
        target = array_at(dst[i], (total,), item)
        if chosen[i] == 0:
            for j in range(total):
                target[j] = source[j]
            continue
        middle_x, middle_y = np.float32(width) * half, np.float32(height) * half
        radius = np.float32(np.int64(max(middle_x, middle_y)))
        to = 0
        for row in range(height):
            across = np.float32(row) + half - middle_y
            y = np.float32(row)
            shift = ampl_x * np.float32(np.sin(np.float64(freq_x * y + phase_x)))
            for column in range(width):
                x = np.float32(column)
                if sphere:
                    along = x + half - middle_x
                    factor = np.sqrt(along * along + across * across) / radius
                    u, v = middle_x + factor * along, middle_y + factor * across
                else:
                    u = x + shift
                    v = y + ampl_y * np.float32(np.cos(np.float64(freq_y * x + phase_y)))
                if linear:
                    linear_blend(source, item, 0, height, width, channels, u, v, False, fill, target, item, to)
                else:
                    nearest_pixel(source, item, 0, height, width, channels, u, v, False, fill, target, item, to)
                to += channels


def sphere(
    src: Array, dst: Array, shapes: Array, chosen: Array, dtype: Any, *, linear: bool = False, fill: float = 0.0
) -> None:
    """Move pixels towards the middle, the more the nearer to it: by the distance, as a share of half the larger extent.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes
        ``int64[N, 3]``: height, width, channels.
    chosen
        ``[N]``: samples with 0 are copied.
    dtype
        Of the elements.
    linear
        Interpolate, rather than take the nearest pixel.
    fill
        Value outside the image; for whole numbers its fraction is cut off.
    """
    waves = np.zeros(6, np.float32)
    _displace(
        rows(src), rows(dst), rows(shapes), rows(chosen), True, waves, linear, fill_element(fill, dtype), like(dtype)
    )


def water(
    src: Array,
    dst: Array,
    shapes: Array,
    chosen: Array,
    dtype: Any,
    waves: tuple[float, float, float, float, float, float],
    *,
    linear: bool = False,
    fill: float = 0.0,
) -> None:
    """Move pixels by waves: rows along x by a sine of y, columns along y by a cosine of x.

    Parameters
    ----------
    waves
        Amplitude in pixels, frequency in radians for a pixel, and phase in radians, for x and then for y.
    src, dst, shapes, chosen, dtype, linear, fill
        As for :func:`sphere`.
    """
    _displace(
        rows(src), rows(dst), rows(shapes), rows(chosen), False, np.array(waves, np.float32), linear,
        fill_element(fill, dtype), like(dtype),
    )  # fmt: skip


def fill_element(fill: float, dtype: Any) -> Array:
    """A fill value as ``float32[1]``, whole for whole numbers; see :func:`dali_lab.kernels.streams.truncated`."""
    return truncated([fill], np.dtype(dtype)).astype(np.float32)
