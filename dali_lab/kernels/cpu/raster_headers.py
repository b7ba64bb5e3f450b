"""Headers of pictures that are stored row by row, of a chunk in one call: PNG, BMP and PNM.

What is not usual, or may be damaged, is left alone: other decoders take it, or say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.header_table import (
    BITS,
    BMP,
    CHANNELS,
    ENTRIES,
    FORMAT,
    GAMMA,
    HEIGHT,
    ORIENTATION,
    PITCH,
    PIXEL,
    PNG,
    PNM,
    START,
    WIDTH,
)
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part

IDAT = 0x49444154
"""The name of the parts of PNG that hold compressed bytes."""
BYTES = like(np.uint8)

_SIGNATURE = 0x89504E470D0A1A0A
_IHDR, _PLTE, _IEND, _EXIF, _ANIMATED = 0x49484452, 0x504C5445, 0x49454E44, 0x65584966, 0x6163544C
_GAMMA, _SRGB, _GAMMA_OF_SRGB = 0x67414D41, 0x73524742, 45455
_AT_MOST = 1032
"""Bytes that one byte of deflate can become."""


@inner_part
def big(data: Array, at: int) -> Any:
    """Four bytes, the most significant first."""
    first, second = (np.int64(data[at]) << 24) | (np.int64(data[at + 1]) << 16), np.int64(data[at + 2]) << 8
    return first | second | np.int64(data[at + 3])


@inner_part
def little(data: Array, at: int) -> Any:
    """Four bytes, the least significant first."""
    first, second = np.int64(data[at]) | (np.int64(data[at + 1]) << 8), np.int64(data[at + 2]) << 16
    return first | second | (np.int64(data[at + 3]) << 24)


@part
def _read_png(data: Array, row: Array) -> None:
    """PNG of 8 bits, neither interlaced nor turned nor moving."""
    size = data.shape[0]
    if size < 57 or big(data, 4) != _SIGNATURE & 0xFFFFFFFF or big(data, 8) != 13 or big(data, 12) != _IHDR:
        return
    color = np.int64(data[25])
    if data[24] != 8 or data[26] != 0 or data[27] != 0 or data[28] != 0 or color == 1 or color == 5 or color > 6:
        return
    channels = 3 if color == 3 or color == 2 else 1 if color == 0 else 2 if color == 4 else 4
    at, packed, closed = 33, 0, False
    entries, palette, gamma = 0, 0, np.int64(0)
    while at + 12 <= size:
        length, name = big(data, at), big(data, at + 4)
        if length > size - at - 12:
            return
        if name == _IEND:
            if at + 12 != size or packed == 0 or (color == 3 and entries == 0):
                return
            row[HEIGHT], row[WIDTH], row[CHANNELS] = big(data, 20), big(data, 16), channels
            row[PIXEL] = 1 if color == 3 else channels
            row[START], row[PITCH], row[ENTRIES] = palette, 1 + row[WIDTH] * row[PIXEL], entries
            if row[HEIGHT] <= packed * _AT_MOST // row[PITCH]:
                row[FORMAT], row[GAMMA] = PNG, gamma
            return
        if name == IDAT:
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
            elif name == _SRGB and length == 1 and data[at + 8] < 4:
                gamma = np.int64(_GAMMA_OF_SRGB)
            elif name == _GAMMA and length == 4 and gamma == 0:
                gamma = big(data, at + 8)
            elif name in (_EXIF, _ANIMATED) or data[at + 4] & 32 == 0:
                return
        at += 12 + length


@part
def _read_bmp(data: Array, row: Array) -> None:
    """BMP of 24 bits, or of 8 bits and a palette, without compression."""
    size = data.shape[0]
    if size < 54:
        return
    header, start = little(data, 14), little(data, 10)
    height = np.int64(np.int32(little(data, 22)))
    width = np.int64(np.int32(little(data, 18)))
    bits = np.int64(data[28]) | (np.int64(data[29]) << 8)
    if header < 40 or little(data, 30) != 0 or (bits != 8 and bits != 24) or width <= 0 or height == 0:
        return
    pitch = (width * bits + 31) // 32 * 4
    entries, channels = 0, 3
    if bits == 8:
        entries = little(data, 46)
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
    row[FORMAT], row[HEIGHT], row[WIDTH], row[CHANNELS], row[PIXEL] = BMP, abs(height), width, channels, bits // 8
    row[START] = start if height < 0 else start + pitch * (height - 1)
    row[PITCH] = pitch if height < 0 else -pitch
    row[ENTRIES] = entries


@part
def _is_space(byte: int) -> Any:
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
    row[FORMAT], row[HEIGHT], row[WIDTH], row[CHANNELS], row[PIXEL] = PNM, height, width, pixel, pixel
    row[START], row[PITCH] = at, width * pixel


@kernel
def read(addresses: Array, lengths: Array, out: Array) -> None:
    """Headers of the pictures that :func:`~dali_lab.kernels.cpu.rasters.decode` takes.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: the files' bytes.
    out
        ``int64[N, COLUMNS]`` of :mod:`~dali_lab.kernels.cpu.header_table`: rows of zeros are filled for usual pictures.
    """
    for i in range(addresses.shape[0]):
        data = array_at(addresses[i], (lengths[i],), BYTES)
        if lengths[i] < 12 or out[i, FORMAT] != 0:
            continue
        if big(data, 0) == _SIGNATURE >> 32:
            _read_png(data, out[i])
        elif data[0] == 66 and data[1] == 77:
            _read_bmp(data, out[i])
        elif data[0] == 80 and (data[1] == 53 or data[1] == 54):
            _read_pnm(data, out[i])
        if out[i, FORMAT] != 0 and out[i, HEIGHT] > 0 and out[i, WIDTH] > 0:
            out[i, BITS], out[i, ORIENTATION] = 8, 1
        else:
            out[i] = 0
