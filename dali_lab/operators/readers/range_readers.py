"""Bases of readers whose samples are ranges of large files."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.operators.readers.large_files import LargeFiles
from dali_lab.operators.readers.list_reader import ListReader
from dali_lab.operators.readers.look_ahead import RemoteRows

Rows = npt.NDArray[np.int64]


class RangeReader(ListReader):
    """A reader whose samples are ranges of large files.

    :meth:`load` sets `_files`, and for each sample the number of its file, its offset and its bytes.
    """

    _files: LargeFiles
    _file: Rows
    _offsets: Rows
    _sizes: Rows

    def ranges(self, rows: Rows) -> list[tuple[Rows, Rows, Rows]]:
        """The ranges that samples consist of: files, offsets and bytes, each for all of them."""
        return [(self._file[rows], self._offsets[rows], self._sizes[rows])]

    def remote_rows(self) -> RemoteRows | None:
        return self._files.remote_rows(self.ranges)

    def states(self, rows: Rows, by_content: bool = False) -> Rows | None:
        return self._files.states(self._file[rows], self.ranges(rows) if by_content else ())

    def places(self, rows: Rows) -> Iterable[str]:
        return self._files.texts(self.ranges(rows))


class RecordReader(RangeReader):
    """A reader of files with many records, named by where they begin."""

    _names: tuple[str, ...]

    def files_of(self, rows: Rows) -> tuple[Rows, int]:
        return self._file[rows], len(self._names)

    def sources(self, rows: Rows) -> tuple[str, ...]:
        places = zip(self._file[rows].tolist(), self._offsets[rows].tolist(), strict=True)
        return tuple(f"{self._names[file]} at index {offset}" for file, offset in places)
