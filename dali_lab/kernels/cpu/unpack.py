"""Unpacking compressed bytes, by the functions of LZ4 and libdeflate at their addresses, without the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine.foreign import call0, call1, call4, call7, whole
from dali_lab.kernels.cpu.memory import array_at, kernel, like, part

LZ4 = ("LZ4_decompress_safe",)
"""Functions that :func:`unpack_lz4` calls, in this order."""
DEFLATE = (
    "libdeflate_alloc_decompressor",
    "libdeflate_free_decompressor",
    "libdeflate_deflate_decompress_ex",
    "libdeflate_zlib_decompress_ex",
    "libdeflate_gzip_decompress_ex",
)
"""Functions that :func:`unpack_deflate` calls, in this order."""
_NEW, _FREE, _RAW, _ZLIB, _GZIP = range(len(DEFLATE))
_MOST = (1 << 31) - 1
_bytes = like(np.uint8)


@kernel
def unpack_lz4(functions: Array, src: Array, packed: Array, dst: Array, room: Array, made: Array) -> None:
    """Unpack LZ4 blocks without a frame.

    Parameters
    ----------
    functions
        ``int64``: addresses of :data:`LZ4`.
    src, packed
        ``int64[N]``: addresses of the blocks, and their bytes.
    dst, room
        ``int64[N]``: addresses of the results, and their bytes.
    made
        ``int64[N]``: set to the bytes that each block held; negative for what is no block, holds more than there is
        room for, or is of more than the 2³¹ − 1 bytes that the library takes.
    """
    for i in range(src.shape[0]):
        made[i] = -1
        if packed[i] <= _MOST and room[i] <= _MOST:
            made[i] = whole(call4(functions[0], src[i], dst[i], packed[i], room[i]))


@part
def _wrapping(address: int, size: int) -> Any:
    """The function that unpacks these bytes: with a header of gzip or of zlib, or without."""
    if size < 2:
        return _RAW
    head = array_at(address, (2,), _bytes)
    first, second = np.int64(head[0]), np.int64(head[1])
    if first == 0x1F and second == 0x8B:
        return _GZIP
    return _ZLIB if first & 15 == 8 and (first * 256 + second) % 31 == 0 else _RAW


@kernel
def unpack_deflate(functions: Array, src: Array, packed: Array, dst: Array, room: Array, made: Array) -> None:
    """Unpack deflate, with a header of zlib or gzip or without.

    Parameters
    ----------
    functions
        ``int64``: addresses of :data:`DEFLATE`.
    src, packed, dst, room
        As for :func:`unpack_lz4`.
    made
        ``int64[N]``: set to the bytes unpacked; -1 for what cannot be unpacked, or holds more than there is room for.
    """
    made[:] = -1
    size = np.zeros(1, np.int64)
    unpacker = call0(functions[_NEW])
    if unpacker == 0:
        return
    for i in range(src.shape[0]):
        function = functions[_wrapping(src[i], packed[i])]
        if whole(call7(function, unpacker, src[i], packed[i], dst[i], room[i], 0, size.ctypes.data)) == 0:
            made[i] = size[0]
    call1(functions[_FREE], unpacker)
