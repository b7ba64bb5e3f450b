"""Turns between processes: who begins on something keeps the others waiting until it is done."""

from __future__ import annotations

import contextlib
import functools
import os
import time
import zlib
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 30.0
"""Seconds after which a process goes on without its turn; the one before it may have been stopped."""


@contextlib.contextmanager
def locked(file: str, subject: str) -> Iterator[None]:
    """Keep other processes from the same subject.

    Threads of this process do not wait for each other. Where files cannot be locked (Windows, some network disks),
    nothing waits.

    Parameters
    ----------
    file
        It is made if need be, with its folder, and stays. It has room for all subjects: each locks one byte of it.
    subject
        The name of what processes do by turns.
    """
    place = zlib.crc32(subject.encode())
    held = False
    if fcntl is not None:
        with contextlib.suppress(OSError):
            held = _take(_opened(file, os.getpid()), place)
    try:
        yield
    finally:
        if held:
            with contextlib.suppress(OSError):
                fcntl.lockf(_opened(file, os.getpid()), fcntl.LOCK_UN, 1, place)


def _take(descriptor: int, place: int) -> bool:
    """Whether the byte was locked."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        else:
            return True


@functools.cache
def _opened(file: str, process: int) -> int:
    """A file's descriptor for the life of a process: closing any one of them would release all its locks."""
    os.makedirs(os.path.dirname(file), exist_ok=True)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
