"""The rate at which kept samples will be read from a disk."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path

from dali_lab.model.buffers import memory_of_machine

_TRIED = 4 << 20
"""Bytes that are written and read to measure a disk."""
OF_MEMORY = 4e9
"""Bytes a second of files that the system keeps in memory."""


def rate_of_disk(folder: Path, nbytes: float) -> float:
    """Bytes a second at which files of `nbytes` in all will be read again: those of memory if they fit into half of it.

    The disk is measured with a file of its own, which the system is asked not to keep in memory.
    """
    if 0 < nbytes < memory_of_machine() // 2 or not hasattr(os, "posix_fadvise"):
        return OF_MEMORY
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
        file.write(os.urandom(_TRIED))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.perf_counter()
        os.pread(file.fileno(), _TRIED, 0)
        return min(OF_MEMORY, _TRIED / max(1e-6, time.perf_counter() - began))
    return OF_MEMORY
