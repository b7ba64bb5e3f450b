"""Base of readers of LMDB files: the messages of entries, and names for errors."""

from __future__ import annotations

import functools
import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import reason
from dali_lab.io.locations import canonical, is_remote, join
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import to_dali_type
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.large_files import LargeFiles
from dali_lab.operators.readers.list_reader import check_alike
from dali_lab.operators.readers.lmdb.index import LmdbError, find_entries
from dali_lab.operators.readers.range_readers import RangeReader, Rows
from dali_lab.schema import Call, strings
from dali_lab.schema.arguments import REQUIRED

Columns = list[npt.NDArray[Any]]

PATH = strings(
    "path",
    REQUIRED,
    "Folders of LMDB files (or the files themselves), which are read as one list.",
    widget="folder",
    important=True,
)


class ForeignRecordError(ValueError):
    """A record whose content is not of the expected form."""


class LmdbReader(RangeReader):
    """A reader whose samples are messages of protocol buffers in LMDB files.

    Samples come in the order of their keys, file after file.
    """

    shuffles_list = False
    identifies = True
    locating = ("path",)
    message: ClassVar[str]
    """Description of a valid record, for errors."""

    @abstractmethod
    def parsed(self, record: bytes) -> Columns:
        """The samples in a record, one for each output.

        Raises
        ------
        ForeignRecordError
            If it holds something else.
        """

    def load(self) -> int:
        self._paths: Sequence[str] = self.value("path")
        names = [join(path, "data.mdb") if _is_folder(path) else path for path in self._paths]
        self._files = LargeFiles(names, "path")
        found = []
        for number, name in enumerate(names):
            try:
                pages = functools.partial(self._files.pages, number)
                found.append(find_entries(pages, int(self._files.lengths[number])))
            except (OSError, LmdbError) as error:
                raise ArgumentError(f"cannot read '{name}': {reason(error, name)}", argument="path") from error
        counts = [len(entries.keys) for entries in found]
        if not sum(counts):
            raise ArgumentError(f"there are no entries in {', '.join(names)}", argument="path")
        self._file = np.repeat(np.arange(len(names)), counts)
        self._keys, self._key_sizes, self._offsets, self._sizes = map(np.concatenate, zip(*found, strict=True))
        return sum(counts)

    def ranges(self, rows: Rows) -> list[tuple[Rows, Rows, Rows]]:
        return [(self._file[rows], self._keys[rows], self._key_sizes[rows]), *super().ranges(rows)]

    def batch_sources(self, call: Call, output: int) -> tuple[str, ...]:
        if output or not self.value("image_available"):
            return ()
        return self._with_keys(call, call.ticket[call.start : call.start + call.count])

    def run(self, call: Call) -> tuple[Batch, ...]:
        rows = call.ticket[call.start : call.start + call.count]
        files = self._file[rows]
        sources = self._with_keys(call, rows)
        records = self._files.read(call, files, self._offsets[rows], self._sizes[rows], sources)
        samples: list[Columns] = []
        for index, record in enumerate(records.arrays()):
            try:
                samples.append(self.parsed(record.tobytes()))
            except ForeignRecordError as error:
                raise call.problem(
                    f"the record cannot be read: {error}", sample=index, source=sources[index]
                ) from error
        return tuple(
            self._column(call, output, [sample[output] for sample in samples], sources)
            for output in range(self.output_count(self.values))
        )

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._paths[file] for file in self._file[rows].tolist())

    def sample_names(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        files = self._file[rows]
        keys = self._files.pieces(files, self._keys[rows], self._key_sizes[rows])
        return tuple(map(_entry_name, map(self._paths.__getitem__, files.tolist()), keys))

    def _with_keys(self, call: Call, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Path and key of each entry, as NVIDIA DALI writes them."""
        files = self._file[rows]
        paths = [self._paths[file] for file in files.tolist()]
        keys = self._files.read(call, files, self._keys[rows], self._key_sizes[rows], paths).arrays()
        return tuple(map(_entry_name, paths, map(bytes, keys)))

    def _column(self, call: Call, output: int, arrays: Columns, sources: tuple[str, ...]) -> Batch:
        """One output of all samples, in memory of its own."""
        check_alike(call, output, arrays, sources)
        shapes = np.array([array.shape for array in arrays], np.int64)
        out = call.allocate(shapes, to_dali_type(arrays[0].dtype), "", output=output)
        for target, array in zip(out.arrays(), arrays, strict=True):
            target[...] = array
        if output == 0 and self.value("image_available"):
            out.sources = sources
        return out


def _is_folder(path: str) -> bool:
    """Whether a path leads to a folder; of a URL its name tells, as a request would take as long as opening it."""
    return not path.endswith((".mdb", ".lmdb")) if is_remote(path) else os.path.isdir(canonical(path))


def _entry_name(path: str, key: bytes) -> str:
    return f"{path} at key {key.decode(errors='replace')}"
