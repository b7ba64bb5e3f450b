"""Bayer patterns in NumPy: bit for bit what the kernel gives, for the batches that come before it is compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_in_memory


def debayer(
    src: Array, dst: Array, sizes: Array, positions: Array, edges: bool, gray: tuple[int, int, int] | None, like: Array
) -> None:
    """Do what :func:`~dali_lab.kernels.cpu.debayer.debayer` asks of its kernel.

    Parameters
    ----------
    edges
        Whether green is taken along edges.
    gray
        Shares of red, green and blue where brightness is wanted.
    """
    for i, (height, width) in enumerate(sizes.tolist()):
        source = array_in_memory(src[i], (height, width), like).astype(np.uint32)
        target = array_in_memory(dst[i], (height, width, 3 if gray is None else 1), like)
        if min(height, width) <= 2:
            target[:] = 0
            continue
        for y in range(2):
            blue_row = y == positions[i, 0]
            green = 0 if blue_row != (positions[i, 1] == 0) else 1
            for first, place in ((True, green), (False, 1 - green)):
                pixels = _Pixels(source, 1 + y, 1 + place)
                across, down = (2, 0) if blue_row else (0, 2)
                goal = target[1 + y : height - 1 : 2, 1 + place : width - 1 : 2]
                if gray is not None:
                    goal[..., 0] = pixels.brightness(first, gray[across], gray[1], gray[down])
                else:
                    goal[..., across], goal[..., 1], goal[..., down] = pixels.colors(first, edges)
        target[:, 0], target[:, -1] = target[:, 1], target[:, -2]
        target[0], target[-1] = target[1], target[-2]


def along_colors(src: Array, dst: Array, sizes: Array, positions: Array, like: Array) -> None:
    """Do what :func:`~dali_lab.kernels.cpu.debayer.debayer` asks of its kernel for "along_colors"."""
    for i, (height, width) in enumerate(sizes.tolist()):
        source = array_in_memory(src[i], (height, width), like).astype(np.int64)
        target = array_in_memory(dst[i], (height, width, 3), like)
        wide = np.pad(source, 2, "reflect")

        def moved(down: int, across: int, wide: Array = wide, height: int = height, width: int = width) -> Array:
            return wide[2 + down : 2 + down + height, 2 + across : 2 + across + width]

        beside, over = moved(0, -1) + moved(0, 1), moved(-1, 0) + moved(1, 0)
        corners = (moved(-1, -1) + moved(-1, 1) + moved(1, -1) + moved(1, 1)) // 4
        change = abs(source - (moved(0, -2) + moved(0, 2)) // 2) - abs(source - (moved(-2, 0) + moved(2, 0)) // 2)
        green = np.where(change < 0, beside // 2, np.where(change > 0, over // 2, (beside + over) // 4))
        blue_row = ((np.arange(height) + 1) % 2 == positions[i, 0])[:, None]
        seen_green = blue_row != ((np.arange(width) + 1) % 2 == positions[i, 1])
        across, down = np.where(seen_green, beside // 2, source), np.where(seen_green, over // 2, corners)
        target[..., 0] = np.where(blue_row, down, across)
        target[..., 1] = np.where(seen_green, source, green)
        target[..., 2] = np.where(blue_row, across, down)


class _Pixels:
    """Every second pixel of every second row from a place on, and sums of those around each."""

    def __init__(self, source: Array, row: int, column: int) -> None:
        height, width = source.shape

        def moved(down: int, across: int) -> Array:
            return source[row + down : height - 1 + down : 2, column + across : width - 1 + across : 2]

        self.here = moved(0, 0)
        self.left, self.right, self.over, self.under = moved(0, -1), moved(0, 1), moved(-1, 0), moved(1, 0)
        self.beside, self.above = self.left + self.right, self.over + self.under
        self.corners = moved(-1, -1) + moved(-1, 1) + moved(1, -1) + moved(1, 1)

    def colors(self, green: bool, edges: bool) -> tuple[Array, Array, Array]:
        """The colour that others of the row have seen, green, and the third; `green` says what these have seen."""
        if green:
            return (self.beside + 1) >> 1, self.here, (self.above + 1) >> 1
        middle = (self.beside + self.above + 2) >> 2
        if edges:
            across, down = (
                np.maximum(*pair) - np.minimum(*pair) for pair in ((self.left, self.right), (self.over, self.under))
            )
            middle = (np.where(across > down, self.above, self.beside) + 1) >> 1
        return self.here, middle, (self.corners + 2) >> 2

    def brightness(self, seen_green: bool, across: int, green: int, down: int) -> Array:
        """The weighted sum of what :meth:`colors` has, rounded once."""
        across_, green_, down_ = np.uint32(across), np.uint32(green), np.uint32(down)
        if seen_green:
            total: Array = self.beside * across_ + self.above * down_ + self.here * (2 * green_)
            return (total + np.uint32(1 << 14)) >> np.uint32(15)
        total = self.corners * down_ + self.here * (4 * across_) + (self.beside + self.above) * green_
        return (total + np.uint32(1 << 15)) >> np.uint32(16)
