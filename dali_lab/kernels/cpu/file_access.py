"""Files read from compiled code: a table of them in one call, by the C library, without the GIL.

Each kernel answers how many files it has done; where that is fewer than asked for, the next one has failed. Only on
POSIX systems; the caller asks the operating system again, from Python, what was wrong.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy as np
from numba import types as nb_types

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.memory import array_at, copy_row, keep, kernel, part

AVAILABLE = os.name == "posix" and uses("libraries")
HAS_STATES = AVAILABLE and sys.platform == "linux" and hasattr(ctypes.CDLL(None), "statx")
"""Whether :func:`read_states` can be called."""
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""A named pipe does not wait for its writer; it has no size, so it is not read."""
_TO_END = os.SEEK_END
_SPAN = 256 << 10
"""Bytes that are read at once for rows of a window."""
_WORTH_A_CALL = 2048
"""Bytes that are skipped rather than read; reading fewer costs less than a call of the operating system."""

_address, _int, _long = nb_types.intp, nb_types.int32, nb_types.int64


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C library."""
    return nb_types.ExternalFunction(name, result(*arguments))


_open = _function("open", _int, _address, _int)
_close = _function("close", _int, _int)
_lseek = _function("lseek", _long, _int, _long, _int)
_memcpy = _function("memcpy", _address, _address, _address, _address)
_pread = _function("pread", _long, _int, _address, _address, _long)
_pwrite = _function("pwrite", _long, _int, _address, _address, _long)
_statx = _function("statx", _int, _int, _address, _int, nb_types.uint32, _address)
_HERE, _SIZE_AND_TIME = -100, 0x240
"""Relative to the current folder, and the fields asked for, as Linux numbers them."""
_SIZE, _SECONDS, _NANOSECONDS = 5, 14, 15
"""Where they stand in its answer, in words of 64 bits; the last one has 32."""


@kernel
def read_states(paths: Array, states: Array) -> Any:
    """Fill in the size in bytes and the time of the last change in nanoseconds of each file, ``int64[N, 2]``."""
    answer = np.empty(32, np.int64)
    for i in range(paths.shape[0]):
        if _statx(_HERE, paths[i], 0, _SIZE_AND_TIME, answer.ctypes.data) != 0:
            return i
        states[i, 0] = answer[_SIZE]
        states[i, 1] = answer[_SECONDS] * 1000000000 + (answer[_NANOSECONDS] & 0xFFFFFFFF)
    return paths.shape[0]


@part
def _next_byte(handle: Any, offset: Any) -> Any:
    """Try to read a byte: how many there were, or a negative number."""
    byte = np.empty(1, np.uint8)
    count = _pread(handle, byte.ctypes.data, 1, offset)
    keep(byte)
    return count


@part
def _read(handle: Any, offset: Any, count: Any, target: Any) -> Any:
    """Read `count` bytes from `offset` on; whether they were all there."""
    if count == 0:
        # A folder can be opened but not read.
        return _next_byte(handle, offset) >= 0
    done = 0
    while done < count:
        got = _pread(handle, target + done, count - done, offset + done)
        if got <= 0:
            return False
        done += got
    return True


@kernel
def read_whole(paths: Array, start: int, capacity: int, addresses: Array, sizes: Array) -> Any:
    """Read files one after the other into a block of `capacity` bytes at `start`; fill in where and how long.

    A file that does not fit any more is not read, but its size is filled in.
    """
    at = start
    for i in range(paths.shape[0]):
        handle = _open(paths[i], _READ)
        if handle < 0:
            return i
        size = _lseek(handle, 0, _TO_END)
        sizes[i] = size
        done = size >= 0 and at + size <= start + capacity and _read(handle, 0, size, at)
        if size == 0 and _next_byte(handle, 0) > 0:  # a device has data but no size
            done = False
        _close(handle)
        if not done:
            return i
        addresses[i] = at
        at += size
    return paths.shape[0]


@part
def _header_end(head: Array) -> Any:
    """The end of a NumPy file's header, by its first bytes."""
    if head[6] < 2:
        return 10 + head[8] + 256 * head[9]
    return 12 + head[8] + 256 * head[9] + 65536 * head[10] + 16777216 * head[11]


@kernel
def read_heads(paths: Array, heads: Array, sizes: Array) -> Any:
    """Read the header of each NumPy file into a row of `heads` (``uint8[N, length]``) and fill in the file's size.

    A row holds zeros after the header, and the beginning of a header that is longer than a row.
    """
    length = heads.shape[1]
    for i in range(paths.shape[0]):
        handle = _open(paths[i], _READ)
        if handle < 0:
            return i
        size = _lseek(handle, 0, _TO_END)
        sizes[i] = size
        head = heads[i]
        done = size > 0 and _read(handle, 0, min(size, length), head.ctypes.data)
        _close(handle)
        if not done:
            return i
        head[min(size, _header_end(head), length) :] = 0
    return paths.shape[0]


@kernel
def copy_heads(src: Array, sizes: Array, heads: Array) -> None:
    """:func:`read_heads` of NumPy files in memory."""
    length = heads.shape[1]
    for i in range(src.shape[0]):
        head = heads[i]
        count = min(sizes[i], length)
        copy_row(array_at(src[i], (count,), np.empty(0, np.uint8)), head[:count])
        head[count:] = 0
        head[min(count, _header_end(head)) :] = 0


@kernel
def groups_of_rows(table: Array, group: Array) -> int:
    """Number rows by content: ``group[i]`` counts the different rows before the first that equals row `i`."""
    firsts = np.empty(table.shape[0], np.int64)
    count = 0
    for i in range(table.shape[0]):
        found = -1
        # Headers repeat in runs, so the latest is the likeliest.
        for g in range(count - 1, -1, -1):
            k = 0
            while k < table.shape[1] and table[firsts[g], k] == table[i, k]:
                k += 1
            if k == table.shape[1]:
                found = g
                break
        if found < 0:
            firsts[count] = i
            found = count
            count += 1
        group[i] = found
    return count


@part
def _sum(address: Any, count: Any) -> Any:
    whole = count // 8
    words = array_at(address, (whole,), np.empty(0, np.uint64))
    total = np.uint64(count)
    for k in range(whole):
        total += words[k] * np.uint64(2 * k + 1)
    rest = array_at(address + 8 * whole, (count - 8 * whole,), np.empty(0, np.uint8))
    last = np.uint64(0)
    for k in range(rest.shape[0]):
        last |= np.uint64(rest[k]) << np.uint64(8 * k)
    total += last * np.uint64(2 * whole + 1)
    return np.int64(total)


@kernel
def read_ranges(handles: Array, offsets: Array, counts: Array, addresses: Array) -> Any:
    """Read ``counts[i]`` bytes of the open file ``handles[i]`` from ``offsets[i]`` on to ``addresses[i]``."""
    for i in range(handles.shape[0]):
        if not _read(handles[i], offsets[i], counts[i], addresses[i]):
            return i
    return handles.shape[0]


@kernel
def read_summed(handles: Array, offsets: Array, counts: Array, addresses: Array, found: Array) -> Any:
    """:func:`read_ranges`, and ``found[i]`` is made their sum, as by :func:`sums`, while they are in the cache."""
    for i in range(handles.shape[0]):
        if not _read(handles[i], offsets[i], counts[i], addresses[i]):
            return i
        found[i] = _sum(addresses[i], counts[i])
    return handles.shape[0]


@kernel
def write_ranges(handles: Array, offsets: Array, counts: Array, addresses: Array, found: Array) -> Any:
    """Write ``counts[i]`` bytes from ``addresses[i]`` on into the open file ``handles[i]``, from ``offsets[i]`` on.

    ``found[i]`` is made their sum, as by :func:`sums`. What lies together in memory and in the file is written at once.
    """
    first = 0
    while first < handles.shape[0]:
        total = np.int64(0)
        after = first
        while after < handles.shape[0] and (
            handles[after] == handles[first]
            and addresses[after] == addresses[first] + total
            and offsets[after] == offsets[first] + total
        ):
            found[after] = _sum(addresses[after], counts[after])
            total += counts[after]
            after += 1
        done = 0
        while done < total:
            put = _pwrite(handles[first], addresses[first] + done, total - done, offsets[first] + done)
            if put <= 0:
                return first
            done += put
        first = after
    return handles.shape[0]


@kernel
def sums(addresses: Array, counts: Array, found: Array) -> None:
    """A number for the ``counts[i]`` bytes from ``addresses[i]`` on, by which damage is seen.

    Each word of 64 bits, the last one filled up with zeros, is multiplied by an odd number of its own, so that no
    change of a single word and no exchange of two goes unnoticed.
    """
    for i in range(addresses.shape[0]):
        found[i] = _sum(addresses[i], counts[i])


def sums_plain(addresses: Array, counts: Array, found: Array) -> None:
    """:func:`sums` in NumPy."""
    for i, (address, count) in enumerate(zip(addresses.tolist(), counts.tolist(), strict=True)):
        words = np.zeros(-(-count // 8), np.uint64)
        if count:
            ctypes.memmove(words.ctypes.data, address, count)
        odd = 2 * np.arange(len(words), dtype=np.uint64) + 1
        total = int((words * odd).sum(dtype=np.uint64)) + count
        found[i] = np.uint64(total & 0xFFFFFFFFFFFFFFFF).astype(np.int64)


@part
def _read_rows(handle: Any, offset: Any, rows: Any, stride: Any, width: Any, target: Any, span: Array) -> Any:
    """Read `rows` pieces of `width` bytes that lie `stride` apart, one behind the other; whether they were there."""
    at_once = 1 + (span.shape[0] - width) // stride if span.shape[0] >= width else 0
    apart = stride - width > _WORTH_A_CALL or at_once < 2
    row = 0
    while row < rows:
        if apart:
            if not _read(handle, offset + row * stride, width, target + row * width):
                return False
            row += 1
            continue
        count = min(at_once, rows - row)
        if not _read(handle, offset + row * stride, (count - 1) * stride + width, span.ctypes.data):
            return False
        for k in range(count):
            _memcpy(target + (row + k) * width, span.ctypes.data + k * stride, width)
        row += count
    return True


@kernel
def read_windows(paths: Array, offsets: Array, shapes: Array, start: Array, extent: Array, addresses: Array) -> Any:
    """Read a window of the array in each file.

    Parameters
    ----------
    paths
        Addresses of the paths.
    offsets
        Where the elements begin in each file.
    shapes
        ``int64[N, 3 or more]``: extents of the arrays in the order in which they lie there, the last one in bytes.
    start, extent
        Of the windows, which are inside the arrays; the last column is in bytes.
    addresses
        Where the windows are written to, densely.
    """
    ndim = shapes.shape[1]
    span = np.empty(_SPAN, np.uint8)
    index = np.empty(ndim, np.int64)
    for i in range(paths.shape[0]):
        # The last axes that are whole are one piece with the next one before them.
        last = ndim - 1
        width, whole = extent[i, last], shapes[i, last]
        while last > 0 and width == whole:
            last -= 1
            width, whole = extent[i, last] * whole, shapes[i, last] * whole
        rows_axis = last - 1
        inner = whole // shapes[i, last] if shapes[i, last] else 0
        first = start[i, last] * inner
        rows = extent[i, rows_axis] if rows_axis >= 0 else 1
        handle = _open(paths[i], _READ)
        if handle < 0:
            return i
        total = 1
        for axis in range(rows_axis):
            total *= extent[i, axis]
        target = addresses[i]
        index[:] = 0
        done = (width > 0 and rows > 0) or _read(handle, offsets[i], 0, target)
        if width > 0 and rows > 0:
            for _ in range(total):
                place = np.int64(0)
                for axis in range(rows_axis):
                    place = place * shapes[i, axis] + start[i, axis] + index[axis]
                if rows_axis >= 0:
                    place = place * shapes[i, rows_axis] + start[i, rows_axis]
                if not _read_rows(handle, offsets[i] + place * whole + first, rows, whole, width, target, span):
                    done = False
                    break
                target += rows * width
                axis = rows_axis - 1
                while axis >= 0:
                    index[axis] += 1
                    if index[axis] < extent[i, axis]:
                        break
                    index[axis] = 0
                    axis -= 1
        _close(handle)
        if not done:
            return i
    return paths.shape[0]
