"""Results kept in a folder that several processes share: reads of all their data, writes by a thread of its own."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.compression import Compression
from dali_lab.executor.caching.entries import OFFSET, STORED, SUM, Form, Rows
from dali_lab.executor.caching.folder import DATA, make_room, open_part, used_bytes
from dali_lab.executor.caching.index_file import INDEX, block, head, read_index
from dali_lab.executor.caching.rates import rate_of_disk
from dali_lab.executor.caching.written_store import Waiting, WrittenStore, sums

_FILE = 1 << 30
"""Bytes of data after which the next file is begun."""
_INDEX_EVERY = 16 << 20
"""Bytes of data after which the index is extended, if nothing makes the writer pause before."""
_LOOK_EVERY = 2.0
"""Least seconds between two looks for what other processes have written."""
_SPARE = 64 << 20
"""Bytes of the disk that are left free."""


@dataclass
class _FilesOfOthers:
    """The files of another process: the number of the data, and how far the index has been read."""

    number: int
    form: Form
    read: int


class FolderStore(WrittenStore):
    """Keeps samples in a part of a cache folder.

    Parameters
    ----------
    root
        The cache folder.
    meaning
        What the results are; see :func:`~dali_lab.executor.caching.folder.open_part`.
    form
        Of its rows.
    limit
        Most bytes of the whole folder; `None` for as many as the disk has.
    samples
        How many samples there are; 0 where it is not known.
    exposed
        For each edge whether its batches are outputs, which a program may write to.

    Raises
    ------
    UnusableCacheError
        If the folder cannot be used.
    """

    def __init__(
        self, root: Path, meaning: str, form: Form, limit: int | None, samples: int = 0, exposed: Sequence[bool] = ()
    ) -> None:
        self._used = used_bytes(root)
        room = free_bytes(root) if limit is None else min(limit, self._used + free_bytes(root))
        compression = Compression(functools.partial(rate_of_disk, root), room, samples)
        super().__init__(form, str(root), compression, exposed or [True] * form.edges)
        self._root, self._limit = root, limit
        self._part = open_part(root, meaning)
        self._handles: list[int] = []
        self._files: dict[str, _FilesOfOthers | None] = {}
        self._own: _OwnFiles | None = None
        self._looked = -np.inf
        self._finalizer = weakref.finalize(self, _close_all, self._handles)
        self._finalizer.atexit = False  # threads may still read, and the system closes files
        self._look()

    # -- what other processes have written --------------------------------------------------------------------------

    def _look(self) -> None:
        if time.monotonic() - self._looked < _LOOK_EVERY:
            return
        with self._lock:
            try:
                names = sorted(name for name in os.listdir(self._part) if name.endswith(INDEX))
            except OSError:
                names = []
            for name in names:
                with contextlib.suppress(OSError):
                    self._take_in(name)
            self._looked = time.monotonic()

    def _take_in(self, name: str) -> None:
        path = self._part / name
        known = self._files.get(name)
        if name in self._files and known is None:
            return
        index = read_index(path, known.read, known.form) if known is not None else read_index(path)
        if known is None:
            if not self._is_own(index, name):
                self._files[name] = None
                return
            handle = os.open(path.with_suffix(DATA), os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self._handles.append(handle)
            known = self._files[name] = _FilesOfOthers(len(self._handles) - 1, self.form, 0)
            with contextlib.suppress(OSError):
                os.utime(path)  # it is in use
        known.read = index.nbytes
        self._enter(index, known.number)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _fetch(self, rows: Rows, edge: int, addresses: Rows, found: Rows) -> npt.NDArray[np.bool_]:
        from dali_lab.kernels.cpu import background, file_access

        at = self.form.at(edge)
        handles = np.array(self._handles, np.int64)[rows[:, self.form.words]]
        offsets, counts = rows[:, at + OFFSET].copy(), rows[:, at + STORED].copy()
        whole = np.ones(len(rows), np.bool_)
        done = 0
        while done < len(rows):
            left = handles[done:], offsets[done:], counts[done:], addresses[done:]
            if file_access.AVAILABLE and background.ready(file_access.read_summed, *left, found[done:]):
                done += file_access.read_summed(*left, found[done:])
            else:
                now = self._each(_read_at, *left)
                found[done : done + now] = sums(addresses[done : done + now], counts[done : done + now])
                done += now
            if done < len(rows):
                whole[done] = False
                done += 1
        return whole

    def _each(
        self,
        move: Callable[[int, int, int, int, threading.Lock], bool],
        handles: Rows,
        offsets: Rows,
        counts: Rows,
        addresses: Rows,
    ) -> int:
        """Read or write pieces of files one by one in Python; returns how many were done before one failed."""
        columns = (each.tolist() for each in (handles, offsets, counts, addresses))
        for index, (handle, offset, count, address) in enumerate(zip(*columns, strict=True)):
            if not move(handle, address, count, offset, self._lock):
                return index
        return len(handles)

    # -- writing ----------------------------------------------------------------------------------------------------

    def _write(self, item: Waiting) -> None:
        written = self._packed(item)
        nbytes = self.form.stored(item.rows)
        if not self._has_room(nbytes, item.seconds):
            return
        own = self._own
        if own is None or own.end > _FILE:
            self._settle()
            own = self._own = self._begin_file()
        for edge, batch in enumerate(written):
            at = self.form.at(edge)
            counts = item.rows[:, at + STORED].copy()
            ends = own.end + np.cumsum(counts)
            item.rows[:, at + OFFSET] = ends - counts
            found = self._append(np.full(len(counts), own.handle, np.int64), ends - counts, counts, batch.addresses)
            if not self._exposed[edge]:
                item.rows[:, at + SUM] = found
            own.end = int(ends[-1])
        self._used += nbytes
        item.rows[:, self.form.words] = own.number
        rows = item.rows[self._unchanged(item, written)]
        self.entries.add(rows)
        own.rows.append(rows)
        own.seconds += item.seconds
        if own.end - own.indexed > _INDEX_EVERY:
            self._settle()

    def _append(self, handles: Rows, offsets: Rows, counts: Rows, addresses: Rows) -> Rows:
        """Write samples; returns their sums."""
        from dali_lab.kernels.cpu import background, file_access

        tables = handles, offsets, counts, np.ascontiguousarray(addresses)
        done, found = 0, np.zeros(len(counts), np.int64)
        if file_access.AVAILABLE and background.ready(file_access.write_ranges, *tables, found):
            done = file_access.write_ranges(*tables, found)
        if done < len(counts):  # Python's own calls tell the reason where one has failed
            found[done:] = sums(addresses[done:], counts[done:])
            self._each(_write_at, *(each[done:] for each in tables))
        return found

    def _has_room(self, nbytes: int, seconds: float) -> bool:
        over = 0 if self._limit is None else self._used + nbytes - self._limit
        if over > 0:
            self._used = used_bytes(self._root)  # others write and remove, too
            over = self._used + nbytes - self._limit if self._limit is not None else 0
        if over > 0:
            self._used -= make_room(self._root, self._part, over, seconds / max(1, nbytes))
            if self._limit is not None and self._used + nbytes > self._limit:
                self._full = True
                return False
        if free_bytes(self._part) < nbytes:
            raise OSError("there is no room left on the disk")
        return True

    def _begin_file(self) -> _OwnFiles:
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(self._part / f"{name}{DATA}", flags, 0o666)
        with self._lock:
            self._handles.append(handle)
            self._files[f"{name}{INDEX}"] = None
            return _OwnFiles(self._part / f"{name}{INDEX}", handle, len(self._handles) - 1)

    def _settle(self) -> None:
        own = self._own
        if own is None or not own.rows:
            return
        rows = np.concatenate(own.rows)
        own.rows.clear()
        rows[:, self.form.words] = 0
        content = block(rows, own.seconds)
        with own.index.open("ab", buffering=0) as file:
            file.write(content if file.tell() else head(self.form) + content)
        own.seconds, own.indexed = 0.0, own.end

    def close(self) -> None:
        super().close()
        self._finalizer()


@dataclass
class _OwnFiles:
    """The files that this process writes: the end of the data, what the index lacks, and from where on."""

    index: Path
    handle: int
    number: int
    end: int = 0
    indexed: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.rows: list[Rows] = []


def _close_all(handles: list[int]) -> None:
    while handles:
        with contextlib.suppress(OSError):
            os.close(handles.pop())


def _read_at(handle: int, address: int, count: int, offset: int, lock: threading.Lock) -> bool:
    """Read part of a file to an address; whether it was there."""
    done = 0
    while done < count:
        target = (ctypes.c_char * (count - done)).from_address(address + done)
        try:
            if hasattr(os, "preadv"):
                got = os.preadv(handle, [target], offset + done)
            else:
                with lock:
                    os.lseek(handle, offset + done, os.SEEK_SET)
                    data = os.read(handle, len(target))
                ctypes.memmove(target, data, len(data))
                got = len(data)
        except OSError:
            got = 0
        if not got:
            return False
        done += got
    return True


def _write_at(handle: int, address: int, count: int, offset: int, lock: threading.Lock) -> bool:
    """Write memory into a file.

    Raises
    ------
    OSError
        If that fails.
    """
    done = 0
    while done < count:
        data = (ctypes.c_char * (count - done)).from_address(address + done)
        if hasattr(os, "pwrite"):
            done += os.pwrite(handle, data, offset + done)
            continue
        with lock:
            os.lseek(handle, offset + done, os.SEEK_SET)
            done += os.write(handle, data)
    return True


def free_bytes(folder: Path) -> float:
    """Bytes that may still be written to the disk of a folder."""
    if not hasattr(os, "statvfs"):
        return np.inf
    disk = os.statvfs(folder)
    return max(0, disk.f_bavail * disk.f_frsize - _SPARE)
