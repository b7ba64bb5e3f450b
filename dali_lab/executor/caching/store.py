"""Stores of results: the interface, and a store in the memory of the process."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.entries import OFFSET, Entries, Form, Rows
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer, is_own
from dali_lab.model.dtypes import DALIDataType

_BLOCK = 64 << 20
_SPARE = 8
"""Memory is kept as it is if at most one of so many bytes belongs to no sample."""


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

    def lend(self, rows: Rows, edge: int, shapes: Rows, dtype: DALIDataType, layout: str) -> Batch | None:
        """Samples of an edge, in memory that must not be written to; `None` where they have to be copied."""
        return None

    @abstractmethod
    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        """Keep samples, if there is room; `batches` are those on each edge, `seconds` what computing them took."""

    @property
    def takes_more(self) -> bool:
        """Whether samples may still be put."""
        return True

    @property
    def writing(self) -> float:
        """CPU seconds for a sample that keeping it takes after it was put."""
        return 0.0

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
    exposed
        For each edge whether its batches are outputs, which a program may write to; those of others are kept and given
        as they are.
    """

    def __init__(self, form: Form, limit: int, above: int = 0, exposed: Sequence[bool] = ()) -> None:
        super().__init__(form)
        self._limit, self._above = limit, above
        self._exposed = exposed or [True] * form.edges
        self._used = 0
        self._full = False
        self._lock = threading.Lock()
        self._owners: list[npt.NDArray[np.uint8]] = []
        self._block: npt.NDArray[np.uint8] | None = None
        self._free = 0

    def lend(self, rows: Rows, edge: int, shapes: Rows, dtype: DALIDataType, layout: str) -> Batch | None:
        if self._exposed[edge]:
            return None
        return Batch(rows[:, self.form.at(edge) + OFFSET].copy(), shapes, dtype, layout, (self._owners,))

    def read(self, rows: Rows, edge: int, addresses: Rows) -> npt.NDArray[np.bool_]:
        from dali_lab.kernels.cpu import copy

        copy.copy(rows[:, self.form.at(edge) + OFFSET].copy(), addresses, self.form.counts(rows, edge), 1)
        return np.ones(len(rows), np.bool_)

    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        known, _ = self.entries.find(identities)
        wanted = np.flatnonzero(~known & identities.any(axis=1))
        if not len(wanted):
            return
        parts = list(batches) if len(wanted) == len(identities) else [batch.take(wanted) for batch in batches]
        rows = self.form.described(identities[wanted], parts)
        if rows is None:
            return
        counts = [self.form.counts(rows, edge) for edge in range(self.form.edges)]
        large = np.sum(counts, axis=0) > self._above
        if not large.all():
            if large.any():
                self.put(np.where(large[:, None], identities[wanted], 0), parts, seconds)
            return
        total = int(sum(int(each.sum()) for each in counts))
        with self._lock:
            if self._used + total > self._limit:
                self._full = True
                return
            self._used += total
        try:
            for edge, (part, sizes) in enumerate(zip(parts, counts, strict=True)):
                places = self._held(part, sizes, self._exposed[edge])
                rows[:, self.form.at(edge) + OFFSET] = places
        except MemoryError:
            self._limit, self._full = self._used, True
            return
        self.entries.add(rows)

    @property
    def takes_more(self) -> bool:
        return not self._full

    def _held(self, batch: Batch, counts: Rows, exposed: bool) -> Rows:
        """Addresses of samples in memory that stays: their own if it is theirs alone, or that of a copy."""
        from dali_lab.kernels.cpu import copy

        nbytes = int(counts.sum())
        memory = batch.owners[0] if len(batch.owners) == 1 else None
        if not exposed and is_own(memory) and memory.nbytes <= nbytes + nbytes // _SPARE:
            self._owners.append(memory)
            return batch.addresses
        start = self._reserve(nbytes)
        ends = start + np.cumsum(counts)
        copy.copy(batch.addresses, ends - counts, counts, 1)
        return np.asarray(ends - counts, np.int64)

    def _reserve(self, nbytes: int) -> int:
        """Address of memory for so many bytes."""
        with self._lock:
            if self._block is None or self._free + nbytes > len(self._block):
                self._block = buffer(max(nbytes, min(_BLOCK, self._limit)))
                self._owners.append(self._block)
                self._free = 0
            start = self._block.ctypes.data + self._free
            self._free += nbytes
            return int(start)
