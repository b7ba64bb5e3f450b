"""NumPy files of a chunk: their headers, and their elements read or mapped, each by one call for all of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.operators.decoders.numpy_format import (
    HEAD,
    START,
    NumpyHeader,
    different_rows,
    header_length,
    parsed_header,
)
from dali_lab.operators.readers.whole_files import Paths, can_read_compiled
from dali_lab.schema import Call

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

    @property
    def counts(self) -> Table:
        """Bytes of the elements."""
        return np.asarray(self.shapes.prod(axis=1) * numpy_dtype(self.dtype).itemsize, np.int64)

    def take(self, which: Table) -> Headers:
        """The headers of some of the files."""
        return Headers(self.dtype, self.shapes[which], self.fortran[which], self.offsets[which])


class Mapping:
    """Keeps files mapped as long as it lives."""

    def __init__(self, addresses: Table, ends: Table) -> None:
        from dali_lab.kernels.cpu import file_access

        self._unmap = file_access.unmap_files
        self._addresses = addresses
        self._ends = ends

    def __del__(self) -> None:
        self._unmap(self._addresses, self._ends)


class ArrayFiles:
    """The files of a reader of arrays.

    Parameters
    ----------
    names
        Their paths.
    keep_headers
        Headers that were read once are not read again.
    """

    def __init__(self, names: Sequence[str], keep_headers: bool) -> None:
        self.paths = Paths(names)
        self._kept: dict[int, NumpyHeader] | None = {} if keep_headers else None

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
        group, sizes = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        heads: list[bytes] = []
        if can_read_compiled():
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
            with open(name, "rb", buffering=0) as file:
                sizes[index] = os.fstat(file.fileno()).st_size
                start = file.read(START)
                return start + file.read(header_length(start) - START)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self._problem(call, rows, index, reason) from error

    def _check_sizes(self, call: Call, rows: Table, found: list[NumpyHeader], group: Table, sizes: Table) -> None:
        ends = np.array([header.offset + header.nbytes for header in found], np.int64)[group]
        if (ends > sizes).any():
            index = int((ends > sizes).argmax())
            count = found[group[index]].nbytes
            raise self._problem(call, rows, index, f"the file ends before its {count} bytes of elements")

    def map(self, rows: Table, headers: Headers, *, ahead: bool) -> Batch | None:
        """A batch over the files themselves, in the order in which elements lie there; `None` if it cannot be.

        What is written into it does not reach the files. With `ahead`, they are read by the time they are used.
        """
        item = numpy_dtype(headers.dtype).itemsize
        if not can_read_compiled() or (headers.offsets % item).any() or not headers.counts.all():
            return None
        from dali_lab.kernels.cpu import file_access

        ends = headers.offsets + headers.counts
        addresses = np.zeros(len(rows), np.int64)
        count = file_access.map_files(self.paths.addresses[rows], ends, ahead, addresses)
        mapping = Mapping(addresses[:count], ends[:count])
        if count < len(rows):
            return None
        return Batch(addresses + headers.offsets, headers.shapes, headers.dtype, "", (mapping,))

    def read(self, call: Call, rows: Table, headers: Headers, out: Batch) -> None:
        """Read the elements of the chosen files, in the order in which they lie there, into `out`.

        Raises
        ------
        SampleError
            If a file cannot be read.
        """
        counts = headers.counts
        if can_read_compiled():
            from dali_lab.kernels.cpu import file_access

            if file_access.read_ranges(self.paths.addresses[rows], headers.offsets, counts, out.addresses) == len(rows):
                return
        for index in range(len(rows)):
            try:
                with open(self._name(rows, index), "rb", buffering=0) as file:
                    file.seek(int(headers.offsets[index]))
                    memory = out.array(index).reshape(-1).view(np.uint8)
                    at = 0
                    while at < len(memory):
                        count = file.readinto(memory[at:].data)
                        if not count:
                            raise CodecError(f"the file ends before its {counts[index]} bytes of elements")
                        at += count
            except (OSError, CodecError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise self._problem(call, rows, index, reason) from error

    def _name(self, rows: Table, index: int) -> str:
        return self.paths.names[int(rows[index])]

    def _problem(self, call: Call, rows: Table, index: int, reason: str) -> Any:
        return call.problem(f"cannot read the array: {reason}", sample=index, source=self._name(rows, index))
