"""Warping: images sampled where an affine map, a projection or a table of coordinates says.

What NVIDIA DALI does: pixel centres are at halves, so output pixel ``(x, y)`` looks at the source position of
``(x + 0.5, y + 0.5)``. The first position of a row is ``(t + m0 * 0.5) + m1 * (y + 0.5)`` in float32; every 256th one
adds 256 times the matrix' first column to the one before it, and those between add that column again and again.
Nearest neighbour takes the pixel that holds the position; linear interpolation subtracts 0.5, blends along x, then
along y. Outside the image there is either the nearest pixel of the edge or a fill value (rounded to the input's dtype
where it is blended). int-number results are rounded half away from zero and clamped.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu import background, warp_plain
from dali_lab.kernels.cpu.convert import saturate, widen
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.pixel_vectors import blend_pixel
from dali_lab.kernels.cpu.memory import array_at, borrowed, inner_part, kernel, like, rows

_SPAN = 256


@inner_part
def whole(position: Real) -> Any:
    """The floor of a position as an integer, safe for positions beyond all images and for NaN."""
    limit = np.float32(1e9)
    known = position if position == position else -limit
    return np.int64(np.floor(min(max(known, -limit), limit)))


@inner_part
def nearest_pixel(
    source: Array, like_src: Array, base: int, height: int, width: int, channels: int, x: Real, y: Real,
    clamp: bool, fill: Array, target: Array, like_dst: Array, to: int,
) -> None:  # fmt: skip
    """Write the pixel that holds position ``(x, y)`` of an image that starts at `base`."""
    column, row = whole(x), whole(y)
    if clamp:
        column = min(max(column, 0), width - 1)
        row = min(max(row, 0), height - 1)
    if column < 0 or column >= width or row < 0 or row >= height:
        for c in range(channels):
            target[np.uintp(to + c)] = saturate(fill[min(c, fill.shape[0] - 1)], like_dst)
        return
    at = base + (row * width + column) * channels
    for c in range(channels):
        target[np.uintp(to + c)] = saturate(widen(source[np.uintp(at + c)], like_src), like_dst)


@inner_part
def linear_blend(
    source: Array, like_src: Array, base: int, height: int, width: int, channels: int, x: Real, y: Real,
    clamp: bool, fill: Array, target: Array, like_dst: Array, to: int,
) -> None:  # fmt: skip
    """Write the blend of the four pixels around position ``(x, y)`` of an image that starts at `base`."""
    x -= np.float32(0.5)
    y -= np.float32(0.5)
    left, top = whole(x), whole(y)
    qx = x - np.float32(left)
    px = np.float32(1) - qx
    qy = y - np.float32(top)
    pixel, line = channels, width * channels
    at = base + top * line + left * pixel
    if left >= 0 and top >= 0 and left + 1 < width and top + 1 < height:
        for c in range(channels):
            a = np.float32(widen(source[np.uintp(at + c)], like_src))
            b = np.float32(widen(source[np.uintp(at + pixel + c)], like_src))
            upper = a * px + b * qx
            a = np.float32(widen(source[np.uintp(at + line + c)], like_src))
            b = np.float32(widen(source[np.uintp(at + line + pixel + c)], like_src))
            lower = a * px + b * qx
            target[np.uintp(to + c)] = saturate(upper + (lower - upper) * qy, like_dst)
        return
    if clamp:
        low, high = min(max(left, 0), width - 1), min(max(left + 1, 0), width - 1)
        first, last = min(max(top, 0), height - 1), min(max(top + 1, 0), height - 1)
        for c in range(channels):
            a = np.float32(widen(source[np.uintp(base + first * line + low * pixel + c)], like_src))
            b = np.float32(widen(source[np.uintp(base + first * line + high * pixel + c)], like_src))
            upper = a * px + b * qx
            a = np.float32(widen(source[np.uintp(base + last * line + low * pixel + c)], like_src))
            b = np.float32(widen(source[np.uintp(base + last * line + high * pixel + c)], like_src))
            lower = a * px + b * qx
            target[np.uintp(to + c)] = saturate(upper + (lower - upper) * qy, like_dst)
        return
    for c in range(channels):
        outside = np.float32(widen(saturate(fill[min(c, fill.shape[0] - 1)], like_src), like_src))
        upper = outside
        lower = outside
        for k in range(2):
            a = b = outside
            if top + k >= 0 and top + k < height:
                here = at + k * line + c
                if left >= 0 and left < width:
                    a = np.float32(widen(source[np.uintp(here)], like_src))
                if left + 1 >= 0 and left + 1 < width:
                    b = np.float32(widen(source[np.uintp(here + pixel)], like_src))
            value = a * px + b * qx
            if k == 0:
                upper = value
            else:
                lower = value
        target[np.uintp(to + c)] = saturate(upper + (lower - upper) * qy, like_dst)


@kernel
def _warp(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, projective: bool, linear: Array,
    clamp: bool, fill: Array, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    half = np.float32(0.5)
    fill, like_src, like_dst = borrowed(fill), borrowed(like_src), borrowed(like_dst)
    for i in range(src.shape[0]):
        frames, height, width, channels = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2], src_shapes[i, 3]
        out_height, out_width = dst_shapes[i, 1], dst_shapes[i, 2]
        size_in, size_out = height * width * channels, out_height * out_width * channels
        if frames * size_out == 0:
            continue
        source = array_at(src[i], (frames * size_in,), like_src)
        target = array_at(dst[i], (frames * size_out,), like_dst)
        m = matrices[i]
        padding = fill[min(i, fill.shape[0] - 1)]
        blend = linear[i] != 0
        edge = clamp and size_in > 0
        for frame in range(frames):
            base = frame * size_in
            for row in range(out_height):
                y = np.float32(row) + half
                first_u = (m[2] + m[0] * half) + m[1] * y
                first_v = (m[5] + m[3] * half) + m[4] * y
                u, v = first_u, first_v
                to = frame * size_out + row * out_width * channels
                for column in range(out_width):
                    if column % _SPAN == 0 and column > 0:
                        first_u += m[0] * np.float32(_SPAN)
                        first_v += m[3] * np.float32(_SPAN)
                        u, v = first_u, first_v
                    a, b = u, v
                    if projective:
                        x = np.float32(column) + half
                        w = (m[8] + m[6] * x) + m[7] * y
                        a = ((m[2] + m[0] * x) + m[1] * y) / w
                        b = ((m[5] + m[3] * x) + m[4] * y) / w
                    if blend:
                        linear_blend(
                            source, like_src, base, height, width, channels, a, b, edge, padding, target, like_dst, to
                        )
                    else:
                        nearest_pixel(
                            source, like_src, base, height, width, channels, a, b, edge, padding, target, like_dst, to
                        )
                    u += m[0]
                    v += m[3]
                    to += channels


@inner_part
def _is_outside(left: Real, top: Real, right: Real, bottom: Real) -> Any:
    """Whether all four pixels around a position are outside the image, and the position is a sensible number."""
    far = np.float32(1e6)
    known = left > -far and left < far and top > -far and top < far
    return known and (left < -1 or left > right or top < -1 or top > bottom)


@kernel
def _warp_pixels(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, clamp: bool, fill: Array,
    like_bytes: Array,
) -> None:  # fmt: skip
    """Affine maps of uint8 pictures of three channels, interpolated linearly, with the bits of :func:`_warp`."""
    half = np.float32(0.5)
    fill, like_bytes = borrowed(fill), borrowed(like_bytes)
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        out_height, out_width = dst_shapes[i, 1], dst_shapes[i, 2]
        line = width * 3
        size_in, size_out = height * line, out_height * out_width * 3
        if frames * size_out == 0:
            continue
        source = array_at(src[i], (frames * size_in,), like_bytes)
        target = array_at(dst[i], (frames * size_out,), like_bytes)
        m = matrices[i]
        padding = fill[min(i, fill.shape[0] - 1)]
        edge = clamp and size_in > 0
        outside = np.empty(3, np.uint8)
        for c in range(3):
            outside[c] = saturate(padding[min(c, padding.shape[0] - 1)], like_bytes)
        last = size_out - 3
        right, bottom = np.float32(width - 1), np.float32(height - 1)
        for frame in range(frames):
            base = frame * size_in
            picture, canvas = src[i] + base, dst[i] + frame * size_out
            for row in range(out_height):
                y = np.float32(row) + half
                first_u = (m[2] + m[0] * half) + m[1] * y
                first_v = (m[5] + m[3] * half) + m[4] * y
                to = row * out_width * 3
                for start in range(0, out_width, _SPAN):
                    if start > 0:
                        first_u += m[0] * np.float32(_SPAN)
                        first_v += m[3] * np.float32(_SPAN)
                    u, v = first_u, first_v
                    for _ in range(min(_SPAN, out_width - start)):
                        a, b = u - half, v - half
                        left, top = np.floor(a), np.floor(b)
                        inside = left >= 0 and top >= 0 and left < right and top < bottom
                        # Not where bytes after the last pixel would be read or written.
                        if inside and (left + 1 < right or top + 1 < bottom) and to < last:
                            upper = picture + np.int64(np.int32(top)) * line + np.int64(np.int32(left)) * 3
                            blend_pixel(upper, upper + line, a - left, b - top, canvas + to)
                        elif not edge and _is_outside(left, top, right, bottom):
                            for c in range(3):
                                target[np.uintp(frame * size_out + to + c)] = outside[c]
                        else:
                            linear_blend(
                                source, like_bytes, base, height, width, 3, u, v, edge, padding, target, like_bytes,
                                frame * size_out + to,
                            )  # fmt: skip
                        u += m[0]
                        v += m[3]
                        to += 3


def warp_affine(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, linear: Array,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, fill: Array | None = None,
) -> None:  # fmt: skip
    """Warp frames by one matrix a sample, which maps positions of the output to positions of the input.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes, dst_shapes
        ``int64[N, 4]``: frames, height, width, channels.
    matrices
        ``float32[N, 6]``, or ``[N, 2, 3]``: ``x' = m0 x + m1 y + m2``, ``y' = m3 x + m4 y + m5``. Nine numbers a
        sample make a projection: the third row divides.
    linear
        ``[N]``, not zero to interpolate linearly, zero for the nearest pixel.
    src_dtype, dst_dtype
        Any; NVIDIA DALI has uint8, int16, int32 and float32 to the same or float32.
    fill
        ``float32[M, K]`` with M of N or 1 and K of the channels or 1: the value outside. Where not given, the edge
        is repeated.

    Notes
    -----
    Equal to NVIDIA DALI, to the bit, for affine maps.
    """
    table = np.asarray(matrices, np.float32)
    table = table.reshape(len(src), math.prod(table.shape[1:]))
    values = np.zeros((1, 1), np.float32) if fill is None else np.atleast_2d(np.asarray(fill, np.float32))
    plain = uses("vectors") and np.dtype(src_dtype) == np.dtype(dst_dtype) == np.uint8 and table.shape[1] == 6
    if plain and len(src) and (np.asarray(src_shapes)[:, 3] == 3).all() and np.asarray(linear).all():
        background.call(
            _warp_pixels, rows(src), rows(dst), rows(src_shapes), rows(dst_shapes), rows(table, np.float32),
            fill is None, rows(values, np.float32), like(np.uint8), meanwhile=warp_plain.warp_pixels,
        )  # fmt: skip
        return
    _warp(
        rows(src), rows(dst), rows(src_shapes), rows(dst_shapes), rows(table, np.float32), table.shape[1] == 9,
        rows(linear), fill is None, rows(values, np.float32), like(src_dtype), like(dst_dtype),
    )  # fmt: skip


def rotated_sizes(angles: Array, sizes: Array, frames: Array | None = None) -> Array:
    """The canvas that holds the rotated image, ``int64[N, 2]`` heights and widths.

    The image is enclosed up to a hundredth of a pixel; each extent then grows by one where that gives it the parity
    of the input's extent that it comes from (so that a rotation by small angles does not blur the middle).

    Parameters
    ----------
    angles
        ``float32[N]``, degrees.
    sizes
        ``int64[N, 2]``: height and width.
    frames
        ``int64[S]``: numbers of frames of sequences, whose frames share a canvas.
    """
    radians = radians_of(angles).astype(np.float64)
    cos, sin = np.abs(np.cos(radians)), np.abs(np.sin(radians))
    height, width = sizes[:, 0], sizes[:, 1]
    across = np.ceil(cos * width + sin * height - 1e-2).astype(np.int64)
    down = np.ceil(cos * height + sin * width - 1e-2).astype(np.int64)
    upright = (sin <= cos)[:, None]
    parity = np.where(upright, sizes, sizes[:, ::-1]) % 2
    return agreed_sizes(np.stack([down, across], axis=1), parity, frames)


def agreed_sizes(sizes: Array, parity: Array, frames: Array | None = None) -> Array:
    """Sizes that grow by one where their parity is another; the frames of a sequence get the same one.

    Parameters
    ----------
    sizes, parity
        ``int64[N, axes]``, wanted for each image or frame.
    frames
        ``int64[S]``: numbers of frames of sequences: they get the largest size, and the parity of most of them.
    """
    if frames is not None and len(sizes):
        counts = frames[frames > 0]
        starts = np.cumsum(counts) - counts
        sizes = np.repeat(np.maximum.reduceat(sizes, starts, axis=0), counts, axis=0)
        odd = 2 * np.add.reduceat(parity, starts, axis=0) > counts[:, None]
        parity = np.repeat(odd.astype(np.int64), counts, axis=0)
    return np.asarray(sizes + (sizes % 2 ^ parity), np.int64)


def rotation_matrices(angles: Array, sizes: Array, out_sizes: Array) -> Array:
    """Maps for :func:`warp_affine` that rotate about the centre, counter-clockwise as seen, ``float32[N, 6]``.

    Parameters
    ----------
    angles
        ``float32[N]``, degrees.
    sizes, out_sizes
        ``int64[N, 2]``: height and width of input and output.
    """
    radians = radians_of(angles)
    cos, sin = cosines_and_sines(radians)
    centre = np.asarray(sizes).astype(np.float32) * np.float32(0.5)
    corner = np.asarray(out_sizes).astype(np.float32) * np.float32(-0.5)
    y, x = corner[:, 0], corner[:, 1]
    matrix = np.empty((len(radians), 6), np.float32)
    matrix[:, 0], matrix[:, 1], matrix[:, 2] = cos, -sin, (cos * x + -sin * y) + centre[:, 1]
    matrix[:, 3], matrix[:, 4], matrix[:, 5] = sin, cos, (sin * x + cos * y) + centre[:, 0]
    return matrix


def inverted_affine(matrices: Array) -> Array:
    """The inverses of ``float32[N, 6]`` maps, for matrices that map the input to the output."""
    table = np.asarray(matrices, np.float32).reshape(-1, 6)
    a, b, tx, c, d, ty = table.T
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = a * d - b * c
        parts: list[Array] = [d / determinant, -b / determinant, tx, -c / determinant, a / determinant, ty]
        inverse = np.stack(parts, axis=1).astype(np.float32)
        inverse[:, 2] = -(inverse[:, 0] * tx + inverse[:, 1] * ty)
        inverse[:, 5] = -(inverse[:, 3] * tx + inverse[:, 4] * ty)
    return inverse


def radians_of(angles: Array) -> Array:
    """Angles in degrees as float32 radians."""
    return np.asarray(angles, np.float32) * np.float32(np.pi / 180)


def cosines_and_sines(radians: Array) -> tuple[Array, Array]:
    """Cosines and sines of float32 angles, those of the C library."""
    from dali_lab.kernels.cpu import libm

    cosines, sines = radians.copy(), radians.copy()
    if not (libm.apply("cos", cosines) and libm.apply("sin", sines)):
        angles = radians.astype(np.float64)
        cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return cosines, sines
