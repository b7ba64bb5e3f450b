"""Memory that batches give back is kept by the process, so that the next batch does not wait for fresh pages."""

from __future__ import annotations

import ctypes
import os
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_KEEP = 256 << 20
_LARGEST = 64 << 20
_CORES_PER_HEAP = 8
_MADV_DONTNEED = 4
_done = False


def keep_freed_memory() -> None:
    """Tell glibc to reuse freed blocks of up to 64 MiB instead of handing them back to the system.

    A fresh page costs two to three microseconds when it is first touched, which for a photograph is as much as half
    of decoding it. Up to 256 MiB stay with the process at the end of its heap. Threads share it: in heaps of their own
    what one gave back would be no use to another, and glibc unmaps such a heap whenever it is empty. Set
    ``DALI_LAB_KEEP_MEMORY=0`` to leave glibc as it is; elsewhere than on Linux nothing is done.
    """
    global _done
    if _done or not sys.platform.startswith("linux") or os.environ.get("DALI_LAB_KEEP_MEMORY") == "0":
        return
    _done = True
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST)
    mallopt(_M_TRIM_THRESHOLD, _KEEP)
    mallopt(_M_ARENA_MAX, max(1, (os.cpu_count() or 1) // _CORES_PER_HEAP))


def release_compiler() -> None:
    """Unmap the compiler's machine code: once kernels are loaded it is idle, and 50 MiB of it are resident.

    What is needed again is mapped again, from the system's file cache, when it is first called. Elsewhere than on
    Linux nothing is done.
    """
    if not sys.platform.startswith("linux") or "llvmlite.binding" not in sys.modules:
        return
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split(maxsplit=5) for line in maps if "libllvmlite" in line]
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for where, rights, *_ in lines:
        # Only code: it is never written to, so that the file is its whole content.
        if rights == "r-xp":
            start, end = (int(part, 16) for part in where.split("-"))
            madvise(start, end - start, _MADV_DONTNEED)
