"""JPEG artifacts: pictures compressed and unpacked with the numbers of libjpeg, without writing a file.

Luma keeps its resolution, chroma half of it; blocks of 8 × 8 are transformed, rounded to multiples of a table's steps
and transformed back. What compression does without loss is left out. The integers are those of libjpeg's exact
transforms, its averages and its interpolation of chroma.

Transforms work on tiles of :data:`_BLOCKS` blocks that lie beside each other. In a tile, ``int32[column][row][block]``,
equal coefficients are neighbours, so that each step is one of vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Integer, Real
from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.machine.instructions import mix_colors, shift_right
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part, rows

# Steps for a quality of 50: ITU-T T.81, tables K.1 (luma) and K.2 (chroma).
_LUMA = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip
_CHROMA = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99, *(99,) * 32,
)  # fmt: skip

_BLOCKS = 16
_TILE = 64 * _BLOCKS
_COLUMN = 8 * _BLOCKS
_bytes = like(np.uint8)


def steps(quality: Array) -> Array:
    """The steps of coefficients for qualities from 1 to 100, ``int32[N, 2, 64]``: for luma and for chroma, by rows."""
    level = np.asarray(quality, np.int64)
    percent = np.where(level < 50, 5000 // np.maximum(level, 1), 200 - 2 * level)
    scaled = (np.array([_LUMA, _CHROMA], np.int64) * percent[:, None, None] + 50) // 100
    return np.clip(scaled, 1, 255).astype(np.int32)


def jpeg_round_trip(src: Array, dst: Array, sizes: Array, quality: Array) -> None:
    """Compress RGB pictures of uint8 and unpack them again.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    sizes
        ``int64[N, 2]``: height and width.
    quality
        ``int64[N]``, from 1 to 100.
    """
    levels, which = np.unique(quality, return_inverse=True)
    _round_trip(rows(src), rows(dst), rows(sizes), steps(levels), rows(which.reshape(-1)))


def ready() -> bool:
    """Whether :func:`jpeg_round_trip` need not wait for the compiler; if not, it is being compiled from now on."""
    table = np.zeros(0, np.int64)
    return background.ready(_round_trip, table, table, np.zeros((0, 2), np.int64), steps(table), table)


@inner_part
def _descale(value: Integer, bits: int) -> Any:
    """A number with `bits` fewer, rounded."""
    return shift_right(np.int32(value + (1 << (bits - 1))), np.int32(bits))


@inner_part
def _forward(
    a: Integer, b: Integer, c: Integer, d: Integer, e: Integer, f: Integer, g: Integer, h: Integer, bits: int
) -> Any:
    """Transform eight samples; `bits` more are lost than in a transform whose results are scaled by 4."""
    s0, s1, s2, s3 = np.int32(a + h), np.int32(b + g), np.int32(c + f), np.int32(d + e)
    d0, d1, d2, d3 = np.int32(a - h), np.int32(b - g), np.int32(c - f), np.int32(d - e)
    even0, even1, even2, even3 = np.int32(s0 + s3), np.int32(s1 + s2), np.int32(s1 - s2), np.int32(s0 - s3)
    turned = np.int32((even2 + even3) * 4433)
    z1, z2 = np.int32(-7373 * (d3 + d0)), np.int32(-20995 * (d2 + d1))
    z5 = np.int32((d3 + d1 + d2 + d0) * 9633)
    z3, z4 = np.int32(z5 - 16069 * (d3 + d1)), np.int32(z5 - 3196 * (d2 + d0))
    shift = 11 + bits
    if bits:
        first, fifth = _descale(even0 + even1, bits - 2), _descale(even0 - even1, bits - 2)
    else:
        first, fifth = np.int32((even0 + even1) * 4), np.int32((even0 - even1) * 4)
    return (
        first,
        _descale(d0 * 12299 + z1 + z4, shift),
        _descale(turned + even3 * 6270, shift),
        _descale(d1 * 25172 + z2 + z3, shift),
        fifth,
        _descale(d2 * 16819 + z2 + z4, shift),
        _descale(turned - even2 * 15137, shift),
        _descale(d3 * 2446 + z1 + z3, shift),
    )


@inner_part
def _inverse(
    a: Integer, b: Integer, c: Integer, d: Integer, e: Integer, f: Integer, g: Integer, h: Integer, shift: int
) -> Any:
    """Transform eight coefficients back, scaled down by so many bits."""
    turned = np.int32((c + g) * 4433)
    even2, even3 = np.int32(turned - g * 15137), np.int32(turned + c * 6270)
    even0, even1 = np.int32((a + e) * 8192), np.int32((a - e) * 8192)
    t0, t3 = np.int32(even0 + even3), np.int32(even0 - even3)
    t1, t2 = np.int32(even1 + even2), np.int32(even1 - even2)
    z1, z2 = np.int32(-7373 * (h + b)), np.int32(-20995 * (f + d))
    z5 = np.int32((h + d + f + b) * 9633)
    z3, z4 = np.int32(z5 - 16069 * (h + d)), np.int32(z5 - 3196 * (f + b))
    u0, u1 = np.int32(h * 2446 + z1 + z3), np.int32(f * 16819 + z2 + z4)
    u2, u3 = np.int32(d * 25172 + z2 + z3), np.int32(b * 12299 + z1 + z4)
    return (
        _descale(t0 + u3, shift),
        _descale(t1 + u2, shift),
        _descale(t2 + u1, shift),
        _descale(t3 + u0, shift),
        _descale(t3 - u0, shift),
        _descale(t2 - u1, shift),
        _descale(t1 - u2, shift),
        _descale(t0 - u3, shift),
    )


@inner_part
def _rounded(value: int, step: Integer, share: Real) -> Any:
    """The multiple of `step` next to a coefficient, which is 8 times as large as the step counts.

    `share` is 1 / (8 · step). A half is added before the product is cut off: the numbers are below 2¹⁶, so that no
    rounding of the product reaches a whole number.
    """
    size = np.int32((np.float32(np.int32(abs(value) + 4 * step)) + np.float32(0.5)) * share)
    return np.int32((-size if value < 0 else size) * step)


@inner_part
def _short(value: np.int32) -> Any:
    return np.int32(max(np.int32(-32768), min(np.int32(32767), value)))


@inner_part
def _byte(value: Integer) -> Any:
    return np.uint8(max(np.int32(0), min(np.int32(255), np.int32(value))))


@part
def _compress_tile(tile: Array, table: Array) -> None:
    """Round the coefficients of a tile; samples are about 0 before it, and from 0 to 255 after it."""
    for j in range(_COLUMN):
        out = _forward(
            tile[j], tile[j + _COLUMN], tile[j + 2 * _COLUMN], tile[j + 3 * _COLUMN],
            tile[j + 4 * _COLUMN], tile[j + 5 * _COLUMN], tile[j + 6 * _COLUMN], tile[j + 7 * _COLUMN], 0,
        )  # fmt: skip
        tile[j], tile[j + _COLUMN], tile[j + 2 * _COLUMN], tile[j + 3 * _COLUMN] = out[0], out[1], out[2], out[3]
        tile[j + 4 * _COLUMN], tile[j + 5 * _COLUMN] = out[4], out[5]
        tile[j + 6 * _COLUMN], tile[j + 7 * _COLUMN] = out[6], out[7]
    for c in range(8):
        column = tile[c * _COLUMN : (c + 1) * _COLUMN]
        s0, s1, s2, s3 = table[c], table[c + 8], table[c + 16], table[c + 24]
        s4, s5, s6, s7 = table[c + 32], table[c + 40], table[c + 48], table[c + 56]
        p0, p1, p2, p3 = _share(s0), _share(s1), _share(s2), _share(s3)
        p4, p5, p6, p7 = _share(s4), _share(s5), _share(s6), _share(s7)
        for b in range(_BLOCKS):
            level = _forward(
                column[b], column[b + _BLOCKS], column[b + 2 * _BLOCKS], column[b + 3 * _BLOCKS],
                column[b + 4 * _BLOCKS], column[b + 5 * _BLOCKS], column[b + 6 * _BLOCKS], column[b + 7 * _BLOCKS], 4,
            )  # fmt: skip
            out = _inverse(
                _rounded(level[0], s0, p0), _rounded(level[1], s1, p1),
                _rounded(level[2], s2, p2), _rounded(level[3], s3, p3),
                _rounded(level[4], s4, p4), _rounded(level[5], s5, p5),
                _rounded(level[6], s6, p6), _rounded(level[7], s7, p7), 11,
            )  # fmt: skip
            column[b], column[b + _BLOCKS] = _short(out[0]), _short(out[1])
            column[b + 2 * _BLOCKS], column[b + 3 * _BLOCKS] = _short(out[2]), _short(out[3])
            column[b + 4 * _BLOCKS], column[b + 5 * _BLOCKS] = _short(out[4]), _short(out[5])
            column[b + 6 * _BLOCKS], column[b + 7 * _BLOCKS] = _short(out[6]), _short(out[7])
    for j in range(_COLUMN):
        out = _inverse(
            tile[j], tile[j + _COLUMN], tile[j + 2 * _COLUMN], tile[j + 3 * _COLUMN],
            tile[j + 4 * _COLUMN], tile[j + 5 * _COLUMN], tile[j + 6 * _COLUMN], tile[j + 7 * _COLUMN], 18,
        )  # fmt: skip
        for c in range(8):
            tile[j + c * _COLUMN] = out[c] + 128


@inner_part
def _share(step: int) -> Any:
    return np.float32(1) / np.float32(np.int32(8 * step))


@part
def _compress_plane(plane: Array, tile: Array, table: Array) -> None:
    """Compress a plane of levels in place, ``uint8[rows, columns]`` of whole blocks."""
    height, width = plane.shape
    for top in range(0, height, 8):
        for left in range(0, width, 8 * _BLOCKS):
            blocks = min(_BLOCKS, (width - left) // 8)
            for r in range(8):
                line = plane[top + r, left:]
                for b in range(blocks):
                    for c in range(8):
                        tile[c * _COLUMN + r * _BLOCKS + b] = np.int32(line[8 * b + c]) - np.int32(128)
            _compress_tile(tile, table)
            for r in range(8):
                line = plane[top + r, left:]
                for b in range(blocks):
                    for c in range(8):
                        line[8 * b + c] = _byte(tile[c * _COLUMN + r * _BLOCKS + b])


@part
def _convert_row(pixels: Array, luma: Array, blue: Array, red: Array) -> None:
    """The colours of a row of pixels; the last is repeated to the end of the lines."""
    width = pixels.shape[0] // 3
    middle = (128 << 16) + 32767
    for x in range(width):
        r, g, b = np.int32(pixels[3 * x]), np.int32(pixels[3 * x + 1]), np.int32(pixels[3 * x + 2])
        luma[x] = np.uint8(mix_colors(r, g, b, 19595, 38470, 7471, 32768))
        blue[x] = np.uint8(mix_colors(r, g, b, -11059, -21709, 32768, middle))
        red[x] = np.uint8(mix_colors(r, g, b, 32768, -27439, -5329, middle))
    for x in range(width, luma.shape[0]):
        luma[x] = luma[width - 1]
    for x in range(width, blue.shape[0]):
        blue[x], red[x] = blue[width - 1], red[width - 1]


@part
def _average(above: Array, below: Array, out: Array) -> None:
    """A row of chroma from two of full resolution: halves are rounded down and up in turn."""
    for x in range(out.shape[0]):
        total = np.int32(above[2 * x]) + np.int32(above[2 * x + 1])
        total += np.int32(below[2 * x]) + np.int32(below[2 * x + 1])
        out[x] = np.uint8(shift_right(np.int32(total + 1 + (x & 1)), np.int32(2)))


@part
def _repeat_last(plane: Array, count: int) -> None:
    """Fill what is below the first rows of a plane with the last of them."""
    for y in range(count, plane.shape[0]):
        for x in range(plane.shape[1]):
            plane[y, x] = plane[count - 1, x]


@part
def _separate(picture: Array, luma: Array, blue: Array, red: Array, lines: Array) -> None:
    """The planes of a picture, ``uint8[height, 3 · width]``; its last row is repeated to the end of theirs."""
    height = picture.shape[0]
    for y in range(0, height, 2):
        for k in range(2):
            # The planes have an even number of rows.
            _convert_row(picture[min(y + k, height - 1)], luma[y + k], lines[1 + 2 * k], lines[2 + 2 * k])
        _average(lines[1], lines[3], blue[y // 2])
        _average(lines[2], lines[4], red[y // 2])
    _repeat_last(luma, height)
    _repeat_last(blue, (height + 1) // 2)
    _repeat_last(red, (height + 1) // 2)


@part
def _stretch(here: Array, beside: Array, mixed: Array, out: Array) -> None:
    """A row of chroma in full resolution: three quarters of the nearest sample and one of the next, along both axes."""
    columns = mixed.shape[0]
    for x in range(columns):
        mixed[x] = np.int32(here[x]) * np.int32(3) + np.int32(beside[x])
    out[0] = np.uint8(shift_right(np.int32(4 * mixed[0] + 8), np.int32(4)))
    for x in range(1, columns):
        near, before = mixed[x], mixed[x - 1]
        out[2 * x - 1] = np.uint8(shift_right(np.int32(3 * before + near + 7), np.int32(4)))
        out[2 * x] = np.uint8(shift_right(np.int32(3 * near + before + 8), np.int32(4)))
    out[2 * columns - 1] = np.uint8(shift_right(np.int32(4 * mixed[columns - 1] + 7), np.int32(4)))


@part
def _put_row(luma: Array, blues: Array, reds: Array, pixels: Array) -> None:
    """Pixels from their colours."""
    for x in range(pixels.shape[0] // 3):
        level = np.int32(luma[x])
        blue, red = np.int32(np.int32(blues[x]) - 128), np.int32(np.int32(reds[x]) - 128)
        pixels[3 * x] = _byte(mix_colors(level, blue, red, 65536, 0, 91881, 32768))
        pixels[3 * x + 1] = _byte(mix_colors(level, blue, red, 65536, -22554, -46802, 32768))
        pixels[3 * x + 2] = _byte(mix_colors(level, blue, red, 65536, 116130, 0, 32768))


@part
def _put_together(luma: Array, blue: Array, red: Array, picture: Array, lines: Array, mixed: Array) -> None:
    """A picture from its planes."""
    height, width = picture.shape[0], picture.shape[1] // 3
    down, along = (height + 1) // 2, (width + 1) // 2
    for y in range(height):
        near = y // 2
        beside = max(0, min(down - 1, near + 1 if y & 1 else near - 1))
        if along <= 2:
            for x in range(width):
                lines[1, x], lines[2, x] = blue[near, x // 2], red[near, x // 2]
        else:
            _stretch(blue[near], blue[beside], mixed[:along], lines[1])
            _stretch(red[near], red[beside], mixed[:along], lines[2])
        _put_row(luma[y], lines[1], lines[2], picture[y])


@kernel
def _round_trip(src: Array, dst: Array, sizes: Array, tables: Array, which: Array) -> None:
    most, widest = 0, 0
    for i in range(src.shape[0]):
        height, width = (sizes[i, 0] + 15) // 16 * 16, (sizes[i, 1] + 15) // 16 * 16
        most, widest = max(most, height * width), max(widest, width)
    room = np.empty(most + most // 2, np.uint8)
    lines = np.empty((5, widest), np.uint8)
    mixed = np.empty(widest, np.int32)
    tile = np.zeros(_TILE, np.int32)
    for i in range(src.shape[0]):
        height, width = sizes[i, 0], sizes[i, 1]
        down, along = (height + 7) // 8 * 8, (width + 7) // 8 * 8
        luma = room[: down * along].reshape((down, along))
        down, along = (height + 15) // 16 * 8, (width + 15) // 16 * 8
        start, size = luma.size, down * along
        blue = room[start : start + size].reshape((down, along))
        red = room[start + size : start + 2 * size].reshape((down, along))
        _separate(array_at(src[i], (height, width * 3), _bytes), luma, blue, red, lines[:, : 2 * along])
        _compress_plane(luma, tile, tables[which[i], 0])
        _compress_plane(blue, tile, tables[which[i], 1])
        _compress_plane(red, tile, tables[which[i], 1])
        _put_together(luma, blue, red, array_at(dst[i], (height, width * 3), _bytes), lines, mixed)
