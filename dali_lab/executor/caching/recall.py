"""Asks a cache for the samples of a chunk, and keeps those that were computed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.entries import Form, Rows
from dali_lab.executor.caching.filling import Filling
from dali_lab.executor.caching.store import Store
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.schema.call import Call
from dali_lab.schema.operator import Operator

Place = Callable[[Edge, npt.NDArray[np.int64], DALIDataType, str], Batch | None]


@dataclass
class CachedChunk:
    """The part of a chunk that was in the cache.

    Attributes
    ----------
    identities
        Of its samples.
    there
        ``bool[N]``: which samples it had.
    rows
        Where it has those.
    batches
        Those, on each edge.
    """

    identities: Rows
    there: npt.NDArray[np.bool_]
    rows: Rows
    batches: dict[Edge, Batch] = field(default_factory=dict)


@dataclass
class CachedSteps:
    """The steps at the beginning of a stage whose results are kept.

    Attributes
    ----------
    count
        How many steps there are.
    edges
        The edges that leave them.
    sources
        Nodes of the readers among them, with their operators, in order.
    origins
        For each edge the output of a reader whose sources are those of its samples.
    exposed
        For each edge whether it leaves the stage, so that a program may write to its batches.
    open
        Makes the store once it is known how long identities are; `None` where it cannot be used.
    filling
        Decides which chunks are kept, where chunks can be computed as without a cache, too.
    by_content
        Whether files are told apart by digests of their bytes.
    beside
        The edge whose results come out of the steps without a cache as well (:attr:`Call.aside`), if there is one.
    """

    count: int
    edges: tuple[Edge, ...]
    sources: dict[str, Operator]
    origins: tuple[Edge, ...]
    exposed: tuple[bool, ...]
    open: Callable[[Form], Store | None]
    filling: Filling | None = None
    by_content: bool = False
    beside: Edge | None = None
    store: Store | None = None
    _opened: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_open(self, words: int) -> bool:
        """Whether there is a store, opened by the first chunk, for identities of so many words."""
        if not self._opened:
            with self._lock:
                if not self._opened:
                    self.store = self.open(Form(words, len(self.edges)))
                    self._opened = True
        return self.store is not None

    def identities(self, calls: dict[str, Call]) -> Rows | None:
        """The identities of the samples of a chunk; `None` where they have none. Rows of zeros are not known."""
        columns: list[Rows] = []
        known: npt.NDArray[np.bool_] | np.bool_ = np.True_
        for name, operator in self.sources.items():
            own = operator.identities(calls[name], self.by_content)
            if own is None:
                return None
            if len(self.sources) == 1:
                return own
            known = known & own.any(axis=1)
            columns.append(own)
        found = np.concatenate(columns, axis=1)
        found[np.logical_not(known)] = 0
        return found

    def find(self, identities: Rows) -> CachedChunk:
        """Which samples of a chunk the cache has."""
        assert self.store is not None
        there, rows = self.store.find(identities)
        return CachedChunk(identities, there, rows)

    def recall(self, found: CachedChunk, calls: dict[str, Call], place: Place) -> CachedChunk:
        """Read what was found, into memory that `place` offers where that is the whole chunk."""
        store, there, rows = self.store, found.there, found.rows
        assert store is not None
        if not there.any():
            return found
        batches: list[Batch] = []
        good = np.ones(len(rows), np.bool_)
        for number, edge in enumerate(self.edges):
            kind = store.form.kind(rows, number)
            if kind is None:
                return CachedChunk(found.identities, np.zeros(len(there), np.bool_), rows[:0])
            dtype, ndim, layout = kind
            first = store.form.shapes_at(number)
            shapes = rows[:, first : first + ndim].copy()
            batch = store.lend(rows, number, shapes, dtype, layout)
            if batch is None:
                batch = place(edge, shapes, dtype, layout) if there.all() else None
                batch = batch or Batch.allocate(shapes, dtype, layout)
                good &= store.read(rows, number, batch.addresses)
            origin = self.origins[number]
            if origin.node in self.sources:
                names = self.sources[origin.node].batch_sources(calls[origin.node], origin.output)
                batch.sources = tuple(names[i] for i in np.flatnonzero(there)) if names else None
            batches.append(batch)
        if not good.all():
            kept = np.flatnonzero(good)
            batches = [batch.take(kept) for batch in batches]
            found.there = there.copy()
            found.there[np.flatnonzero(there)[~good]] = False
        found.batches = dict(zip(self.edges, batches, strict=True))
        return found

    def keep(self, identities: Rows, calls: dict[str, Call], batches: Sequence[Batch], seconds: float) -> None:
        """Keep samples that were computed, unless their files have changed meanwhile."""
        again = self.identities(calls)
        if again is None or self.store is None:
            return
        changed = (again != identities).any(axis=1)
        if changed.any():
            identities = np.where(changed[:, None], 0, identities)
        self.store.put(identities, batches, seconds)

    def apart(self, local: Mapping[Edge, Batch], exports: Sequence[Edge]) -> dict[Edge, Batch]:
        """Copies of the batches that leave the stage and share memory with what is kept."""
        kept = [edge for edge, exposed in zip(self.edges, self.exposed, strict=True) if not exposed and edge in local]
        owners = {id(owner) for edge in kept for owner in local[edge].owners}
        shared = [edge for edge in exports if edge in local and any(id(each) in owners for each in local[edge].owners)]
        return {edge: _copied(local[edge]) for edge in shared if edge not in self.edges}

    def close(self) -> None:
        """Finish writing."""
        if self.store is not None:
            self.store.close()


def _copied(batch: Batch) -> Batch:
    from dali_lab.kernels.cpu import copy

    made = Batch.allocate(batch.shapes, batch.dtype, batch.layout, batch.sources)
    copy.copy(batch.addresses, made.addresses, batch.sizes, batch.itemsize)
    return made
