"""Pictures that are stored row by row, decoded a chunk in one call: BMP and PNM, and PNG once it is unpacked.

Their headers are read by :mod:`~dali_lab.kernels.cpu.raster_headers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb_types

from dali_lab.kernels.arrays import Array, Integer
from dali_lab.kernels.cpu.header_table import BMP, CHANNELS, ENTRIES, FORMAT, HEIGHT, PITCH, PIXEL, PNG, START
from dali_lab.kernels.cpu.machine.foreign import call0, call1, call3, call7, whole
from dali_lab.kernels.cpu.machine.row_vectors import four_bytes, nearest_bytes
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, part
from dali_lab.kernels.cpu.raster_headers import BYTES, IDAT, big, little

FUNCTIONS = (
    "libdeflate_alloc_decompressor",
    "libdeflate_free_decompressor",
    "libdeflate_zlib_decompress_ex",
    "libdeflate_crc32",
)
"""Functions of libdeflate that :func:`decode` calls, in this order."""
_NEW, _FREE, _UNPACK, _CHECK = range(len(FUNCTIONS))

AS_STORED, GRAY, RGB, BGR = range(4)
"""Colours that :func:`decode` gives."""

_BEYOND = 4
"""Bytes after the last row of a PNG picture that may be read."""
_memcpy: Any = nb_types.ExternalFunction("memcpy", nb_types.intp(nb_types.intp, nb_types.intp, nb_types.intp))


@part
def _gather(functions: Array, address: int, data: Array, packed: Array) -> Any:
    """Address and number of the compressed bytes of a PNG file; 0 if a checksum is wrong.

    Bytes of several chunks are put together in `packed`.
    """
    at, count, size, first = 8, 0, 0, 0
    while at < data.shape[0]:
        length, name = big(data, at), big(data, at + 4)
        wanted = big(data, at + 8 + length)
        if call3(functions[_CHECK], 0, address + at + 4, length + 4) & 0xFFFFFFFF != wanted:
            return 0, 0
        if name == IDAT and length > 0:
            if count == 0:
                first = at + 8
            elif count == 1:
                _memcpy(packed.ctypes.data, address + first, size)
            if count > 0:
                _memcpy(packed.ctypes.data + size, address + at + 8, length)
            count += 1
            size += length
        at += 12 + length
    return (address + first if count == 1 else packed.ctypes.data), size


@inner_part
def _unfilter_pixels(kind: Integer, at: int, above_at: int, row: Array, pixel: int) -> None:
    """Undo a filter that looks at the pixel before, whose bytes stay in parts of one number."""
    bytes_of = np.int64(0x00FF00FF00FF00FF)
    left, corner = np.int64(0), np.int64(0)
    for x in range(0, row.shape[0], pixel):
        rest, above = four_bytes(at + x), four_bytes(above_at + x)
        if kind == 1:
            left = (rest + left) & bytes_of
        elif kind == 3:
            left = (rest + (((left + above) >> 1) & bytes_of)) & bytes_of
        else:
            left = (rest + nearest_bytes(left, above, corner)) & bytes_of
        corner = above
        for k in range(pixel):
            row[np.uintp(x + k)] = np.uint8(left >> (16 * k))


@inner_part
def _unfilter_row(kind: Integer, at: int, above_at: int, row: Array, pixel: int) -> None:
    """Add to a row of PNG what its filter took from it."""
    if kind == 1:
        _unfilter_pixels(1, at, above_at, row, pixel)
    elif kind == 2:
        above = array_at(above_at, (row.shape[0],), row)
        for x in range(row.shape[0]):
            row[x] += above[x]
    elif kind == 3:
        _unfilter_pixels(3, at, above_at, row, pixel)
    elif kind == 4:
        _unfilter_pixels(4, at, above_at, row, pixel)


@part
def _unfilter(raw: int, height: int, pitch: int, pixel: int) -> Any:
    """Undo the filters of all rows of a PNG picture, each after a byte that names its filter; whether all are known.

    There is room for a row before them, and :data:`_BEYOND` bytes after them are read as well.
    """
    array_at(raw - pitch, (pitch,), BYTES)[:] = 0
    for y in range(height):
        at, above = raw + y * pitch + 1, raw + (y - 1) * pitch + 1
        row = array_at(at, (pitch - 1,), BYTES)
        kind = np.int64(array_at(at - 1, (1,), BYTES)[0])
        if kind > 4:
            return False
        if pixel == 1:
            _unfilter_row(kind, at, above, row, 1)
        elif pixel == 2:
            _unfilter_row(kind, at, above, row, 2)
        elif pixel == 3:
            _unfilter_row(kind, at, above, row, 3)
        else:
            _unfilter_row(kind, at, above, row, 4)
    return True


@inner_part
def _spread(source: Array, target: Array, pixel: int, backwards: bool) -> None:
    """Three channels from pixels of so many bytes, of one channel thrice."""
    for x in range(target.shape[0] // 3):
        if pixel < 3:
            target[3 * x] = target[3 * x + 1] = target[3 * x + 2] = source[pixel * x]
        elif backwards:
            target[3 * x], target[3 * x + 1], target[3 * x + 2] = (
                source[pixel * x + 2], source[pixel * x + 1], source[pixel * x],
            )  # fmt: skip
        else:
            target[3 * x], target[3 * x + 1], target[3 * x + 2] = (
                source[pixel * x], source[pixel * x + 1], source[pixel * x + 2],
            )  # fmt: skip


@part
def _brightness(source: Array, target: Array, pixel: int, weights: Array, backwards: bool) -> None:
    """One channel from three; the last of the weights, in 15 bits, is added before the rest is cut off."""
    red, green, blue, half = weights[0], weights[1], weights[2], weights[3]
    first, last = (2, 0) if backwards else (0, 2)
    for x in range(target.shape[0]):
        at = pixel * x
        total = source[at + first] * red + source[at + 1] * green + source[at + last] * blue + half
        target[x] = np.uint8(total >> 15)


@part
def _look_up(source: Array, target: Array, table: Array, channels: int) -> Any:
    """Pixels of a palette, ``uint8[entries, 3]``; whether it has them all."""
    for x in range(source.shape[0]):
        entry = np.int64(source[x])
        if entry >= table.shape[0]:
            return False
        for c in range(channels):
            target[channels * x + c] = table[entry, c]
    return True


@part
def _put_row(source: Array, target: Array, pixel: int, channels: int, backwards: bool, weights: Array) -> None:
    """A row of pixels in the channels that are wanted; `backwards` if these are not in the order of those stored."""
    if channels == pixel and not (channels == 3 and backwards):
        _memcpy(target.ctypes.data, source.ctypes.data, target.shape[0])
    elif channels == 1:
        if pixel == 2:
            for x in range(target.shape[0]):
                target[x] = source[2 * x]
        else:
            _brightness(source, target, pixel, weights, backwards)
    elif pixel == 1:
        _spread(source, target, 1, False)
    elif pixel == 2:
        _spread(source, target, 2, False)
    elif pixel == 3:
        _spread(source, target, 3, True)
    elif backwards:
        _spread(source, target, 4, True)
    else:
        _spread(source, target, 4, False)


@part
def _palette(data: Array, header: Array, color: int, weights: Array) -> Any:
    """The palette of a picture in the colours that are wanted, ``uint8[entries, 3]``."""
    entries = header[ENTRIES]
    table = np.empty((entries, 3), np.uint8)
    is_bmp = header[FORMAT] == BMP
    at, step = (14 + little(data, 14), 4) if is_bmp else (header[START], 3)
    for k in range(entries):
        stored = data[at + step * k : at + step * k + 3]
        if color == GRAY and header[CHANNELS] == 3:
            _brightness(stored, table[k, :1], 3, weights, is_bmp)
        else:
            _spread(stored, table[k], 3, True) if is_bmp != (color == BGR) else _spread(stored, table[k], 3, False)
    return table


@part
def _decode(
    functions: Array, unpacker: int, address: int, length: int, header: Array, window: Array, color: int,
    weights: Array, out: int, raw: Array, packed: Array,
) -> Any:  # fmt: skip
    """Decode one picture; whether nothing is wrong with it."""
    data = array_at(address, (length,), BYTES)
    pixel, pitch, start = header[PIXEL], header[PITCH], address + header[START]
    if header[FORMAT] == PNG:
        size = header[HEIGHT] * pitch
        source, count = _gather(functions, address, data, packed)
        if count == 0:
            return False
        used = np.zeros(1, np.int64)
        place = np.int64(raw.ctypes.data) + pitch
        if whole(call7(functions[_UNPACK], unpacker, source, count, place, size, used.ctypes.data, 0)) != 0:
            return False
        if used[0] != count or not _unfilter(place, header[HEIGHT], pitch, pixel):
            return False
        start = place + 1
    top, left, bottom, right = window[0], window[1], window[2], window[3]
    channels = header[CHANNELS] if color == AS_STORED else 1 if color == GRAY else 3
    width = right - left
    backwards = (header[FORMAT] == BMP) != (color == BGR)
    table = _palette(data, header, color, weights[header[FORMAT]]) if header[ENTRIES] else np.empty((0, 3), np.uint8)
    for y in range(top, bottom):
        source = array_at(start + y * pitch + left * pixel, (width * pixel,), BYTES)
        target = array_at(out + (y - top) * width * channels, (width * channels,), BYTES)
        if header[ENTRIES]:
            if not _look_up(source, target, table, channels):
                return False
        else:
            _put_row(source, target, pixel, channels, backwards, weights[header[FORMAT]])
    return True


@kernel
def decode(
    functions: Array, addresses: Array, lengths: Array, headers: Array, windows: Array, color: int, weights: Array,
    outs: Array, done: Array,
) -> None:  # fmt: skip
    """Decode pictures into memory that is ready for them.

    Parameters
    ----------
    functions
        ``int64``: addresses of :data:`FUNCTIONS`; with zeros, no PNG picture is decoded.
    addresses, lengths
        ``int64[N]``: the files' bytes.
    headers
        ``int64[N, COLUMNS]``: rows of headers, filled by :func:`~dali_lab.kernels.cpu.raster_headers.read`.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)`` of what is wanted, within the picture and not empty.
    color
        :data:`AS_STORED`, :data:`GRAY`, :data:`RGB` or :data:`BGR`.
    weights
        ``int64[4, 4]``: by format, those of red, green and blue in brightness, of 2¹⁵, and what is added to the sum.
    outs
        ``int64[N]``: where each window goes, rows of pixels without gaps.
    done
        ``int64[N]``: set to 1 for pictures with which nothing is wrong.
    """
    room, longest = 0, 0
    for i in range(addresses.shape[0]):
        if headers[i, FORMAT] == PNG:
            room = max(room, (1 + headers[i, HEIGHT]) * headers[i, PITCH])
            longest = max(longest, lengths[i])
    unpacker: Any = 0
    if room and functions[_NEW] != 0:
        unpacker = call0(functions[_NEW])
    raw, packed = np.empty(room + _BEYOND, np.uint8), np.empty(longest, np.uint8)
    for i in range(addresses.shape[0]):
        if headers[i, FORMAT] != PNG or unpacker != 0:
            done[i] = _decode(
                functions, unpacker, addresses[i], lengths[i], headers[i], windows[i], color, weights, outs[i], raw,
                packed,
            )  # fmt: skip
    if unpacker != 0:
        call1(functions[_FREE], unpacker)
