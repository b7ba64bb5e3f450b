"""GridMask: blanks the squares of a grid."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, like_size, rows


@kernel
def _grid_mask(
    src: Array, dst: Array, shapes: Array, cosines: Array, sines: Array, starts: Array, ratios: Array, item: Array
) -> None:
    for i in range(src.shape[0]):
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        total = height * width * channels
        source = array_at(src[i], (total,), item)
        target = array_at(dst[i], (total,), item)
        cosine, sine, ratio = cosines[i], sines[i], ratios[i]
        zero = source.dtype.type(0)
        for y in range(height):
            row = np.float32(y)
            first_u = starts[i, 0] - row * sine
            first_v = starts[i, 1] + row * cosine
            for x in range(width):
                column = np.float32(x)
                u = first_u + column * cosine
                v = first_v + column * sine
                keep = u - np.floor(u) >= ratio or v - np.floor(v) >= ratio
                at = (y * width + x) * channels
                for c in range(channels):
                    target[at + c] = source[at + c] if keep else zero


def grid_mask(
    src: Array, dst: Array, shapes: Array, tile: Array, ratio: Array, angle: Array, shift_x: Array, shift_y: Array,
    item_size: int,
) -> None:  # fmt: skip
    """Copy images and set the pixels in the squares of a grid to zero.

    A pixel ``(x, y)`` is at ``u = (x cos a − y sin a − shift_x) / tile`` and ``v = (x sin a + y cos a − shift_y) /
    tile`` of the grid; it is blanked where the fractions of both lie below the ratio.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes
        ``int64[N, 3]``: height, width, channels.
    tile, ratio, angle, shift_x, shift_y
        ``float32[N]``: period of the grid, share of it that a square takes, angle in radians, shift in pixels.
    item_size
        Bytes of an element.
    """
    cosines, sines, starts = grid_steps(tile, angle, shift_x, shift_y)
    _grid_mask(
        rows(src), rows(dst), rows(shapes), rows(cosines, np.float32), rows(sines, np.float32),
        rows(starts, np.float32), rows(ratio, np.float32), like_size(item_size),
    )  # fmt: skip


def grid_steps(tile: Array, angle: Array, shift_x: Array, shift_y: Array) -> tuple[Array, Array, Array]:
    """Steps of grid positions along x and y, ``float32[N]`` both, and where they begin, ``float32[N, 2]``."""
    tile, angle = np.asarray(tile, np.float32), np.asarray(angle, np.float32)
    cosines = np.cos(angle.astype(np.float64)).astype(np.float32) / tile
    sines = np.sin(angle.astype(np.float64)).astype(np.float32) / tile
    starts = -np.stack([np.asarray(shift_x, np.float32) / tile, np.asarray(shift_y, np.float32) / tile], axis=1)
    return cosines, sines, starts
