"""Stores of results: the interface, and a store in the memory of the process."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.entries import OFFSET, Entries, Form, Rows
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer

_BLOCK = 64 << 20


class Store:
    """Keeps samples by their identity; all methods may be called by several threads.

    Parameters
    ----------
    form
        Of its rows.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.entries = Entries(form)

    def find(self, identities: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Which samples are kept, and their rows."""
        return self.entries.find(identities)

    @abstractmethod
    def read(self, rows: Rows, edge: int, addresses: Rows) -> npt.NDArray[np.bool_]:
        """Copy samples of an edge to addresses; tells which ones are whole."""

    @abstractmethod
    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        """Keep samples, if there is room; `batches` are those on each edge, `seconds` what computing them took."""

    def flush(self) -> None:
        """Wait until what was put is kept."""

    def close(self) -> None:
        """Finish writing, and release files and memory."""


class MemoryStore(Store):
    """Keeps samples in memory of the process.

    Parameters
    ----------
    form
        Of its rows.
    limit
        Most bytes; when they are used, nothing more is kept.
    above
        Only samples of more bytes are kept.
    """

    def __init__(self, form: Form, limit: int, above: int = 0) -> None:
        super().__init__(form)
        self._limit, self._above = limit, above
        self._used = 0
        self._lock = threading.Lock()
        self._blocks: list[npt.NDArray[np.uint8]] = []
        self._free = 0

    def read(self, rows: Rows, edge: int, addresses: Rows) -> npt.NDArray[np.bool_]:
        from dali_lab.kernels.cpu import copy

        copy.copy(rows[:, self.form.at(edge) + OFFSET].copy(), addresses, self.form.counts(rows, edge), 1)
        return np.ones(len(rows), np.bool_)

    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        from dali_lab.kernels.cpu import copy

        known, _ = self.entries.find(identities)
        wanted = np.flatnonzero(~known & identities.any(axis=1))
        if not len(wanted):
            return
        parts = [batch.take(wanted) for batch in batches]
        rows = self.form.described(identities[wanted], parts)
        if rows is None:
            return
        counts = [self.form.counts(rows, edge) for edge in range(self.form.edges)]
        large = np.sum(counts, axis=0) > self._above
        if not large.all():
            if large.any():
                self.put(np.where(large[:, None], identities[wanted], 0), parts, seconds)
            return
        start = self._reserve(int(sum(int(each.sum()) for each in counts)))
        if start is None:
            return
        for edge, (part, sizes) in enumerate(zip(parts, counts, strict=True)):
            ends = start + np.cumsum(sizes)
            rows[:, self.form.at(edge) + OFFSET] = ends - sizes
            copy.copy(part.addresses, ends - sizes, sizes, 1)
            start = int(ends[-1])
        self.entries.add(rows)

    def _reserve(self, nbytes: int) -> int | None:
        """Address of memory for so many bytes; `None` where there is no room."""
        with self._lock:
            if self._used + nbytes > self._limit:
                return None
            if not self._blocks or self._free + nbytes > len(self._blocks[-1]):
                try:
                    self._blocks.append(buffer(max(nbytes, min(_BLOCK, self._limit))))
                except MemoryError:
                    self._limit = self._used
                    return None
                self._free = 0
            start = self._blocks[-1].ctypes.data + self._free
            self._free += nbytes
            self._used += nbytes
            return start


def spans(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs of true values, as ``start`` and ``stop``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
