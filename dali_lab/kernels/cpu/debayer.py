"""Colour images from Bayer patterns, with the numbers of OpenCV, or in the way of NPP."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.memory import array_at, array_in_memory, copy_row, inner_part, kernel, like, rows
from dali_lab.model import extras

ALGORITHMS = ("bilinear", "edge_aware", "gray", "along_colors")
_BILINEAR, _EDGE_AWARE, _GRAY, _ALONG_COLORS = range(len(ALGORITHMS))
_RED, _GREEN, _BLUE = 4899, 9617, 1868
"""Shares of the colours in brightness, of 16384."""
_TILES = ("BG", "GB", "GR", "RG")
_CODES = {_BILINEAR: "RGB", _EDGE_AWARE: "RGB_EA", _GRAY: "GRAY"}
"""OpenCV's names, by the position of blue and by the algorithm."""


def debayer(src: Array, dst: Array, sizes: Array, positions: Array, algorithm: str, dtype: npt.DTypeLike) -> None:
    """Make RGB images, or gray ones.

    Pixels of the edge are those next to them inside; images without an inside, of two rows or columns, become 0.
    "along_colors" reflects the image at its edges instead, and takes green from above and below, or from both sides,
    wherever the colour that a pixel has seen changes less; means are rounded down.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    sizes
        ``int64[N, 2]``: height and width, even.
    positions
        ``int64[N, 2]``: row and column of blue in the tile that begins in the second row and column.
    algorithm
        One of :data:`ALGORITHMS`.
    dtype
        uint8 or uint16.
    """
    arguments = rows(src), rows(dst), rows(sizes), rows(positions), ALGORITHMS.index(algorithm), like(dtype)
    if algorithm != "along_colors" and not extras.installed("cv2"):
        _debayer(*arguments)
    else:
        background.call(_debayer, *arguments, meanwhile=_before_compiled)


def _before_compiled(src: Array, dst: Array, sizes: Array, positions: Array, algorithm: int, like: Array) -> None:
    """The same bits, until the kernel is compiled: by OpenCV, which is slower for large images of uint16."""
    import cv2

    if algorithm == _ALONG_COLORS:
        _along_colors_in_numpy(src, dst, sizes, positions, like)
        return
    for i, (height, width) in enumerate(sizes.tolist()):
        source = array_in_memory(src[i], (height, width), like)
        target = array_in_memory(dst[i], (height, width) if algorithm == _GRAY else (height, width, 3), like)
        if min(height, width) <= 2:
            target[:] = 0
            continue
        row, column = positions[i].tolist()
        cv2.cvtColor(source, getattr(cv2, f"COLOR_Bayer{_TILES[2 * row + column]}2{_CODES[algorithm]}"), target)


def _along_colors_in_numpy(src: Array, dst: Array, sizes: Array, positions: Array, like: Array) -> None:
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


@kernel
def _debayer(src: Array, dst: Array, sizes: Array, positions: Array, algorithm: int, like: Array) -> None:
    channels = 1 if algorithm == _GRAY else 3
    for i in range(src.shape[0]):
        height, width = sizes[i, 0], sizes[i, 1]
        source = array_at(src[i], (height, width), like)
        target = array_at(dst[i], (height, width * channels), like)
        if algorithm == _ALONG_COLORS:
            _along_colors(source, target, positions[i, 0], positions[i, 1])
            continue
        if height <= 2 or width <= 2:
            target[:] = 0
            continue
        for y in range(1, height - 1):
            above, here, below, row = source[y - 1], source[y], source[y + 1], target[y]
            blue_row = (y - 1) & 1 == positions[i, 0]
            green_first = blue_row != (positions[i, 1] == 0)
            if algorithm == _GRAY:
                _gray_row(above, here, below, row, blue_row, green_first)
            elif algorithm == _EDGE_AWARE:
                _color_row(above, here, below, row, blue_row, green_first, True)
            else:
                _color_row(above, here, below, row, blue_row, green_first, False)
            for c in range(channels):
                row[c] = row[channels + c]
                row[(width - 1) * channels + c] = row[(width - 2) * channels + c]
        copy_row(target[1], target[0])
        copy_row(target[height - 2], target[height - 1])


@inner_part
def _mirrored(index: int, size: int) -> Any:
    """An index of up to two beyond the first or the last element, of two at least."""
    index = abs(index)
    return abs(2 * size - 2 - index) if index >= size else index


@inner_part
def _along_colors(source: Array, target: Array, blue_row: int, blue_column: int) -> None:
    height, width = source.shape
    for y in range(height):
        above, here, below = source[_mirrored(y - 1, height)], source[y], source[_mirrored(y + 1, height)]
        far_above, far_below = source[_mirrored(y - 2, height)], source[_mirrored(y + 2, height)]
        out = target[y]
        row = (y + 1) % 2 == blue_row
        across, down = (2, 0) if row else (0, 2)
        for x in range(width):
            left, right = _mirrored(x - 1, width), _mirrored(x + 1, width)
            seen = np.int64(here[x])
            beside, over = np.int64(here[left]) + here[right], np.int64(above[x]) + below[x]
            if row != ((x + 1) % 2 == blue_column):
                out[3 * x + across] = beside // 2
                out[3 * x + 1] = seen
                out[3 * x + down] = over // 2
                continue
            far_beside = np.int64(here[_mirrored(x - 2, width)]) + here[_mirrored(x + 2, width)]
            change = abs(seen - far_beside // 2) - abs(seen - (np.int64(far_above[x]) + far_below[x]) // 2)
            out[3 * x + across] = seen
            out[3 * x + 1] = beside // 2 if change < 0 else over // 2 if change > 0 else (beside + over) // 4
            out[3 * x + down] = (np.int64(above[left]) + above[right] + below[left] + below[right]) // 4


@inner_part
def _at(row: Array, x: int) -> Any:
    return np.uint32(row[np.uintp(x)])


@inner_part
def _color_row(
    above: Array, here: Array, below: Array, out: Array, blue_row: bool, green_first: bool, edges: bool
) -> None:
    """The pixels of a row but the first and the last, as loops without conditions."""
    if blue_row:
        if green_first:
            _pairs(above, here, below, out, 1, 2, 2, 0, edges)
        else:
            _pairs(above, here, below, out, 2, 1, 2, 0, edges)
    elif green_first:
        _pairs(above, here, below, out, 1, 2, 0, 2, edges)
    else:
        _pairs(above, here, below, out, 2, 1, 0, 2, edges)


@inner_part
def _pairs(
    above: Array, here: Array, below: Array, out: Array, green: int, other: int, across: int, down: int,
    edges: bool,
) -> None:  # fmt: skip
    """Pixels that have seen green, from column `green` on, and the others, from `other` on.

    `across` is the channel that the others of the row have seen, `down` the third one.
    """
    for k in range((here.shape[0] - 2) // 2):
        x = green + 2 * k
        out[np.uintp(3 * x + 1)] = here[np.uintp(x)]
        out[np.uintp(3 * x + across)] = (_at(here, x - 1) + _at(here, x + 1) + np.uint32(1)) >> np.uint32(1)
        out[np.uintp(3 * x + down)] = (_at(above, x) + _at(below, x) + np.uint32(1)) >> np.uint32(1)
        x = other + 2 * k
        left, right, over, under = _at(here, x - 1), _at(here, x + 1), _at(above, x), _at(below, x)
        corners = _at(above, x - 1) + _at(above, x + 1) + _at(below, x - 1) + _at(below, x + 1)
        out[np.uintp(3 * x + across)] = here[np.uintp(x)]
        out[np.uintp(3 * x + down)] = (corners + np.uint32(2)) >> np.uint32(2)
        if edges:
            rough = max(left, right) - min(left, right) > max(over, under) - min(over, under)
            mean = (over + under if rough else left + right) + np.uint32(1)
            out[np.uintp(3 * x + 1)] = mean >> np.uint32(1)
        else:
            out[np.uintp(3 * x + 1)] = (left + right + over + under + np.uint32(2)) >> np.uint32(2)


@inner_part
def _gray_row(above: Array, here: Array, below: Array, out: Array, blue_row: bool, green_first: bool) -> None:
    if blue_row:
        if green_first:
            _gray_pairs(above, here, below, out, 1, 2, _BLUE, _RED)
        else:
            _gray_pairs(above, here, below, out, 2, 1, _BLUE, _RED)
    elif green_first:
        _gray_pairs(above, here, below, out, 1, 2, _RED, _BLUE)
    else:
        _gray_pairs(above, here, below, out, 2, 1, _RED, _BLUE)


@inner_part
def _gray_pairs(
    above: Array, here: Array, below: Array, out: Array, green: int, other: int, across: int, down: int
) -> None:
    """Brightness of the pixels of a row, as in :func:`_pairs`; `across` and `down` are the shares of the colours."""
    for k in range((here.shape[0] - 2) // 2):
        x = green + 2 * k
        beside, over = _at(here, x - 1) + _at(here, x + 1), _at(above, x) + _at(below, x)
        total = beside * np.uint32(across) + over * np.uint32(down) + _at(here, x) * np.uint32(2 * _GREEN)
        out[np.uintp(x)] = (total + np.uint32(1 << 14)) >> np.uint32(15)
        x = other + 2 * k
        cross = _at(here, x - 1) + _at(here, x + 1) + _at(above, x) + _at(below, x)
        corners = _at(above, x - 1) + _at(above, x + 1) + _at(below, x - 1) + _at(below, x + 1)
        total = corners * np.uint32(down) + _at(here, x) * np.uint32(4 * across) + cross * np.uint32(_GREEN)
        out[np.uintp(x)] = (total + np.uint32(1 << 15)) >> np.uint32(16)
