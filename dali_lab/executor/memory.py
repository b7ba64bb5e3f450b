"""Frees idle memory of the compiler."""

from __future__ import annotations

import ctypes
import sys

_MADV_DONTNEED = 4


def release_compiler() -> None:
    """Unmap the compiler's machine code: once kernels are loaded it is idle, and 50 MiB of it are resident.

    Pages that are needed again are mapped again, from the system's file cache. Does nothing except on Linux.
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
