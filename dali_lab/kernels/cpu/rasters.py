"""Pictures that are stored row by row, of a chunk in one call: BMP and PNM, and PNG once it is unpacked.

What is not usual, or may be damaged, is left alone: other decoders take it, or say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core.types import ExternalFunction

from dali_lab.kernels.cpu.foreign import call0, call1, call3, call7, emitted, whole
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part

Array = np.ndarray[Any, Any]

FUNCTIONS = (
    "libdeflate_alloc_decompressor",
    "libdeflate_free_decompressor",
    "libdeflate_zlib_decompress_ex",
    "libdeflate_crc32",
)
"""What :func:`decode` needs of libdeflate, in this order."""
_NEW, _FREE, _UNPACK, _CHECK = range(len(FUNCTIONS))

COLUMNS = 8
"""Numbers that :func:`read` finds for each picture."""
KIND, HEIGHT, WIDTH, CHANNELS, PIXEL, START, PITCH, ENTRIES = range(COLUMNS)
"""Their meaning: one of :data:`PNG`, :data:`BMP` and :data:`PNM`, or 0 for none of them; size in pixels; channels, of
which a palette has three if it is not of greys; bytes of a pixel; where the first row begins (in PNG: the palette);
bytes from a row to that below it; entries of the palette."""
PNG, BMP, PNM = 1, 2, 3
AS_STORED, GRAY, RGB, BGR = range(4)
"""Colours that :func:`decode` gives."""

_SIGNATURE = 0x89504E470D0A1A0A
_IHDR, _PLTE, _IDAT, _IEND, _EXIF, _ANIMATED = 0x49484452, 0x504C5445, 0x49444154, 0x49454E44, 0x65584966, 0x6163544C
_AT_MOST = 1032
"""Bytes that one byte of deflate can become."""
_BEYOND = 4
"""Bytes after the last row of a PNG picture that may be read."""
_bytes = like(np.uint8)
_four = ir.VectorType(ir.IntType(16), 4)
_memcpy: Any = ExternalFunction("memcpy", nb_types.intp(nb_types.intp, nb_types.intp, nb_types.intp))


@inner_part
def _big(data: Array, at: Any) -> Any:
    """Four bytes, the most significant first."""
    first, second = (np.int64(data[at]) << 24) | (np.int64(data[at + 1]) << 16), np.int64(data[at + 2]) << 8
    return first | second | np.int64(data[at + 3])


@inner_part
def _little(data: Array, at: Any) -> Any:
    """Four bytes, the least significant first."""
    first, second = np.int64(data[at]) | (np.int64(data[at + 1]) << 8), np.int64(data[at + 2]) << 16
    return first | second | (np.int64(data[at + 3]) << 24)


@part
def _read_png(data: Array, row: Array) -> None:
    """PNG of 8 bits, neither interlaced nor turned nor moving."""
    size = data.shape[0]
    if size < 57 or _big(data, 4) != _SIGNATURE & 0xFFFFFFFF or _big(data, 8) != 13 or _big(data, 12) != _IHDR:
        return
    color = np.int64(data[25])
    if data[24] != 8 or data[26] != 0 or data[27] != 0 or data[28] != 0 or color == 1 or color == 5 or color > 6:
        return
    channels = 3 if color == 3 or color == 2 else 1 if color == 0 else 2 if color == 4 else 4
    at, packed, closed = 33, 0, False
    entries, palette = 0, 0
    while at + 12 <= size:
        length, name = _big(data, at), _big(data, at + 4)
        if length > size - at - 12:
            return
        if name == _IEND:
            if at + 12 != size or packed == 0 or (color == 3 and entries == 0):
                return
            row[HEIGHT], row[WIDTH], row[CHANNELS] = _big(data, 20), _big(data, 16), channels
            row[PIXEL] = 1 if color == 3 else channels
            row[START], row[PITCH], row[ENTRIES] = palette, 1 + row[WIDTH] * row[PIXEL], entries
            if row[HEIGHT] <= packed * _AT_MOST // row[PITCH]:
                row[KIND] = PNG
            return
        if name == _IDAT:
            if closed:
                return
            packed += length
        else:
            closed = packed > 0
            if name == _PLTE:
                if (color != 2 and color != 3 and color != 6) or entries or closed or length % 3 or length > 768:
                    return
                if color == 3:
                    entries, palette = length // 3, at + 8
            elif name in (_EXIF, _ANIMATED) or data[at + 4] & 32 == 0:
                return
        at += 12 + length


@part
def _read_bmp(data: Array, row: Array) -> None:
    """BMP of 24 bits, or of 8 bits and a palette, without compression."""
    size = data.shape[0]
    if size < 54:
        return
    header, start = _little(data, 14), _little(data, 10)
    height = np.int64(np.int32(_little(data, 22)))
    width = np.int64(np.int32(_little(data, 18)))
    bits = np.int64(data[28]) | (np.int64(data[29]) << 8)
    if header < 40 or _little(data, 30) != 0 or (bits != 8 and bits != 24) or width <= 0 or height == 0:
        return
    pitch = (width * bits + 31) // 32 * 4
    entries, channels = 0, 3
    if bits == 8:
        entries = _little(data, 46)
        entries = 256 if entries == 0 else entries
        if entries > 256:
            return
    palette = 14 + header
    if start < palette + 4 * entries or abs(height) > (size - start) // pitch:
        return
    if bits == 8:
        gray = True
        for k in range(entries):
            at = palette + 4 * k
            gray = gray and data[at] == data[at + 1] and data[at] == data[at + 2]
        channels = 1 if gray else 3
    row[KIND], row[HEIGHT], row[WIDTH], row[CHANNELS], row[PIXEL] = BMP, abs(height), width, channels, bits // 8
    row[START] = start if height < 0 else start + pitch * (height - 1)
    row[PITCH] = pitch if height < 0 else -pitch
    row[ENTRIES] = entries


@part
def _is_space(byte: Any) -> Any:
    return byte == 32 or (byte >= 9 and byte <= 13)


@part
def _read_pnm(data: Array, row: Array) -> None:
    """Binary PGM and PPM of 8 bits."""
    size = data.shape[0]
    at, found = 2, 0
    numbers = np.zeros(3, np.int64)
    while found < 3:
        if at >= size:
            return
        if data[at] == 35:
            while at < size and data[at] != 10 and data[at] != 13:
                at += 1
        elif _is_space(data[at]):
            at += 1
        elif data[at] >= 48 and data[at] <= 57:
            while at < size and data[at] >= 48 and data[at] <= 57:
                numbers[found] = numbers[found] * 10 + np.int64(data[at]) - 48
                if numbers[found] > 1 << 31:
                    return
                at += 1
            found += 1
        else:
            return
    at += 1
    width, height, pixel = numbers[0], numbers[1], 1 if data[1] == 53 else 3
    if width == 0 or height == 0 or numbers[2] == 0 or numbers[2] > 255:
        return
    if width * pixel > size or at + width * pixel * height > size:
        return
    row[KIND], row[HEIGHT], row[WIDTH], row[CHANNELS], row[PIXEL] = PNM, height, width, pixel, pixel
    row[START], row[PITCH] = at, width * pixel


@kernel
def read(addresses: Array, lengths: Array, out: Array) -> None:
    """Headers of the pictures that :func:`decode` takes.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: the files' bytes.
    out
        ``int64[N, COLUMNS]``, zeros: filled for pictures that are usual.
    """
    for i in range(addresses.shape[0]):
        data = array_at(addresses[i], (lengths[i],), _bytes)
        if lengths[i] < 12:
            continue
        if _big(data, 0) == _SIGNATURE >> 32:
            _read_png(data, out[i])
        elif data[0] == 66 and data[1] == 77:
            _read_bmp(data, out[i])
        elif data[0] == 80 and (data[1] == 53 or data[1] == 54):
            _read_pnm(data, out[i])
        if out[i, KIND] != 0 and (out[i, HEIGHT] <= 0 or out[i, WIDTH] <= 0):
            out[i, KIND] = 0


@part
def _gather(functions: Array, address: int, data: Array, packed: Array) -> Any:
    """Where the compressed bytes of a PNG file are, and how many; 0 if a checksum is wrong.

    Those of several chunks are put together in `packed`.
    """
    at, count, size, first = 8, 0, 0, 0
    while at < data.shape[0]:
        length, name = _big(data, at), _big(data, at + 4)
        wanted = _big(data, at + 8 + length)
        if call3(functions[_CHECK], 0, address + at + 4, length + 4) & 0xFFFFFFFF != wanted:
            return 0, 0
        if name == _IDAT and length > 0:
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


@emitted
def _lanes(typingctx: Any, address: Any) -> Any:
    """Four bytes in the four parts of an integer, the first in the lowest."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.VectorType(ir.IntType(8), 4).as_pointer())
        return builder.bitcast(builder.zext(builder.load(place, align=1), _four), ir.IntType(64))

    return nb_types.int64(nb_types.int64), codegen


@emitted
def _nearest(typingctx: Any, left: Any, above: Any, corner: Any) -> Any:
    """Of three bytes that next to left + above − corner, in each of four parts."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def size(value: Any) -> Any:
            return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)

        zero = ir.Constant(_four, [0] * 4)
        left, above, corner = (builder.bitcast(value, _four) for value in arguments)
        to_left, to_above = builder.sub(above, corner), builder.sub(left, corner)
        to_corner = size(builder.add(to_left, to_above))
        to_left, to_above = size(to_left), size(to_above)
        is_above = builder.icmp_signed("<=", to_above, to_corner)
        other = builder.select(is_above, above, corner)
        to_other = builder.select(is_above, to_above, to_corner)
        nearest = builder.select(builder.icmp_signed("<=", to_left, to_other), left, other)
        return builder.bitcast(nearest, ir.IntType(64))

    return nb_types.int64(*[nb_types.int64] * 3), codegen


@inner_part
def _unfilter_pixels(kind: int, at: int, above_at: int, row: Array, pixel: int) -> None:
    """Undo a filter that looks at the pixel before, whose bytes stay in parts of one number."""
    bytes_of = np.int64(0x00FF00FF00FF00FF)
    left, corner = np.int64(0), np.int64(0)
    for x in range(0, row.shape[0], pixel):
        rest, above = _lanes(at + x), _lanes(above_at + x)
        if kind == 1:
            left = (rest + left) & bytes_of
        elif kind == 3:
            left = (rest + (((left + above) >> 1) & bytes_of)) & bytes_of
        else:
            left = (rest + _nearest(left, above, corner)) & bytes_of
        corner = above
        for k in range(pixel):
            row[np.uintp(x + k)] = np.uint8(left >> (16 * k))


@inner_part
def _unfilter_row(kind: Any, at: int, above_at: int, row: Array, pixel: int) -> None:
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
    array_at(raw - pitch, (pitch,), _bytes)[:] = 0
    for y in range(height):
        at, above = raw + y * pitch + 1, raw + (y - 1) * pitch + 1
        row = array_at(at, (pitch - 1,), _bytes)
        kind = np.int64(array_at(at - 1, (1,), _bytes)[0])
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
    is_bmp = header[KIND] == BMP
    at, step = (14 + _little(data, 14), 4) if is_bmp else (header[START], 3)
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
    data = array_at(address, (length,), _bytes)
    pixel, pitch, start = header[PIXEL], header[PITCH], address + header[START]
    if header[KIND] == PNG:
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
    backwards = (header[KIND] == BMP) != (color == BGR)
    table = _palette(data, header, color, weights[header[KIND]]) if header[ENTRIES] else np.empty((0, 3), np.uint8)
    for y in range(top, bottom):
        source = array_at(start + y * pitch + left * pixel, (width * pixel,), _bytes)
        target = array_at(out + (y - top) * width * channels, (width * channels,), _bytes)
        if header[ENTRIES]:
            if not _look_up(source, target, table, channels):
                return False
        else:
            _put_row(source, target, pixel, channels, backwards, weights[header[KIND]])
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
        ``int64``: addresses of :data:`FUNCTIONS`; without PNG pictures, zeros will do.
    addresses, lengths
        ``int64[N]``: the files' bytes.
    headers
        ``int64[N, COLUMNS]``: what :func:`read` says of them.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)`` of what is wanted, within the picture and not empty.
    color
        :data:`AS_STORED`, :data:`GRAY`, :data:`RGB` or :data:`BGR`.
    weights
        ``int64[4, 4]``: for each kind those of red, green and blue in brightness, of 2¹⁵, and what is added to the sum.
    outs
        ``int64[N]``: where each window goes, rows of pixels without gaps.
    done
        ``int64[N]``: set to 1 for pictures with which nothing is wrong.
    """
    room, longest = 0, 0
    for i in range(addresses.shape[0]):
        if headers[i, KIND] == PNG:
            room = max(room, (1 + headers[i, HEIGHT]) * headers[i, PITCH])
            longest = max(longest, lengths[i])
    unpacker: Any = 0
    if room:
        unpacker = call0(functions[_NEW])
    raw, packed = np.empty(room + _BEYOND, np.uint8), np.empty(longest, np.uint8)
    for i in range(addresses.shape[0]):
        if headers[i, KIND] != PNG or unpacker != 0:
            done[i] = _decode(
                functions, unpacker, addresses[i], lengths[i], headers[i], windows[i], color, weights, outs[i], raw,
                packed,
            )  # fmt: skip
    if unpacker != 0:
        call1(functions[_FREE], unpacker)
