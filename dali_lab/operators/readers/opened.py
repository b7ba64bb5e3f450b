"""Open files, and reads at offsets into memory."""

from __future__ import annotations

import os
import threading

import numpy as np
import numpy.typing as npt

from dali_lab.io.roots import open_within


class OpenedFile:
    """An open file, which is closed with its last reference."""

    __slots__ = ("_file", "handle", "state")

    def __init__(self, path: str) -> None:
        self._file = open_within(path, buffering=0)
        self.handle = self._file.fileno()
        self.state = self.now()

    def now(self) -> tuple[int, int]:
        """Its size and time of change."""
        found = os.fstat(self.handle)
        return found.st_size, found.st_mtime_ns

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def read_into(handle: int, offset: int, memory: npt.NDArray[np.uint8]) -> bool:
    """Read bytes of an open file to memory; whether they were all there."""
    at = 0
    while at < len(memory):
        if hasattr(os, "preadv"):
            got = os.preadv(handle, [memory[at:].data], offset + at)
        else:
            with open(os.dup(handle), "rb", buffering=0) as file, _SEEKING:
                file.seek(offset + at)
                got = file.readinto(memory[at:].data) or 0
        if not got:
            return False
        at += got
    return True


_SEEKING = threading.Lock()
"""Held between seeking and reading where the system cannot do both in one call."""
