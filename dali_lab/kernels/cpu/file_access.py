"""Files read and mapped from compiled code: a table of paths in one call, by the C library, without the GIL.

Each kernel answers how many files it has done; where that is fewer than asked for, the next one has failed. Only on
POSIX systems; the caller asks the operating system again, from Python, what was wrong.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numba import types as nb_types

from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.memory import array_at, kernel, part

Array = np.ndarray[Any, Any]

AVAILABLE = os.name == "posix" and uses("libraries")
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
_TO_END = os.SEEK_END
_PROTECTION = getattr(mmap, "PROT_READ", 1) | getattr(mmap, "PROT_WRITE", 2)
_PRIVATE = getattr(mmap, "MAP_PRIVATE", 2)
_SOON = getattr(mmap, "MADV_WILLNEED", 3)

_address, _int, _long = nb_types.intp, nb_types.int32, nb_types.int64


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C library."""
    return nb_types.ExternalFunction(name, result(*arguments))


_open = _function("open", _int, _address, _int)
_close = _function("close", _int, _int)
_lseek = _function("lseek", _long, _int, _long, _int)
_pread = _function("pread", _long, _int, _address, _address, _long)
_mmap = _function("mmap", _address, _address, _address, _int, _int, _int, _long)
_munmap = _function("munmap", _int, _address, _address)
_madvise = _function("madvise", _int, _address, _address, _int)


@part
def _read(handle: Any, offset: Any, count: Any, target: Any) -> Any:
    """Read `count` bytes from `offset` on; whether they were all there."""
    if count == 0:
        # A folder can be opened but not read.
        return _pread(handle, np.empty(1, np.uint8).ctypes.data, 1, offset) >= 0
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
        _close(handle)
        if not done:
            return i
        addresses[i] = at
        at += size
    return paths.shape[0]


@part
def _header_end(head: Array) -> Any:
    """Where the header of a NumPy file ends, by its first bytes."""
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
    """Like :func:`read_heads`, of NumPy files that are in memory."""
    length = heads.shape[1]
    for i in range(src.shape[0]):
        head = heads[i]
        count = min(sizes[i], length)
        head[:count] = array_at(src[i], (count,), np.empty(0, np.uint8))
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


@kernel
def read_ranges(paths: Array, offsets: Array, counts: Array, addresses: Array) -> Any:
    """Read ``counts[i]`` bytes of file `i` from ``offsets[i]`` on to ``addresses[i]``."""
    for i in range(paths.shape[0]):
        handle = _open(paths[i], _READ)
        if handle < 0:
            return i
        done = _read(handle, offsets[i], counts[i], addresses[i])
        _close(handle)
        if not done:
            return i
    return paths.shape[0]


@kernel
def map_files(paths: Array, ends: Array, soon: bool, addresses: Array) -> Any:
    """Map the first ``ends[i]`` bytes of each file, privately: what is written there does not reach the file.

    With `soon`, the system is told to have them read by the time they are looked at.
    """
    for i in range(paths.shape[0]):
        handle = _open(paths[i], _READ)
        if handle < 0:
            return i
        address = -1
        if _lseek(handle, 0, _TO_END) >= ends[i]:
            address = _mmap(0, ends[i], _PROTECTION, _PRIVATE, handle, 0)
        _close(handle)
        if address == -1:
            return i
        if soon:
            _madvise(address, ends[i], _SOON)
        addresses[i] = address
    return paths.shape[0]


@kernel
def unmap_files(addresses: Array, ends: Array) -> None:
    """Give mappings back."""
    for i in range(addresses.shape[0]):
        _munmap(addresses[i], ends[i])
