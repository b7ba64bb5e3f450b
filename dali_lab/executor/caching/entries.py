"""The table of what a cache holds: a row of integers for each sample, found by the sample's identity."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype

Rows = npt.NDArray[np.int64]

MOST_DIMENSIONS = 8
"""Dimensions of a sample that is kept."""
_MOST_BYTES = 1 << 40
_FEW = 512
"""Rows that are sorted anew whenever some are added."""
DTYPE, NDIM, LAYOUT, OFFSET, SUM, SHAPE = range(6)
FIELDS = SHAPE + MOST_DIMENSIONS
"""Columns for each edge: type, number of dimensions, letters of the layout, place of the data, their sum, extents."""
_ITEM_SIZES = np.zeros(256, np.int64)
for _dtype in DALIDataType:
    if 0 <= _dtype.value < 256:
        try:
            _ITEM_SIZES[_dtype.value] = numpy_dtype(_dtype).itemsize
        except (KeyError, TypeError, ValueError):
            continue  # it is no type of elements


class Form:
    """The columns of a row: identity, number of the block of data, and :data:`FIELDS` for each edge.

    Parameters
    ----------
    words
        Columns of the identity.
    edges
        Edges whose samples are kept together.
    """

    def __init__(self, words: int, edges: int) -> None:
        self.words, self.edges = words, edges
        self.width = words + 1 + FIELDS * edges

    def at(self, edge: int) -> int:
        """First column of an edge."""
        return self.words + 1 + FIELDS * edge

    def shapes_at(self, edge: int) -> int:
        """First column of the extents on an edge."""
        return self.at(edge) + SHAPE

    def described(self, identities: Rows, batches: Sequence[Batch]) -> Rows | None:
        """Rows for samples, without places and sums; `None` for samples of a form that is not kept."""
        rows = np.zeros((len(identities), self.width), np.int64)
        rows[:, : self.words] = identities
        for edge, batch in enumerate(batches):
            if batch.ndim > MOST_DIMENSIONS or len(batch.layout) > 8 or not batch.layout.isascii():
                return None
            if batch.undecoded is not None or batch.device is not None or not 0 <= batch.dtype.value < 256:
                return None
            at = self.at(edge)
            rows[:, at + DTYPE] = batch.dtype.value
            rows[:, at + NDIM] = batch.ndim
            rows[:, at + LAYOUT] = int.from_bytes(batch.layout.encode().ljust(8, b"\0"), "little")
            rows[:, at + SHAPE : at + SHAPE + batch.ndim] = batch.shapes
            rows[:, at + SHAPE + batch.ndim : at + FIELDS] = 1
        return rows

    def counts(self, rows: Rows, edge: int) -> Rows:
        """Bytes of each sample on an edge."""
        at = self.at(edge)
        return np.asarray(rows[:, at + SHAPE : at + FIELDS].prod(axis=1) * _ITEM_SIZES[rows[:, at + DTYPE]], np.int64)

    def total(self, rows: Rows) -> int:
        """Bytes of all samples on all edges."""
        return sum(int(self.counts(rows, edge).sum()) for edge in range(self.edges))

    def kind(self, rows: Rows, edge: int) -> tuple[DALIDataType, int, str] | None:
        """Type, number of dimensions and layout of samples on an edge; `None` where they differ."""
        part = rows[:, self.at(edge) : self.at(edge) + OFFSET]
        if (part != part[0]).any():
            return None
        dtype, ndim, layout = part[0].tolist()
        letters = layout.to_bytes(8, "little").rstrip(b"\0").decode("ascii")
        return DALIDataType(dtype), ndim, letters

    def are_sound(self, rows: Rows) -> bool:
        """Whether rows that were read from a file can be those of samples."""
        for edge in range(self.edges):
            at = self.at(edge)
            dtype, ndim = rows[:, at + DTYPE], rows[:, at + NDIM]
            shapes = rows[:, at + SHAPE : at + FIELDS]
            if (dtype < 0).any() or (dtype > 255).any() or not _ITEM_SIZES[dtype].all():
                return False
            if (
                (ndim < 0).any()
                or (ndim > MOST_DIMENSIONS).any()
                or (shapes < 0).any()
                or (rows[:, at + OFFSET] < 0).any()
            ):
                return False
            if (shapes.prod(axis=1, dtype=np.float64) > _MOST_BYTES).any():
                return False
            beyond = np.arange(MOST_DIMENSIONS) >= ndim[:, None]
            if (shapes[beyond] != 1).any() or (rows[:, at + LAYOUT] < 0).any():
                return False
            letters = np.ascontiguousarray(rows[:, at + LAYOUT]).view(np.uint8)
            if (letters > 127).any():
                return False
        return True


def mixed(identities: Rows) -> npt.NDArray[np.uint64]:
    """A number for each identity, by which rows are sorted."""
    words = np.ascontiguousarray(identities).view(np.uint64)
    found = np.full(len(words), 0x9E3779B97F4A7C15, np.uint64)
    for column in range(words.shape[1]):
        found = (found ^ words[:, column]) * np.uint64(0xD6E8FEB86659FD93)
        found ^= found >> np.uint64(32)
    return found


class _Sorted:
    """Rows sorted by the marks of their identities, the last one of each."""

    def __init__(self, form: Form, rows: Rows) -> None:
        marks = mixed(rows[:, : form.words])
        order = np.argsort(marks, kind="stable")
        marks = marks[order]
        last = np.ones(len(marks), np.bool_)
        last[:-1] = marks[1:] != marks[:-1]
        self.rows, self.marks, self._words = rows[order[last]], marks[last], form.words

    def places(self, identities: Rows, marks: npt.NDArray[np.uint64]) -> Rows:
        """The place of each sample's row, or −1."""
        if not len(self.marks):
            return np.full(len(marks), -1, np.int64)
        places = np.searchsorted(self.marks, marks, side="right") - 1
        same = (places >= 0) & (self.rows[np.maximum(places, 0), : self._words] == identities).all(axis=1)
        return np.where(same, places, -1)


class Entries:
    """Rows of one :class:`Form` by identity; of several for one sample the last one added counts.

    It can be used by several threads. Few rows are sorted anew when some are added: they are apart from the others.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self._lock = threading.Lock()
        none: Rows = np.zeros((0, form.width), np.int64)
        self._old = self._recent = _Sorted(form, none)
        self._new: list[Rows] = []

    def __len__(self) -> int:
        with self._lock:
            self._settle()
            return len(self._old.rows) + len(self._recent.rows)

    def mean_bytes(self) -> float:
        """Bytes of a sample on all edges, on average; 0 where there is none."""
        with self._lock:
            self._settle()
            rows = np.concatenate([self._old.rows, self._recent.rows])
        return self.form.total(rows) / len(rows) if len(rows) else 0.0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        if len(rows):
            with self._lock:
                self._new.append(rows)

    def drop(self, rows: Rows) -> None:
        """Take rows out again, whose samples were found to be damaged."""
        with self._lock:
            self._settle()
            kept = np.concatenate([self._old.rows, self._recent.rows])
            for row in rows:
                kept = kept[~(kept == row).all(axis=1)]
            self._old, self._recent = _Sorted(self.form, kept), _Sorted(self.form, kept[:0])

    def find(self, identities: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Which samples there are, ``bool[N]``, and their rows in order."""
        marks = mixed(identities)
        with self._lock:
            self._settle()
            old, recent = self._old, self._recent
        rows = np.zeros((len(identities), self.form.width), np.int64)
        found = np.zeros(len(identities), np.bool_)
        for level in (old, recent):
            places = level.places(identities, marks)
            there = places >= 0
            rows[there] = level.rows[places[there]]
            found |= there
        found &= identities.any(axis=1)
        return found, rows[found]

    def _settle(self) -> None:
        if not self._new:
            return
        recent = _Sorted(self.form, np.concatenate([self._recent.rows, *self._new]))
        self._new = []
        if len(recent.rows) > max(_FEW, len(self._old.rows) // 4):
            self._old = _Sorted(self.form, np.concatenate([self._old.rows, recent.rows]))
            recent = _Sorted(self.form, recent.rows[:0])
        self._recent = recent
