"""Displacing the pixels of images: as if seen in a sphere, or under water.

What NVIDIA DALI does: positions are computed in float32 and then sampled as a warp does, the centre of the first pixel
at ``(0.5, 0.5)``. The sphere measures from the middle of the image to the middle of a pixel; water takes a pixel's
corner for its position, so that nearest pixels are meant, and with interpolation there is half a pixel of offset.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Number
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.memory import array_at, borrowed, kernel, like, part, rows
from dali_lab.kernels.cpu.warp import cosines_and_sines, linear_blend
from dali_lab.kernels.streams import truncated


@part
def _towards_the_middle(us: Array, vs: Array, row: int, width: int, height: int) -> None:
    """Source positions of the pixels of a row, for a sphere."""
    half = np.float32(0.5)
    middle_x, middle_y = np.float32(width) * half, np.float32(height) * half
    radius = np.float32(np.int64(max(middle_x, middle_y)))
    across = np.float32(row) + half - middle_y
    for column in range(us.shape[0]):
        along = np.float32(column) + half - middle_x
        factor = np.sqrt(along * along + across * across) / radius
        us[column] = middle_x + factor * along
        vs[column] = middle_y + factor * across


@part
def _copy_nearest(
    source: Array, target: Array, us: Array, vs: Array, to: int, width: int, height: int, channels: int,
    outside: Number,
) -> None:  # fmt: skip
    """Write a row, from element `to` on, of the pixels that hold positions."""
    right, bottom = np.float32(width), np.float32(height)
    for column in range(us.shape[0]):
        u, v = us[column], vs[column]
        if u >= 0 and u < right and v >= 0 and v < bottom:
            at = (np.int64(np.int32(v)) * width + np.int64(np.int32(u))) * channels
            if channels == 3:
                target[np.uintp(to)] = source[np.uintp(at)]
                target[np.uintp(to + 1)] = source[np.uintp(at + 1)]
                target[np.uintp(to + 2)] = source[np.uintp(at + 2)]
            else:
                for c in range(channels):
                    target[np.uintp(to + c)] = source[np.uintp(at + c)]
        else:
            for c in range(channels):
                target[np.uintp(to + c)] = outside
        to += channels


@kernel
def _displace(
    src: Array, dst: Array, shapes: Array, chosen: Array, sphere: bool, shift_x: Array, shift_y: Array, linear: bool,
    fill: Array, item: Array,
) -> None:  # fmt: skip
    fill, item = borrowed(fill), borrowed(item)
    outside = saturate(fill[0], item)
    for i in range(src.shape[0]):
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        total = height * width * channels
        source = array_at(src[i], (total,), item)
        target = array_at(dst[i], (total,), item)
        if chosen[i] == 0:
            for j in range(total):
                target[j] = source[j]
            continue
        us, vs = np.empty(width, np.float32), np.empty(width, np.float32)
        for row in range(height):
            if sphere:
                _towards_the_middle(us, vs, row, width, height)
            else:
                y = np.float32(row)
                for column in range(width):
                    us[column] = np.float32(column) + shift_x[row]
                    vs[column] = y + shift_y[column]
            to = row * width * channels
            if not linear:
                _copy_nearest(source, target, us, vs, to, width, height, channels, outside)
                continue
            for column in range(width):
                linear_blend(
                    source, item, 0, height, width, channels, us[column], vs[column], False, fill, target, item, to
                )
                to += channels


def sphere(
    src: Array, dst: Array, shapes: Array, chosen: Array, dtype: npt.DTypeLike, *, linear: bool = False,
    fill: float = 0.0,
) -> None:  # fmt: skip
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
    none = np.zeros(1, np.float32)
    _displace(
        rows(src), rows(dst), rows(shapes), rows(chosen), True, none, none, linear, fill_element(fill, dtype),
        like(dtype),
    )  # fmt: skip


def water(
    src: Array, dst: Array, shapes: Array, chosen: Array, dtype: npt.DTypeLike,
    waves: tuple[float, float, float, float, float, float], *, linear: bool = False, fill: float = 0.0,
) -> None:  # fmt: skip
    """Move pixels by waves: rows along x by a sine of y, columns along y by a cosine of x.

    Parameters
    ----------
    waves
        Amplitude in pixels, frequency in radians for a pixel, and phase in radians, for x and then for y.
    src, dst, shapes, chosen, dtype, linear, fill
        As for :func:`sphere`.
    """
    _displace(
        rows(src), rows(dst), rows(shapes), rows(chosen), False, *wave_tables(shapes, waves), linear,
        fill_element(fill, dtype), like(dtype),
    )  # fmt: skip


def wave_tables(shapes: Array, waves: tuple[float, float, float, float, float, float]) -> tuple[Array, Array]:
    """Distances by which waves move each row along x and each column along y, for the largest image."""
    ampl_x, freq_x, phase_x, ampl_y, freq_y, phase_y = np.array(waves, np.float32)
    places, columns = (np.arange(int(shapes[:, axis].max(initial=1)), dtype=np.float32) for axis in (0, 1))
    _, sines = cosines_and_sines(freq_x * places + phase_x)
    cosines, _ = cosines_and_sines(freq_y * columns + phase_y)
    return ampl_x * sines, ampl_y * cosines


def fill_element(fill: float, dtype: npt.DTypeLike) -> Array:
    """A fill value as ``float32[1]``, whole for whole numbers; see :func:`dali_lab.kernels.streams.truncated`."""
    return truncated([fill], np.dtype(dtype)).astype(np.float32)
