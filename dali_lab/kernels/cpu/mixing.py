"""Samples mixed with each other: blended, or with a window of one pasted into the other."""

from __future__ import annotations

import math

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel


@kernel
def blend(first: Array, second: Array, dst: Array, counts: Array, shares: Array, rounded: bool, like: Array) -> None:
    """``share · first + (1 - share) · second`` of each pair of samples; `rounded` for whole numbers from 0 on."""
    for i in range(first.shape[0]):
        n = counts[i]
        a = array_at(first[i], (n,), like)
        b = array_at(second[i], (n,), like)
        out = array_at(dst[i], (n,), like)
        share = shares[i]
        rest = np.float32(1) - share
        for t in range(n):
            value = np.float32(a[t]) * share + np.float32(b[t]) * rest
            if rounded:
                out[t] = math.floor(value + np.float32(0.5))
            else:
                out[t] = value


@kernel
def paste(src: Array, src_shapes: Array, dst: Array, dst_shapes: Array, places: Array, like: Array) -> None:
    """Copy a window of each source into its target.

    Parameters
    ----------
    src_shapes, dst_shapes
        ``int64[N, 4]``: planes, height, width, bytes of a pixel; planes and bytes agree.
    places
        ``int64[N, 6]``: y and x in the source, y and x in the target, height and width.
    like
        A ``uint8`` array.
    """
    for i in range(src.shape[0]):
        planes, pixel = src_shapes[i, 0], src_shapes[i, 3]
        a = array_at(src[i], (planes, src_shapes[i, 1], src_shapes[i, 2] * pixel), like)
        b = array_at(dst[i], (planes, dst_shapes[i, 1], dst_shapes[i, 2] * pixel), like)
        from_x, to_x, length = places[i, 1] * pixel, places[i, 3] * pixel, places[i, 5] * pixel
        for p in range(planes):
            for y in range(places[i, 4]):
                for x in range(length):
                    b[p, places[i, 2] + y, to_x + x] = a[p, places[i, 0] + y, from_x + x]
