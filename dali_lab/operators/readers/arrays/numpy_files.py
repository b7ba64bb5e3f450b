"""NumPy files of a chunk: their headers, and windows of their elements, each read by one call for all of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.io.files import open_file, reason
from dali_lab.io.ranges import outside
from dali_lab.io.roots import limited, open_within
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import UnlikeSampleError
from dali_lab.operators.decoders.numpy_format import (
    HEAD,
    START,
    NumpyHeader,
    different_rows,
    header_length,
    parsed_header,
)
from dali_lab.operators.geometry.windows import Windows
from dali_lab.operators.readers.whole_files import Paths, can_read_compiled, check_reach
from dali_lab.schema import Call

if TYPE_CHECKING:
    from dali_lab.operators.readers.arrays.remote_arrays import RemoteArrays
    from dali_lab.operators.readers.look_ahead import RemoteRows

Table = npt.NDArray[np.int64]


class Headers(NamedTuple):
    """Headers of some files, as tables.

    Attributes
    ----------
    dtype
        Of all of them.
    shapes
        ``int64[N, ndim]``.
    fortran
        ``bool[N]``, whether the first axis varies fastest.
    offsets
        ``int64[N]``, where the elements begin.
    """

    dtype: DALIDataType
    shapes: Table
    fortran: npt.NDArray[np.bool_]
    offsets: Table

    def as_stored(self, table: Table) -> Table:
        """A table of axes in the order in which each file has them, the one that varies fastest last."""
        return np.ascontiguousarray(np.where(self.fortran[:, None], table[:, ::-1], table))


class ArrayFiles:
    """The files of a reader of arrays.

    Parameters
    ----------
    names
        Their paths.
    keep_headers
        Headers that were read once are not read again.
    whole
        Whole arrays are read, rather than a region of each.
    """

    def __init__(self, names: Sequence[str], keep_headers: bool, whole: bool = True) -> None:
        self.paths = Paths(names)
        self._remote: RemoteArrays | None = None
        if self.paths.parts is not None:
            from dali_lab.operators.readers.arrays.remote_arrays import RemoteArrays

            self._remote = RemoteArrays(self.paths.names, self.paths.parts, whole)
        self._kept: dict[int, NumpyHeader] | None = {} if keep_headers else None

    def remote_rows(self) -> RemoteRows | None:
        """The parts of files that are requested ahead, where some are remote."""
        return None if self._remote is None else self._remote.rows()

    def headers(self, call: Call, rows: Table) -> Headers:
        """The headers of the chosen files.

        Raises
        ------
        SampleError
            If one cannot be read, is damaged, or does not agree with the first in type and number of dimensions.
        """
        if self._kept is not None:
            found, group = self._keep(call, rows)
        else:
            found, group, sizes = self._look(call, rows)
            self._check_sizes(call, rows, found, group, sizes)
        first = found[0]
        for number, header in enumerate(found):
            if (header.dtype, len(header.shape)) != (first.dtype, len(first.shape)):
                index = int((group == number).argmax())
                raise call.problem(
                    f"has {len(header.shape)} dimensions of {header.dtype.name}, where '{self._name(rows, 0)}' has"
                    f" {len(first.shape)} of {first.dtype.name}",
                    sample=index,
                    source=self._name(rows, index),
                    kind=UnlikeSampleError,
                )
        shapes = np.array([header.shape for header in found], np.int64).reshape(len(found), -1)
        fortran = np.array([header.fortran_order and len(header.shape) > 1 for header in found], np.bool_)
        offsets = np.array([header.offset for header in found], np.int64)
        return Headers(first.dtype, shapes[group], fortran[group], offsets[group])

    def _keep(self, call: Call, rows: Table) -> tuple[list[NumpyHeader], Table]:
        """Headers from memory, and those that are not there from the files."""
        kept = self._kept
        assert kept is not None
        new = np.array([row for row in rows.tolist() if row not in kept], np.int64)
        if len(new):
            found, group, sizes = self._look(call, new)
            self._check_sizes(call, new, found, group, sizes)
            kept.update(zip(new.tolist(), [found[g] for g in group.tolist()], strict=True))
        return [kept[row] for row in rows.tolist()], np.arange(len(rows))

    def _look(self, call: Call, rows: Table) -> tuple[list[NumpyHeader], Table, Table]:
        """The distinct headers, the index of each file's, and the sizes of the files."""
        check_reach(call, self.paths, rows)
        group, sizes = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        heads: list[bytes] = []
        if self._remote is not None:
            heads = self._remote.heads(call, rows, sizes)
        elif can_read_compiled() and not limited():
            from dali_lab.kernels.cpu import file_access

            table = np.empty((len(rows), HEAD), np.uint8)
            if file_access.read_heads(self.paths.addresses[rows], table, sizes) == len(rows):
                heads = different_rows(table, group)
        if not heads:
            heads = [self._head(call, rows, index, sizes) for index in range(len(rows))]
        found = []
        for number, head in enumerate(heads):
            index = int((group == number).argmax())
            try:
                if sizes[index] > HEAD and header_length(head[:START]) > len(head):
                    head = self._head(call, rows, index, sizes)
                found.append(parsed_header(head[: sizes[index]]))
            except CodecError as error:
                raise self._problem(call, rows, index, str(error)) from error
        return found, group, sizes

    def _head(self, call: Call, rows: Table, index: int, sizes: Table) -> bytes:
        """The header of one file, read in Python to report its fault."""
        name = self._name(rows, index)
        try:
            with open_file(name) as file:
                sizes[index] = file.seek(0, os.SEEK_END)
                file.seek(0)
                start = file.read(START)
                return start + file.read(header_length(start) - START)
        except (OSError, ValueError) as error:
            raise self._problem(call, rows, index, reason(error, name)) from error

    def _check_sizes(self, call: Call, rows: Table, found: list[NumpyHeader], group: Table, sizes: Table) -> None:
        offsets = np.array([header.offset for header in found], np.int64)[group]
        counts = np.array([header.nbytes for header in found], np.int64)[group]
        short = outside(offsets, counts, sizes)
        if short.any():
            index = int(short.argmax())
            raise self._problem(call, rows, index, f"the file ends before its {counts[index]} bytes of elements")

    def read(self, call: Call, rows: Table, headers: Headers, windows: Windows, out: Batch) -> None:
        """Read a window of the array in each of the chosen files.

        Parameters
        ----------
        call
            The call that reads, for errors.
        rows, headers
            The files and their headers.
        windows
            What to read, inside the arrays.
        out
            Memory for it, with the axes as the files have them.

        Raises
        ------
        SampleError
            If a file cannot be read.
        """
        check_reach(call, self.paths, rows)
        item = out.itemsize
        shapes = _in_bytes(headers.as_stored(headers.shapes), item)
        start = _in_bytes(headers.as_stored(windows.start), item, 0)
        extent = _in_bytes(headers.as_stored(windows.shape), item)
        if self._remote is not None:
            self._remote.windows(call, rows, headers.offsets, shapes, start, extent, out)
            return
        if can_read_compiled() and not limited():
            from dali_lab.kernels.cpu import file_access

            paths = self.paths.addresses[rows]
            if file_access.read_windows(paths, headers.offsets, shapes, start, extent, out.addresses) == len(rows):
                return
        for index in range(len(rows)):
            count = int(shapes[index].prod())
            try:
                with open_within(self._name(rows, index)) as file:
                    if outside(headers.offsets[index], count, os.fstat(file.fileno()).st_size):
                        raise CodecError(f"the file ends before its {count} bytes of elements")
                    file.seek(int(headers.offsets[index]))
                    stored = np.frombuffer(file.read(count), np.uint8).reshape(shapes[index])
                    ends = (start + extent)[index].tolist()
                    part = stored[tuple(map(slice, start[index].tolist(), ends))]
                    out.array(index).reshape(-1).view(np.uint8)[:] = part.reshape(-1)
            except (OSError, ValueError) as error:
                raise self._problem(call, rows, index, reason(error, self._name(rows, index))) from error

    def _name(self, rows: Table, index: int) -> str:
        return self.paths.names[int(rows[index])]

    def _problem(self, call: Call, rows: Table, index: int, wrong: str) -> Any:
        return call.problem(f"cannot read the array: {wrong}", sample=index, source=self._name(rows, index))


def _in_bytes(table: Table, item: int, single: int = 1) -> Table:
    """Axes with the last one counted in bytes; where there are none, one with `single` elements."""
    if not table.shape[1]:
        return np.full((len(table), 1), single * item)
    return np.concatenate([table[:, :-1], table[:, -1:] * item], axis=1)
