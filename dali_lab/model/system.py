"""Services of operating systems that are not portable, each with a portable way beside it.

``DALI_LAB_PLAIN=system`` takes the portable ways everywhere (see :mod:`dali_lab.kernels.cpu.machine`).
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import sys
import tempfile
import time
from typing import Any

from dali_lab.kernels.cpu.machine import uses
from dali_lab.model.control_groups import cpu_limit

_HUGE_PAGES = uses("system") and hasattr(mmap, "MADV_HUGEPAGE")
_NAMELESS_FILES = uses("system") and hasattr(os, "memfd_create")
DROPS_PAGES = uses("system") and hasattr(mmap, "MADV_DONTNEED")
"""Whether pages of memory can be given back while the memory stays mapped."""


def usable_cores() -> int:
    """Processors that this process may use: fewer than the machine has where its affinity or a container limits it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = cpu_limit()
    return cores if limit >= cores else max(1, math.ceil(limit))


def idle_seconds() -> float:
    """Seconds that the processors of this machine have been idle, all together: its differences count.

    Only Linux tells; elsewhere all that this process does not use counts as idle.
    """
    if uses("system"):
        with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/stat", "rb") as file:
            idle, waiting = file.readline().split()[4:6]
            return (int(idle) + int(waiting)) / os.sysconf("SC_CLK_TCK")
    return usable_cores() * time.perf_counter() - time.process_time()


def peak_memory() -> int:
    """The most bytes of memory that this process has held."""
    if sys.platform == "win32":
        counters = (ctypes.c_size_t * 9)(9 * ctypes.sizeof(ctypes.c_size_t))  # the size, the peak, and others
        ctypes.WinDLL("kernel32").K32GetProcessMemoryInfo(ctypes.c_void_p(-1), counters, counters[0])
        return counters[1]
    try:
        # The system's count for a process begins with the program that started it; this begins with this one.
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10
    except (OSError, StopIteration):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10


def map_memory(nbytes: int) -> mmap.mmap:
    """Memory of this process alone, in large pages where there are any."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, nbytes)
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if _HUGE_PAGES:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def drop_pages(memory: mmap.mmap, first: int, nbytes: int) -> None:
    """Give pages back to the system; they read as zeros from then on, or stay where that cannot be done."""
    if DROPS_PAGES:
        memory.madvise(mmap.MADV_DONTNEED, first, nbytes)


def drop_code_pages(library: str) -> None:
    """Give the pages of a loaded library's code back, on Linux; those that are needed again are read again."""
    if not uses("system") or not sys.platform.startswith("linux"):
        return
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split(maxsplit=5) for line in maps if library in line]
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for where, rights, *_ in lines:
        # Only code: it is never written to, so that the file is its whole content.
        if rights == "r-xp":
            start, end = (int(part, 16) for part in where.split("-"))
            madvise(start, end - start, mmap.MADV_DONTNEED)


def nameless_file(size: int) -> int:
    """A file without a name, as a descriptor: it is gone when no process holds it any more, however they end."""
    if _NAMELESS_FILES:
        handle = os.memfd_create("dali-lab")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    os.ftruncate(handle, size)
    return handle


def start_of(process: int) -> str | None:
    """Something that tells a process from all others that have its id, before or after it.

    Only Linux tells; `None` elsewhere, and where no such process is at work.
    """
    if not uses("system"):
        return None
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            state, *fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return None if state in (b"Z", b"X") else f"{boot} {int(fields[18])}"
    except (OSError, ValueError, IndexError):
        return None


def is_running(process: int, start: str | None = None) -> bool:
    """Whether there is a process with an id; true if that cannot be told.

    Parameters
    ----------
    process
        Its id.
    start
        What :func:`start_of` told of it: another process with its id is not meant.
    """
    if start is not None and start_of(os.getpid()) is not None:
        return start_of(process) == start
    if sys.platform == "win32":  # where os.kill would end the process
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _is_running_on_windows(process: int, kernel32: Any = None) -> bool:
    query_limited_information, invalid_parameter, still_active = 0x1000, 87, 259
    library = kernel32 or ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    library.OpenProcess.restype = ctypes.c_void_p
    handle = library.OpenProcess(query_limited_information, False, process & 0xFFFFFFFF)
    if not handle:
        return bool(library.GetLastError() != invalid_parameter)
    try:
        code = ctypes.c_uint32()
        return not library.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code)) or code.value == still_active
    finally:
        library.CloseHandle(ctypes.c_void_p(handle))
