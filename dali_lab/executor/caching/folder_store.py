"""Results kept in a folder that several processes share: reads of all their data, writes by a thread of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.entries import OFFSET, SUM, Form, Rows
from dali_lab.executor.caching.folder import DATA, make_room, open_part, used_bytes
from dali_lab.executor.caching.index_file import INDEX, block, head, read_index
from dali_lab.executor.caching.store import Store
from dali_lab.model.batch import Batch

PENDING = 32 << 20
"""Most bytes that wait to be written: what comes beyond is kept in a later epoch."""
_FILE = 1 << 30
"""Bytes of data after which the next file is begun."""
_INDEX_EVERY = 16 << 20
"""Bytes of data after which the index is extended, if nothing makes the writer pause before."""
_LOOK_EVERY = 2.0
"""Least seconds between two looks for what other processes have written."""
_SPARE = 64 << 20
"""Bytes of the disk that are left free."""
_PATIENCE = 2.0
"""Seconds spent on reading from which on a slow disk is noticed."""


@dataclass
class _Others:
    """The files of another process: the number of the data, and how far the index has been read."""

    number: int
    form: Form
    read: int


@dataclass
class _Waiting:
    """Samples that wait to be written, with their rows; these have sums, and no places yet."""

    rows: Rows
    batches: Sequence[Batch]
    nbytes: int
    seconds: float


class FolderStore(Store):
    """Keeps samples in a part of a cache folder.

    Samples are read with their sums checked, so damage of any kind is a sample that is not there. Samples are
    written by a thread that lives while there is something to write. Where writing fails, nothing more is written.

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

    Raises
    ------
    UnusableCacheError
        If the folder cannot be used.
    """

    def __init__(self, root: Path, meaning: str, form: Form, limit: int | None) -> None:
        super().__init__(form)
        self._root, self._limit = root, limit
        self._part = open_part(root, meaning)
        self._lock = threading.Lock()
        self._done = threading.Condition(self._lock)
        self._handles: list[int] = []
        self._files: dict[str, _Others | None] = {}
        self._waiting: deque[_Waiting] = deque()
        self._pending = 0
        self._writer: threading.Thread | None = None
        self._own: _Own | None = None
        self._used = used_bytes(root)
        self._full = False
        self._told: set[str] = set()
        self._looked = 0.0
        self._reading, self._made, self._made_bytes = 0.0, 0.0, 0
        self._read_bytes = 0
        self._slow = False
        self._finalizer = weakref.finalize(self, _close_all, self._handles)
        self._look()

    # -- what other processes have written --------------------------------------------------------------------------

    def find(self, identities: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        if self._slow:
            return np.zeros(len(identities), np.bool_), np.zeros((0, self.form.width), np.int64)
        found, rows = self.entries.find(identities)
        if not found.all() and time.monotonic() - self._looked > _LOOK_EVERY:
            self._look()
            found, rows = self.entries.find(identities)
        return found, rows

    def _look(self) -> None:
        """Take in new blocks of the indexes."""
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
            if index.form is None or (index.form.words, index.form.edges) != (self.form.words, self.form.edges):
                self._files[name] = None
                self._tell("foreign", f"'{path}' is no index of this cache, and is left alone")
                return
            handle = os.open(path.with_suffix(DATA), os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self._handles.append(handle)
            known = self._files[name] = _Others(len(self._handles) - 1, self.form, 0)
            with contextlib.suppress(OSError):
                os.utime(path)  # it is in use
        known.read = index.nbytes
        index.rows[:, self.form.words] = known.number
        self._made += index.seconds
        self._made_bytes += self.form.total(index.rows)
        self.entries.add(index.rows)

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, rows: Rows, edge: int, addresses: Rows) -> npt.NDArray[np.bool_]:
        from dali_lab.kernels.cpu import background, file_access

        began = time.perf_counter()
        at = self.form.at(edge)
        counts = self.form.counts(rows, edge)
        handles = np.array(self._handles, np.int64)[rows[:, self.form.words]]
        offsets = rows[:, at + OFFSET].copy()
        addresses = np.ascontiguousarray(addresses)
        whole = np.ones(len(rows), np.bool_)
        done = 0
        while done < len(rows):
            left = handles[done:], offsets[done:], counts[done:], addresses[done:]
            if file_access.AVAILABLE and background.ready(file_access.read_ranges, *left):
                done += file_access.read_ranges(*left)
            else:
                done += self._read_plain(*left)
            if done < len(rows):
                whole[done] = False
                done += 1
        sums = np.zeros(len(rows), np.int64)
        counts[~whole] = 0
        background.call(file_access.sums, addresses, counts, sums, meanwhile=file_access.sums_plain)
        whole &= sums == rows[:, at + SUM]
        if not whole.all():
            self.entries.drop(rows[~whole])
            self._tell("damaged", f"the cache '{self._part}' is damaged; damaged samples are computed again")
        self._note_reading(time.perf_counter() - began, int(counts.sum()))
        return whole

    def _read_plain(self, handles: Rows, offsets: Rows, counts: Rows, addresses: Rows) -> int:
        """:func:`~dali_lab.kernels.cpu.file_access.read_ranges` in Python."""
        for index in range(len(handles)):
            done, count = 0, int(counts[index])
            while done < count:
                target = (ctypes.c_char * (count - done)).from_address(int(addresses[index]) + done)
                try:
                    got = _read_at(int(handles[index]), target, int(offsets[index]) + done, self._lock)
                except OSError:
                    got = 0
                if not got:
                    return index
                done += got
        return len(handles)

    def _note_reading(self, seconds: float, nbytes: int) -> None:
        self._reading += seconds
        self._read_bytes += nbytes
        if self._reading > _PATIENCE and self._made_bytes and self._made > 0 and not self._slow:
            made_anew = self._made / self._made_bytes * self._read_bytes
            if self._reading > 2 * made_anew:
                self._slow = True
                self._tell(
                    "slow", f"reading from the cache '{self._root}' takes longer than the work; it is left alone"
                )

    # -- writing ----------------------------------------------------------------------------------------------------

    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        from dali_lab.kernels.cpu import background, file_access

        if self._full or self._slow:
            return
        known, _ = self.entries.find(identities)
        wanted = np.flatnonzero(~known & identities.any(axis=1))
        if not len(wanted):
            return
        parts = [batch.take(wanted) for batch in batches]
        rows = self.form.described(identities[wanted], parts)
        if rows is None:
            return
        nbytes = self.form.total(rows)
        with self._lock:
            if self._pending + nbytes > PENDING:
                return
            self._pending += nbytes
        for edge, part in enumerate(parts):
            sums = np.zeros(len(part), np.int64)
            counts, addresses = self.form.counts(rows, edge), np.ascontiguousarray(part.addresses)
            background.call(file_access.sums, addresses, counts, sums, meanwhile=file_access.sums_plain)
            rows[:, self.form.at(edge) + SUM] = sums
        with self._lock:
            self._waiting.append(_Waiting(rows, parts, nbytes, seconds * len(wanted) / len(identities)))
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="dali-lab-cache")
                self._writer.start()

    def _write_all(self) -> None:
        """Write until nothing waits; the body of the writer."""
        while True:
            with self._lock:
                item = self._waiting.popleft() if self._waiting else None
            try:
                if item is None:
                    self._extend_index()
                else:
                    self._write(item)
            except OSError as error:
                self._give_up(error)
            except Exception as error:  # whatever it is, it must not end training
                self._give_up(error)
            with self._lock:
                if item is not None:
                    self._pending -= item.nbytes
                elif not self._waiting:
                    self._writer = None
                    self._done.notify_all()
                    return

    def _write(self, item: _Waiting) -> None:
        if self._full:
            return
        known, _ = self.entries.find(item.rows[:, : self.form.words])
        if known.all() or not self._has_room(item):
            return
        own = self._own
        if own is None or own.end > _FILE:
            self._extend_index()
            own = self._own = self._begin_file()
        for edge, batch in enumerate(item.batches):
            counts = self.form.counts(item.rows, edge)
            ends = own.end + np.cumsum(counts)
            item.rows[:, self.form.at(edge) + OFFSET] = ends - counts
            for address, count, offset in zip(
                batch.addresses.tolist(), counts.tolist(), (ends - counts).tolist(), strict=True
            ):
                _write_at(own.handle, address, count, offset, self._lock)
            own.end = int(ends[-1])
        self._used += item.nbytes
        item.rows[:, self.form.words] = own.number
        rows = item.rows[self._unchanged(item)]
        self.entries.add(rows)
        own.rows.append(rows)
        own.seconds += item.seconds
        if own.end - own.indexed > _INDEX_EVERY:
            self._extend_index()

    def _unchanged(self, item: _Waiting) -> npt.NDArray[np.bool_]:
        """Which samples still hold what they held when they were put: outputs may be written to by a program."""
        from dali_lab.kernels.cpu import background, file_access

        same = np.ones(len(item.rows), np.bool_)
        for edge, batch in enumerate(item.batches):
            sums = np.zeros(len(batch), np.int64)
            counts, addresses = self.form.counts(item.rows, edge), np.ascontiguousarray(batch.addresses)
            background.call(file_access.sums, addresses, counts, sums, meanwhile=file_access.sums_plain)
            same &= sums == item.rows[:, self.form.at(edge) + SUM]
        return same

    def _has_room(self, item: _Waiting) -> bool:
        over = 0 if self._limit is None else self._used + item.nbytes - self._limit
        if over > 0:
            self._used = used_bytes(self._root)  # others write and remove, too
            over = self._used + item.nbytes - self._limit if self._limit is not None else 0
        if over > 0:
            self._used -= make_room(self._root, self._part, over, item.seconds / max(1, item.nbytes))
            if self._limit is not None and self._used + item.nbytes > self._limit:
                self._full = True
                return False
        if hasattr(os, "statvfs"):
            disk = os.statvfs(self._part)
            if disk.f_bavail * disk.f_frsize < item.nbytes + _SPARE:
                raise OSError("there is no room left on the disk")
        return True

    def _begin_file(self) -> _Own:
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(self._part / f"{name}{DATA}", flags, 0o666)
        with self._lock:
            self._handles.append(handle)
            self._files[f"{name}{INDEX}"] = None
            return _Own(self._part / f"{name}{INDEX}", handle, len(self._handles) - 1)

    def _extend_index(self) -> None:
        """Tell other processes, and later ones, of what was written."""
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

    def _give_up(self, error: Exception) -> None:
        self._full = True
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        self._tell("unwritable", f"nothing more is kept in the cache '{self._root}': {reason}")

    def _tell(self, kind: str, message: str) -> None:
        """Warn once of each kind of trouble; the pipeline goes on in any case."""
        if kind not in self._told:
            self._told.add(kind)
            with contextlib.suppress(Warning):
                warnings.warn(message, RuntimeWarning, stacklevel=2)

    # -- ending -----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        with self._lock:
            while self._writer is not None:
                self._done.wait()

    def close(self) -> None:
        self.flush()
        self._full = True
        self._finalizer()


@dataclass
class _Own:
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


def _read_at(handle: int, target: ctypes.Array[ctypes.c_char], offset: int, lock: threading.Lock) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(handle, [target], offset)
    with lock:
        os.lseek(handle, offset, os.SEEK_SET)
        data = os.read(handle, len(target))
    ctypes.memmove(target, data, len(data))
    return len(data)


def _write_at(handle: int, address: int, count: int, offset: int, lock: threading.Lock) -> None:
    done = 0
    while done < count:
        data = (ctypes.c_char * (count - done)).from_address(address + done)
        if hasattr(os, "pwrite"):
            done += os.pwrite(handle, data, offset + done)
            continue
        with lock:
            os.lseek(handle, offset + done, os.SEEK_SET)
            done += os.write(handle, data)
