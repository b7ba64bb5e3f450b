"""Affine transforms of a chunk: matrices ``float32[N, d, d + 1]``, made and multiplied in NVIDIA DALI's order.

`centers` are points that stay where they are, ``float32[N, d]``, or empty for the origin.
"""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel, part


@part
def _keep(matrix: Array, center: Array) -> None:
    """Choose the offset so that a point stays where it is."""
    ndim = matrix.shape[0]
    for i in range(ndim):
        moved = matrix[i, 0] * -center[0]
        for j in range(1, ndim):
            moved += matrix[i, j] * -center[j]
        matrix[i, ndim] = moved + center[i]


@kernel
def rotations(angles: Array, cosines: Array, sines: Array, axes: Array, centers: Array, out: Array) -> None:
    """Rotations of the plane, where `axes` is empty, or about ``axes[i]``."""
    for n in range(out.shape[0]):
        c, s, m = cosines[n], sines[n], out[n]
        m[:] = 0
        if not axes.shape[0]:
            m[0, 0], m[0, 1], m[1, 0], m[1, 1] = c, -s, s, c
        elif angles[n] == 0:
            m[0, 0], m[1, 1], m[2, 2] = 1, 1, 1
        else:
            length = np.sqrt((axes[n, 0] * axes[n, 0] + axes[n, 1] * axes[n, 1]) + axes[n, 2] * axes[n, 2])
            u, v, w = axes[n, 0] / length, axes[n, 1] / length, axes[n, 2] / length
            uu, vv, ww, rest = u * u, v * v, w * w, np.float32(1) - c
            m[0, 0], m[0, 1], m[0, 2] = uu + (vv + ww) * c, u * v * rest - w * s, u * w * rest + v * s
            m[1, 0], m[1, 1], m[1, 2] = u * v * rest + w * s, vv + (uu + ww) * c, v * w * rest - u * s
            m[2, 0], m[2, 1], m[2, 2] = u * w * rest - v * s, v * w * rest + u * s, ww + (uu + vv) * c
        if centers.shape[0]:
            _keep(m, centers[n])


@kernel
def scales(factors: Array, centers: Array, out: Array) -> None:
    """Stretches along the axes, ``factors`` ``float32[N, d]``."""
    for n in range(out.shape[0]):
        out[n] = 0
        for d in range(out.shape[1]):
            out[n, d, d] = factors[n, d]
            if centers.shape[0]:
                out[n, d, out.shape[1]] = (np.float32(1) - factors[n, d]) * centers[n, d]


@kernel
def shears(factors: Array, centers: Array, out: Array) -> None:
    """Shears, with the factors row by row: ``float32[N, d * (d - 1)]``."""
    for n in range(out.shape[0]):
        out[n] = 0
        place = 0
        for i in range(out.shape[1]):
            for j in range(out.shape[1]):
                if i == j:
                    out[n, i, j] = 1
                else:
                    out[n, i, j] = factors[n, place]
                    place += 1
        if centers.shape[0]:
            _keep(out[n], centers[n])


@kernel
def translations(offsets: Array, out: Array) -> None:
    """Moves by ``float32[N, d]``."""
    for n in range(out.shape[0]):
        out[n] = 0
        for d in range(out.shape[1]):
            out[n, d, d] = 1
            out[n, d, out.shape[1]] = offsets[n, d]


@kernel
def crops(low: Array, high: Array, to_low: Array, to_high: Array, ordered: bool, out: Array) -> None:
    """Maps from windows `low` to `high` to other windows; `ordered` exchanges ends that are the other way round."""
    for n in range(out.shape[0]):
        out[n] = 0
        for d in range(out.shape[1]):
            a, b, c, e = low[n, d], high[n, d], to_low[n, d], to_high[n, d]
            if ordered and a > b:
                a, b = b, a
            if ordered and c > e:
                c, e = e, c
            factor = (e - c) / (b - a)
            out[n, d, d] = factor
            out[n, d, out.shape[1]] = c - factor * a


@kernel
def combine(first: Array, second: Array, out: Array) -> None:
    """The transforms that do `first`, and then `second`."""
    ndim = out.shape[1]
    for n in range(out.shape[0]):
        for i in range(ndim):
            for j in range(ndim + 1):
                total = second[n, i, 0] * first[n, 0, j]
                for k in range(1, ndim):
                    total += second[n, i, k] * first[n, k, j]
                out[n, i, j] = total + (second[n, i, ndim] if j == ndim else np.float32(0))
