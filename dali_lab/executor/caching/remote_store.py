"""Results kept in an object store: written in objects of some megabytes, read by ranges, several at a time."""

from __future__ import annotations

import ctypes
import os
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.compression import Compression
from dali_lab.executor.caching.entries import OFFSET, STORED, SUM, Form, Rows
from dali_lab.executor.caching.folder import DATA
from dali_lab.executor.caching.index_file import INDEX, block, head, parsed
from dali_lab.executor.caching.remote_folder import get, listed, open_part, put, remove_object, used_bytes
from dali_lab.executor.caching.written_store import Waiting, WrittenStore, sums
from dali_lab.io.remote.requests import submit

_OBJECT = 32 << 20
"""Bytes of an object, about; the last one is smaller."""
_LOOK_EVERY = 30.0
"""Least seconds between two looks for what other processes have written."""
_GAP = 64 << 10
"""Bytes between two samples that are read with them rather than asked for apart."""
_TRIED = 1 << 20
"""Bytes that are written and read to measure the store."""


@dataclass
class _Beginning:
    """An object that is not written yet."""

    data: bytearray = field(default_factory=bytearray)
    rows: list[Rows] = field(default_factory=list)
    seconds: float = 0.0


class RemoteStore(WrittenStore):
    """Keeps samples in a part of a cache folder in an object store.

    Arguments are those of :class:`~dali_lab.executor.caching.folder_store.FolderStore`; `root` is a URL.
    """

    def __init__(
        self, root: str, meaning: str, form: Form, limit: int | None, samples: int = 0, exposed: Sequence[bool] = ()
    ) -> None:
        self._used = 0 if limit is None else used_bytes(root)
        self._limit = limit
        compression = Compression(lambda nbytes: rate_of(root), np.inf if limit is None else limit, samples)
        super().__init__(form, root, compression, exposed or [True] * form.edges)
        self._part = open_part(root, meaning)
        self._objects: list[str | _Beginning] = []
        self._known: set[str] = set()
        self._own: int | None = None
        self._looked = -np.inf
        self._look()

    def _look(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked < _LOOK_EVERY:
                return
            self._looked = time.monotonic()
        try:
            for name in sorted(found.name for found in listed(self._part)):
                if name.endswith(INDEX) and name not in self._known:
                    self._known.add(name)
                    self._take_in(name)
        except OSError as error:
            self._tell("unread", f"the cache '{self._place}' cannot be read: {error}")

    def _take_in(self, name: str) -> None:
        index = parsed(get(f"{self._part}/{name}"))
        if self._is_own(index, name):
            with self._lock:
                number = len(self._objects)
                self._objects.append(f"{self._part}/{name.removesuffix(INDEX)}{DATA}")
            self._enter(index, number)

    def _fetch(self, rows: Rows, edge: int, addresses: Rows, found: Rows) -> npt.NDArray[np.bool_]:
        at = self.form.at(edge)
        numbers, offsets, counts = rows[:, self.form.words], rows[:, at + OFFSET], rows[:, at + STORED]
        ends = offsets + counts
        whole = np.zeros(len(rows), np.bool_)
        asked: list[tuple[list[int], Future[memoryview]]] = []
        group: list[int] = []
        for index in [*np.lexsort((offsets, numbers)).tolist(), None]:
            last = group[-1] if group else None
            if index is not None and (
                last is None or (numbers[index] == numbers[last] and offsets[index] - ends[last] <= _GAP)
            ):
                group.append(index)
                continue
            if group:
                asked.append((group, self._ask(int(numbers[group[0]]), int(offsets[group[0]]), int(ends[group].max()))))
            group = [] if index is None else [index]
        for group, future in asked:
            try:
                data = future.result()
            except OSError as error:
                self._tell("damaged", f"the cache '{self._place}' cannot be read, so samples are computed: {error}")
                continue
            for index in group:
                start = int(offsets[index] - offsets[group[0]])
                piece = data[start : start + int(counts[index])]
                if len(piece) == counts[index]:
                    ctypes.memmove(int(addresses[index]), np.frombuffer(piece, np.uint8).ctypes.data, len(piece))
                    whole[index] = True
        found[:] = sums(addresses, np.where(whole, counts, 0))
        return whole

    def _ask(self, number: int, start: int, stop: int) -> Future[memoryview]:
        """Part of an object, soon."""
        with self._lock:
            found = self._objects[number]
            if isinstance(found, _Beginning):
                here: Future[memoryview] = Future()
                here.set_result(memoryview(found.data[start:stop]))
                return here
        return submit(lambda: get(found, start, stop - start))

    def _write(self, item: Waiting) -> None:
        written = self._packed(item)
        nbytes = self.form.stored(item.rows)
        if self._limit is not None and self._used + nbytes > self._limit:
            self._full = True
            return
        with self._lock:
            if self._own is None:
                self._objects.append(_Beginning())
                self._own = len(self._objects) - 1
            own = self._objects[self._own]
        assert isinstance(own, _Beginning)
        for edge, batch in enumerate(written):
            at = self.form.at(edge)
            counts = item.rows[:, at + STORED]
            if not self._exposed[edge]:
                item.rows[:, at + SUM] = sums(batch.addresses, counts)
            item.rows[:, at + OFFSET] = len(own.data) + np.cumsum(counts) - counts
            data = b"".join(map(ctypes.string_at, batch.addresses.tolist(), counts.tolist()))
            with self._lock:
                own.data += data
        self._used += nbytes
        item.rows[:, self.form.words] = self._own
        rows = item.rows[self._unchanged(item, written)]
        self.entries.add(rows)
        own.rows.append(rows)
        own.seconds += item.seconds
        if len(own.data) >= _OBJECT:
            self._send()

    def _settle(self) -> None:
        """Do nothing: objects are written once they are large enough, and the last one at the end."""

    def _send(self) -> None:
        """Write the object that was begun, and then its index, by which others find it."""
        if self._own is None:
            return
        own, number = self._objects[self._own], self._own
        assert isinstance(own, _Beginning)
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        rows = np.concatenate(own.rows)
        rows[:, self.form.words] = 0
        self._known.add(f"{name}{INDEX}")
        self._own = None
        put(f"{self._part}/{name}{DATA}", bytes(own.data))
        put(f"{self._part}/{name}{INDEX}", head(self.form) + block(rows, own.seconds))
        with self._lock:
            self._objects[number] = f"{self._part}/{name}{DATA}"

    def end(self) -> None:
        super().end()
        try:
            if "unwritable" not in self._told:
                self._send()
        except OSError as error:
            self._give_up(error)


def rate_of(root: str) -> float:
    """Bytes a second that are read from a store, measured with an object of its own."""
    url = f"{root}/{secrets.token_hex(8)}.trial"
    put(url, os.urandom(_TRIED))
    began = time.perf_counter()
    get(url)
    spent = time.perf_counter() - began
    remove_object(url)
    return _TRIED / max(1e-6, spent)
