"""Warping volumes by affine maps.

As for images (:mod:`dali_lab.kernels.cpu.warp`): voxel centres are at halves, positions of a row are stepped in
float32, and linear interpolation blends along x, then y, then z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Extents, Real
from dali_lab.kernels.cpu.convert import saturate, widen
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.memory import array_at, copy_row, inner_part, kernel, like, rows
from dali_lab.kernels.cpu.warp import agreed_sizes, cosines_and_sines, radians_of, whole

_SPAN = 256


@inner_part
def _voxel(
    source: Array, like_src: Array, shape: Extents, z: int, y: int, x: int, c: int, clamp: bool, outside: Real
) -> Any:
    """The value of a voxel; outside the volume that of the nearest one, or `outside`."""
    depth, height, width, channels = shape
    if clamp:
        x, y, z = min(max(x, 0), width - 1), min(max(y, 0), height - 1), min(max(z, 0), depth - 1)
    elif x < 0 or x >= width or y < 0 or y >= height or z < 0 or z >= depth:
        return outside
    return np.float32(widen(source[np.uintp(((z * height + y) * width + x) * channels + c)], like_src))


@inner_part
def _nearest(
    source: Array, like_src: Array, shape: Extents, u: Real, v: Real, w: Real, clamp: bool, fill: Real, target: Array,
    like_dst: Array, to: int,
) -> None:  # fmt: skip
    """Write the voxel that holds a position."""
    depth, height, width, channels = shape
    x, y, z = whole(u), whole(v), whole(w)
    if clamp:
        x, y, z = min(max(x, 0), width - 1), min(max(y, 0), height - 1), min(max(z, 0), depth - 1)
    inside = 0 <= x < width and 0 <= y < height and 0 <= z < depth
    at = ((z * height + y) * width + x) * channels
    for c in range(channels):
        if inside:
            target[np.uintp(to + c)] = saturate(widen(source[np.uintp(at + c)], like_src), like_dst)
        else:
            target[np.uintp(to + c)] = saturate(fill, like_dst)


@inner_part
def _linear(
    source: Array, like_src: Array, shape: Extents, u: Real, v: Real, w: Real, clamp: bool, fill: Real, target: Array,
    like_dst: Array, to: int,
) -> None:  # fmt: skip
    """Write the blend of the eight voxels around a position."""
    half, one = np.float32(0.5), np.float32(1)
    u, v, w = u - half, v - half, w - half
    x, y, z = whole(u), whole(v), whole(w)
    qx, qy, qz = u - np.float32(x), v - np.float32(y), w - np.float32(z)
    px, py = one - qx, one - qy
    for c in range(shape[3]):
        near = far = np.float32(0)
        for k in range(2):
            a = _voxel(source, like_src, shape, z + k, y, x, c, clamp, fill)
            b = _voxel(source, like_src, shape, z + k, y, x + 1, c, clamp, fill)
            upper = a * px + b * qx
            a = _voxel(source, like_src, shape, z + k, y + 1, x, c, clamp, fill)
            b = _voxel(source, like_src, shape, z + k, y + 1, x + 1, c, clamp, fill)
            lower = a * px + b * qx
            if k == 0:
                near = upper * py + lower * qy
            else:
                far = upper * py + lower * qy
        target[np.uintp(to + c)] = saturate(near + (far - near) * qz, like_dst)


@kernel
def _warp(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, linear: bool, clamp: bool,
    fill: Real, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    half = np.float32(0.5)
    blended = np.float32(widen(saturate(fill, like_src), like_src))
    for i in range(src.shape[0]):
        shape = (src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2], src_shapes[i, 3])
        size, channels = shape[0] * shape[1] * shape[2] * shape[3], shape[3]
        planes, lines, columns = dst_shapes[i, 0], dst_shapes[i, 1], dst_shapes[i, 2]
        source = array_at(src[i], (size,), like_src)
        target = array_at(dst[i], (planes * lines * columns * channels,), like_dst)
        m = matrices[i]
        edge = clamp and size > 0
        to = 0
        for plane in range(planes):
            for line in range(lines):
                y, z = np.float32(line) + half, np.float32(plane) + half
                first_u = ((m[3] + m[0] * half) + m[1] * y) + m[2] * z
                first_v = ((m[7] + m[4] * half) + m[5] * y) + m[6] * z
                first_w = ((m[11] + m[8] * half) + m[9] * y) + m[10] * z
                u, v, w = first_u, first_v, first_w
                for column in range(columns):
                    if column % _SPAN == 0 and column > 0:
                        first_u += m[0] * np.float32(_SPAN)
                        first_v += m[4] * np.float32(_SPAN)
                        first_w += m[8] * np.float32(_SPAN)
                        u, v, w = first_u, first_v, first_w
                    if linear:
                        _linear(source, like_src, shape, u, v, w, edge, blended, target, like_dst, to)
                    else:
                        _nearest(source, like_src, shape, u, v, w, edge, fill, target, like_dst, to)
                    u += m[0]
                    v += m[4]
                    w += m[8]
                    to += channels


def warp_volumes(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, linear: bool,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, fill: float | None = None,
) -> None:  # fmt: skip
    """Warp volumes by one matrix a sample, which maps positions of the output to positions of the input.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes, dst_shapes
        ``int64[N, 4]``: depth, height, width, channels.
    matrices
        ``float32[N, 12]``: rows for x, y and z, of three factors and an offset each.
    linear
        Interpolate, rather than take the nearest voxel.
    src_dtype, dst_dtype
        Any; NVIDIA DALI has uint8, int16, int32 and float32 to the same or float32.
    fill
        The value outside. Where not given, the edge is repeated.
    """
    table = np.asarray(matrices, np.float32).reshape(len(src), 12)
    _warp(
        rows(src), rows(dst), rows(src_shapes), rows(dst_shapes), rows(table, np.float32), linear, fill is None,
        np.float32(0 if fill is None else fill), like(src_dtype), like(dst_dtype),
    )  # fmt: skip


def rotations(axes: Array, angles: Array) -> Array:
    """Rotations of ``(x, y, z)`` about axes by angles in degrees, ``float32[N, 3, 3]``.

    Parameters
    ----------
    axes
        ``float32[N, 3]``, of any length but zero.
    angles
        ``float32[N]``, degrees.
    """
    radians = radians_of(angles)
    cos, sin = cosines_and_sines(radians)
    axes = np.asarray(axes, np.float32)
    length = np.sqrt((axes * axes).sum(axis=1, dtype=np.float32))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = axes / length[:, None]
    # An axis of the volume itself is one, however long it is given.
    u, v, w = np.where(np.count_nonzero(axes, axis=1)[:, None] == 1, np.sign(axes), unit).T
    rest = np.float32(1) - cos
    matrix = np.empty((len(radians), 3, 3), np.float32)
    matrix[:, 0] = np.stack([u * u + (v * v + w * w) * cos, u * v * rest - w * sin, u * w * rest + v * sin], axis=1)
    matrix[:, 1] = np.stack([u * v * rest + w * sin, v * v + (u * u + w * w) * cos, v * w * rest - u * sin], axis=1)
    matrix[:, 2] = np.stack([u * w * rest - v * sin, v * w * rest + u * sin, w * w + (u * u + v * v) * cos], axis=1)
    matrix[radians == 0] = np.eye(3, dtype=np.float32)
    return matrix


def rotated_sizes(axes: Array, angles: Array, sizes: Array, frames: Array | None = None) -> Array:
    """The canvas that holds the rotated volume, ``int64[N, 3]`` depths, heights and widths.

    Each extent gets the parity of the input's extent that contributes most to it.

    Parameters
    ----------
    axes, angles
        As for :func:`rotations`.
    sizes
        ``int64[N, 3]``: depth, height and width.
    frames
        ``int64[S]``: numbers of frames of sequences, whose frames share a canvas.
    """
    share = np.abs(rotations(axes, angles))
    extents = np.asarray(sizes)[:, ::-1].astype(np.float32)
    terms = share * extents[:, None, :]
    exact = (terms[..., 0] + terms[..., 1]) + terms[..., 2]
    raw = np.ceil(exact - np.float32(1e-2)).astype(np.int64)
    # Where two contribute alike, the axis itself or else the first one decides.
    order = np.arange(3)
    largest = share.max(axis=2)
    own = share[:, order, order] >= largest
    dominant = np.where(own, order, share.argmax(axis=2))
    parity = np.take_along_axis(np.asarray(sizes)[:, ::-1], dominant, axis=1) % 2
    return agreed_sizes(raw, parity, frames)[:, ::-1]


def rotation_matrices(axes: Array, angles: Array, sizes: Array, out_sizes: Array) -> Array:
    """Maps for :func:`warp_volumes` that rotate about the centre, ``float32[N, 12]``; sizes are D, H, W."""
    matrix = rotations(axes, -np.asarray(angles, np.float32))
    centre = np.asarray(sizes)[:, ::-1].astype(np.float32) * np.float32(0.5)
    corner = np.asarray(out_sizes)[:, ::-1].astype(np.float32) * np.float32(-0.5)
    terms = matrix * corner[:, None, :]
    offset = ((terms[..., 0] + terms[..., 1]) + terms[..., 2]) + centre
    return np.concatenate([matrix, offset[..., None]], axis=2).reshape(-1, 12)


@kernel
def _invert(matrices: Array, inverses: Array, exists: Array) -> None:
    for i in range(matrices.shape[0]):
        a = matrices[i, :, :3].copy()
        b = np.eye(3, dtype=np.float32)
        for v in range(3):
            pivot = v
            for row in range(v + 1, 3):
                if abs(a[row, v]) > abs(a[pivot, v]):
                    pivot = row
            if a[pivot, v] == 0:
                exists[i] = False
                break
            for j in range(3):
                a[v, j], a[pivot, j] = a[pivot, j], a[v, j]
                b[v, j], b[pivot, j] = b[pivot, j], b[v, j]
            factor = np.float32(1) / a[v, v]
            for j in range(3):
                a[v, j] *= factor
                b[v, j] *= factor
            for row in range(3):
                if row == v:
                    continue
                share = -a[row, v]
                for j in range(3):
                    a[row, j] = fused_multiply_add(share, a[v, j], a[row, j])
                    b[row, j] = fused_multiply_add(share, b[v, j], b[row, j])
        for row in range(3):
            copy_row(b[row], inverses[i, row, :3])
            x, y, z = (b[row, 0] * matrices[i, 0, 3], b[row, 1] * matrices[i, 1, 3], b[row, 2] * matrices[i, 2, 3])
            inverses[i, row, 3] = -((x + y) + z)


def inverted(matrices: Array) -> tuple[Array, Array]:
    """The inverses of ``float32[N, 12]`` maps, and which of them there are.

    By elimination in float32 with the largest pivot of a column, as NVIDIA DALI does it.
    """
    table = np.ascontiguousarray(matrices, np.float32).reshape(-1, 3, 4)
    inverses, exists = np.zeros_like(table), np.ones(len(table), np.bool_)
    _invert(table, inverses, exists)
    return inverses.reshape(-1, 12), exists
