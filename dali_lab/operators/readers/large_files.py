"""Files with many samples in each, such as archives: parts of them read for a whole chunk at once.

Files are read, never mapped: reading behind the end of a file that was cut short is an error of the sample, where a
mapped page that is gone ends the process.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import reason
from dali_lab.io.locations import canonical, is_remote
from dali_lab.io.ranges import described, outside, overlapping
from dali_lab.io.roots import open_within
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIDataType, numpy_dtype
from dali_lab.model.errors import ArgumentError, SampleError
from dali_lab.operators.readers.identities import content_state, digests
from dali_lab.operators.readers.opened import OpenedFile, read_into
from dali_lab.operators.readers.whole_files import can_read_compiled
from dali_lab.schema import Call

if TYPE_CHECKING:
    from dali_lab.io.remote.parts import FileParts, Part
    from dali_lab.operators.readers.look_ahead import RemoteRows

Table = npt.NDArray[np.int64]

Ranges = Iterable[tuple[Table, Table, Table]]
"""Files, offsets and counts of the parts of some samples."""

_MOST_HELD = 512
"""Remote records that are held while parts of them are read."""
_POSITIVE = (1 << 60) - 1
_MOST_OPEN = 64
"""Files that a reader keeps open."""


class LargeFiles:
    """Files that a reader takes parts of.

    A file that is replaced while it is open is read on as it was. One that has changed when it is opened again is an
    error of the sample: the positions in it may not be its own.

    Parameters
    ----------
    names
        Their paths.
    argument
        The argument that holds them, for errors.
    ahead
        Ask the system to read each file as a whole when it is opened.

    Attributes
    ----------
    lengths
        ``int64[N]``, bytes of each file.

    Raises
    ------
    ArgumentError
        If a file is not there, is a folder, or may not be read.
    """

    def __init__(self, names: Sequence[str], argument: str, *, ahead: bool = False) -> None:
        self.names = names = [canonical(name) for name in names]
        self._parts: FileParts | None = None
        self._versions: list[int] | None = None
        self._records: OrderedDict[Part, memoryview] = OrderedDict()
        self._lock = threading.Lock()
        if any(map(is_remote, names)):
            self._open_remote(argument)
            return
        self._ahead = ahead
        self._open: OrderedDict[int, OpenedFile] = OrderedDict()
        self._states = [_checked(name, argument) for name in names]
        self.lengths = np.array([size for size, _ in self._states], np.int64)

    def _open_remote(self, argument: str) -> None:
        from dali_lab.io.files import infos
        from dali_lab.io.remote.parts import FileParts

        known = []
        for name, found in zip(self.names, infos(self.names), strict=True):
            if isinstance(found, OSError):
                raise ArgumentError(f"cannot read '{name}': {reason(found, name)}", argument=argument) from found
            known.append(found)
        self.lengths = np.array([info.size for info in known], np.int64)
        self._versions = (digests(info.version for info in known)[:, 0] & _POSITIVE).tolist()
        self._parts = FileParts(self.names, known)

    def remote_rows(self, of_rows: Callable[[Table], Ranges]) -> RemoteRows | None:
        """Samples to be requested ahead, by the ranges that they consist of; `None` where no file is remote."""
        if self._parts is None:
            return None
        from dali_lab.io.remote.parts import Part
        from dali_lab.operators.readers.look_ahead import RemoteRows

        def parts(rows: Table) -> Iterator[Part]:
            for files, offsets, counts in of_rows(rows):
                inside = ~outside(offsets, counts, self.lengths[files])
                table = (files[inside].tolist(), offsets[inside].tolist(), counts[inside].tolist())
                yield from map(Part, *table)

        return RemoteRows(self._parts, parts)

    def texts(self, ranges: Sequence[tuple[Table, Table, Table]]) -> Iterator[str]:
        """Text for each sample that tells the ranges that it consists of, of one file: its path, and numbers."""
        here = os.getcwd()
        names = [name if is_remote(name) else os.path.normpath(os.path.join(here, name)) for name in self.names]
        numbers = np.stack([column for _, offsets, counts in ranges for column in (offsets, counts)], axis=1)
        for file, row in zip(ranges[0][0].tolist(), numbers.tolist(), strict=True):
            yield f"{names[file]}\0{row}"

    def states(self, files: Table, ranges: Sequence[tuple[Table, Table, Table]] = ()) -> Table:
        """Size and time of change of the files that are read from, ``int64[N, 2]``; −1 where they cannot be had.

        With the ranges that samples consist of, digests of the bytes there. Remote files have a number for their
        version in place of the time, and no digest.
        """
        if ranges and self._versions is None:
            return self._contents(ranges)
        distinct, of_file = np.unique(files, return_inverse=True)
        found = np.full((len(distinct), 2), -1, np.int64)
        for place, file in enumerate(distinct.tolist()):
            if self._versions is not None:
                found[place] = self.lengths[file], self._versions[file]
                continue
            try:
                found[place] = self._opened(file).now()
            except OSError:
                continue
        return found[of_file.reshape(-1)]

    def _contents(self, ranges: Sequence[tuple[Table, Table, Table]]) -> Table:
        found = np.full((len(ranges[0][0]), 2), -1, np.int64)
        wrong = np.any([outside(offsets, counts, self.lengths[files]) for files, offsets, counts in ranges], axis=0)
        for sample in np.flatnonzero(~wrong).tolist():
            digest = hashlib.blake2b()
            try:
                for files, offsets, counts in ranges:
                    piece = np.empty(int(counts[sample]), np.uint8)
                    if not read_into(self._opened(int(files[sample])).handle, int(offsets[sample]), piece):
                        raise OSError("the file ends before the sample does")
                    digest.update(piece.data)
            except (OSError, ValueError):
                continue
            found[sample] = content_state(digest.digest())
        return found

    def read(
        self,
        call: Call,
        files: Table,
        offsets: Table,
        counts: Table,
        sources: Sequence[str],
        dtype: DALIDataType = UINT8,
        within: tuple[Table, Table] | None = None,
    ) -> Batch:
        """Parts of files as one-dimensional samples.

        Parameters
        ----------
        call
            The call that reads, for errors.
        files, offsets, counts
            For each sample its file, where it begins there, and its bytes: a multiple of those of an element.
        sources
            Names of the samples in errors.
        dtype
            Type of the elements.
        within
            Offset and bytes of the record that each part is in, where several parts of a record are read.

        Raises
        ------
        SampleError
            If a file cannot be read or ends before its part, or parts overlap and are more than the files together.
        """
        parts = _Parts(call, files, offsets, counts, sources, within)
        wrong = outside(offsets, counts, self.lengths[files])
        if wrong.any():
            raise self._ends_early(parts, int(wrong.argmax()))
        if counts.sum() > self.lengths[np.unique(files)].sum():
            self._refuse_overlap(parts)
            return self._read_once(parts, dtype)
        return self._read_all(parts, dtype)

    def _read_once(self, parts: _Parts, dtype: DALIDataType) -> Batch:
        """Parts that are the same are read once and share memory: an index that repeats one asks for no more."""
        table = np.stack([parts.files, parts.offsets, parts.counts], axis=1)
        _, first, again = np.unique(table, axis=0, return_index=True, return_inverse=True)
        try:
            found = self._read_all(parts.take(first), dtype)
        except SampleError as error:
            error.sample = None if error.sample is None else int(first[error.sample])
            raise
        return found.take(again.reshape(-1))

    def _read_all(self, parts: _Parts, dtype: DALIDataType) -> Batch:
        out = Batch.allocate((parts.counts // numpy_dtype(dtype).itemsize).reshape(-1, 1), dtype)
        if self._parts is not None:
            self._fill_remote(parts, self._parts, out)
            return out
        for rows in self._groups(parts.files):
            self._fill(parts, rows, out)
        return out

    def _refuse_overlap(self, parts: _Parts) -> None:
        """Raise where parts overlap: a damaged index may ask for the whole file in each sample."""
        index = overlapping(parts.files, parts.offsets, parts.counts)
        if index is not None:
            message = (
                f"{parts.described(index)} of '{self.names[int(parts.files[index])]}' overlap those of another sample,"
                " and the samples are more than the file: its index is damaged, or not its own"
            )
            raise parts.problem(index, message)

    def pages(self, file: int, offsets: Table, size: int) -> npt.NDArray[np.uint8]:
        """Pieces of one file that are equally long, ``uint8[N, size]``; those beyond its end are zeros.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        pages = np.zeros((len(offsets), size), np.uint8)
        inside = np.flatnonzero(~outside(offsets, size, self.lengths[file]))
        if self._parts is not None:
            row_files = np.full(len(inside), file)
            found = self._taken(row_files, offsets[inside], np.full(len(inside), size))
            for row, data in zip(inside.tolist(), found, strict=True):
                pages[row] = np.frombuffer(data, np.uint8)
            return pages
        with open_within(self.names[file], buffering=0) as opened:
            for row in inside.tolist():
                read_into(opened.fileno(), int(offsets[row]), pages[row])
        return pages

    def pieces(self, files: Table, offsets: Table, counts: Table) -> list[bytes]:
        """Small parts of files; those that lie beyond an end are empty.

        Raises
        ------
        OSError
            If a file cannot be read.
        """
        found = [b""] * len(files)
        inside = ~outside(offsets, counts, self.lengths[files])
        if self._parts is not None:
            rows = np.flatnonzero(inside)
            for row, data in zip(rows.tolist(), self._taken(files[rows], offsets[rows], counts[rows]), strict=True):
                found[row] = bytes(data)
            return found
        for file in np.unique(files[inside]).tolist():
            with open_within(self.names[file], buffering=0) as opened:
                for row in np.flatnonzero(inside & (files == file)).tolist():
                    piece = np.zeros(int(counts[row]), np.uint8)
                    read_into(opened.fileno(), int(offsets[row]), piece)
                    found[row] = piece.tobytes()
        return found

    def _groups(self, files: Table) -> Iterator[Table]:
        """Rows of few enough files to have them open together."""
        distinct = np.unique(files)
        if len(distinct) <= _MOST_OPEN:
            yield np.arange(len(files))
            return
        for first in range(0, len(distinct), _MOST_OPEN):
            yield np.flatnonzero(np.isin(files, distinct[first : first + _MOST_OPEN]))

    def _opened(self, file: int) -> OpenedFile:
        with self._lock:
            found = self._open.get(file)
            if found is None:
                found = self._open[file] = OpenedFile(self.names[file])
                if found.state != self._states[file]:
                    del self._open[file]
                    raise OSError(f"'{self.names[file]}' was replaced or changed after the reader had opened it")
                if self._ahead and hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(found.handle, 0, 0, os.POSIX_FADV_WILLNEED)
                if len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(file)
            return found

    def _fill(self, parts: _Parts, rows: Table, out: Batch) -> None:
        """Read some of the samples into `out`."""
        opened: dict[int, OpenedFile] = {}
        files = parts.files
        for row, file in zip(rows.tolist(), files[rows].tolist(), strict=True):
            if file not in opened:
                try:
                    opened[file] = self._opened(file)
                except (OSError, ValueError) as error:
                    raise parts.unreadable(row, error) from error
        if can_read_compiled():
            from dali_lab.kernels.cpu import background, file_access

            handles = np.array([opened[file].handle for file in files[rows].tolist()], np.int32)
            first, size, target = (
                np.ascontiguousarray(table[rows]) for table in (parts.offsets, parts.counts, out.addresses)
            )
            if background.ready(file_access.read_ranges, handles, first, size, target):
                rows = rows[int(file_access.read_ranges(handles, first, size, target)) :]
        for row in rows.tolist():
            file = int(files[row])
            memory = out.array(row).reshape(-1).view(np.uint8)
            try:
                complete = read_into(opened[file].handle, int(parts.offsets[row]), memory)
            except OSError as error:
                raise parts.unreadable(row, error) from error
            if not complete:
                raise self._ends_early(parts, row)

    def _taken(self, files: Table, offsets: Table, counts: Table) -> list[memoryview]:
        """Parts of remote files; raises the first error."""
        from dali_lab.io.remote.parts import Part

        assert self._parts is not None
        result = []
        for data in self._parts.take(list(map(Part, files.tolist(), offsets.tolist(), counts.tolist()))):
            if isinstance(data, OSError):
                raise data
            result.append(data)
        return result

    def _fill_remote(self, parts: _Parts, remote: FileParts, out: Batch) -> None:
        from dali_lab.io.remote.parts import Part

        begins, sizes = parts.within or (parts.offsets, parts.counts)
        wanted = list(map(Part, parts.files.tolist(), begins.tolist(), sizes.tolist()))
        found = remote.take(wanted) if parts.within is None else self._held(remote, wanted)
        columns = (parts.offsets - begins).tolist(), parts.counts.tolist()
        for row, (data, begin, count) in enumerate(zip(found, *columns, strict=True)):
            if isinstance(data, OSError):
                raise parts.unreadable(row, data) from data
            piece = data[begin : begin + count]
            if len(piece) < count:
                raise self._ends_early(parts, row)
            if count:
                out.array(row).reshape(-1).view(np.uint8)[:] = np.frombuffer(piece, np.uint8)

    def _held(self, parts: FileParts, wanted: Sequence[Part]) -> list[memoryview | OSError]:
        """Records of which parts are read one after the other; the latest are held for that."""
        with self._lock:
            have = {part: self._records[part] for part in wanted if part in self._records}
        missing = [part for part in dict.fromkeys(wanted) if part not in have]
        found: dict[Part, memoryview | OSError] = dict(have)
        for part, data in zip(missing, parts.take(missing), strict=True):
            found[part] = data
            if not isinstance(data, OSError):
                with self._lock:
                    self._records[part] = data
                    while len(self._records) > _MOST_HELD:
                        self._records.popitem(last=False)
        return [found[part] for part in wanted]

    def _ends_early(self, parts: _Parts, index: int) -> Exception:
        file = int(parts.files[index])
        path = self.names[file]
        try:
            length = int(self.lengths[file]) if is_remote(path) else os.stat(path).st_size
        except OSError as error:
            return parts.unreadable(index, error)
        message = (
            f"{parts.described(index)} are not in '{path}', which has {length}: the offset is outside of the archive"
            " file. The file was cut short, or its index is not its own"
        )
        return parts.problem(index, message)


@dataclass(frozen=True)
class _Parts:
    """The arguments of :meth:`LargeFiles.read`."""

    call: Call
    files: Table
    offsets: Table
    counts: Table
    sources: Sequence[str]
    within: tuple[Table, Table] | None

    def take(self, rows: Table) -> _Parts:
        """Some of the samples."""
        within = None if self.within is None else (self.within[0][rows], self.within[1][rows])
        sources = [self.sources[row] for row in rows.tolist()]
        return _Parts(self.call, self.files[rows], self.offsets[rows], self.counts[rows], sources, within)

    def described(self, index: int) -> str:
        """The bytes of a sample, in words."""
        return described(self.offsets[index], self.counts[index])

    def problem(self, index: int, message: str) -> Exception:
        return self.call.problem(message, sample=index, source=self.sources[index])

    def unreadable(self, index: int, error: Exception) -> Exception:
        return self.problem(index, f"cannot read the file: {reason(error, self.sources[index])}")


def _checked(name: str, argument: str) -> tuple[int, int]:
    """Size and time of change of a file that can be read."""
    try:
        return OpenedFile(name).state
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read '{name}': {reason(error, name)}", argument=argument) from error
