"""The table of what a cache holds: a row of integers for each sample, found by the sample's identity."""

from __future__ import annotations

import functools
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
"""Rows that a table has room for at first, a power of two."""
DTYPE, NDIM, LAYOUT, OFFSET, STORED, CODEC, SUM, SHAPE = range(8)
FIELDS = SHAPE + MOST_DIMENSIONS
"""Columns for each edge: type, number of dimensions, letters of the layout; place of the data, their bytes there, how
they are compressed, and their sum; extents."""
NONE, LZ4, ZSTD = range(3)
"""Codecs of stored data."""
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
            rows[:, at + STORED] = self.counts(rows, edge)
        return rows

    def counts(self, rows: Rows, edge: int) -> Rows:
        """Bytes of each sample on an edge."""
        at = self.at(edge)
        return np.asarray(rows[:, at + SHAPE : at + FIELDS].prod(axis=1) * _ITEM_SIZES[rows[:, at + DTYPE]], np.int64)

    def total(self, rows: Rows) -> int:
        """Bytes of all samples on all edges."""
        return sum(int(self.counts(rows, edge).sum()) for edge in range(self.edges))

    def stored(self, rows: Rows) -> int:
        """Bytes that all samples take where they are kept."""
        return sum(int(rows[:, self.at(edge) + STORED].sum()) for edge in range(self.edges))

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
                or (rows[:, at + OFFSET : at + CODEC + 1] < 0).any()
            ):
                return False
            if (shapes.prod(axis=1, dtype=np.float64) > _MOST_BYTES).any():
                return False
            plain = rows[:, at + CODEC] == NONE
            if (rows[:, at + STORED] > _MOST_BYTES).any() or (rows[:, at + CODEC] > ZSTD).any():
                return False
            if (rows[plain, at + STORED] != self.counts(rows[plain], edge)).any():
                return False
            beyond = np.arange(MOST_DIMENSIONS) >= ndim[:, None]
            if (shapes[beyond] != 1).any() or (rows[:, at + LAYOUT] < 0).any():
                return False
            letters = np.ascontiguousarray(rows[:, at + LAYOUT]).view(np.uint8)
            if (letters > 127).any():
                return False
        return True


class Entries:
    """Rows of one :class:`Form` by identity; of several for one sample the last one added counts.

    It can be used by several threads.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self._lock = threading.Lock()
        self._begin(_FEW)

    def _begin(self, room: int) -> None:
        self._rows: Rows = np.zeros((room, self.form.width), np.int64)
        self._slots: Rows = np.full(2 * room, -1, np.int64)
        self._filled = self._count = 0

    def __len__(self) -> int:
        return self._count

    def mean_bytes(self) -> float:
        """Bytes of a sample on all edges as they are kept, on average; 0 where there is none."""
        with self._lock:
            rows = self._rows[self._slots[self._slots >= 0]]
        return self.form.stored(rows) / len(rows) if len(rows) else 0.0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        with self._lock:
            self._add(rows)

    def _add(self, rows: Rows) -> None:
        from dali_lab.kernels.cpu import background, lookup

        start, stop = self._filled, self._filled + len(rows)
        if stop > len(self._rows):
            former = self._rows[:start]
            self._begin(1 << (2 * stop - 1).bit_length())
            self._add(former)
        self._rows[start:stop] = rows
        arguments = (self._slots, self._rows, self.form.words, start, stop)
        insert = lookup.insert_rows if len(rows) > _FEW else functools.partial(background.call, lookup.insert_rows)
        self._count += int(insert(*arguments))
        self._filled = stop

    def drop(self, rows: Rows) -> None:
        """Take rows out again, whose samples were found to be damaged."""
        with self._lock:
            kept = self._rows[np.sort(self._slots[self._slots >= 0])]
            for row in rows:
                kept = kept[~(kept == row).all(axis=1)]
            self._begin(len(self._rows))
            self._add(kept)

    def find(self, identities: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Which samples there are, ``bool[N]``, and their rows in order."""
        from dali_lab.kernels.cpu import background, lookup

        places = np.empty(len(identities), np.int64)
        identities = np.ascontiguousarray(identities)
        with self._lock:
            background.call(lookup.find_rows, self._slots, self._rows, self.form.words, identities, places)
            found = places >= 0
            return found, self._rows[places[found]]
