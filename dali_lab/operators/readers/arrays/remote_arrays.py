"""NumPy files in stores: their headers, and the ranges of bytes that a region needs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import infos, reason
from dali_lab.io.locations import shown
from dali_lab.io.remote.parts import WHOLE, FileParts, Part
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError
from dali_lab.operators.decoders.numpy_format import HEAD
from dali_lab.operators.readers.look_ahead import RemoteRows
from dali_lab.schema import Call

Table = npt.NDArray[np.int64]

_MOST_HELD = 1024
"""Files whose bytes are held from reading the header to reading the elements."""
_LEAST_APART = 64 << 10
"""Bytes between two rows of a window from which on they are asked for apart."""


class RemoteArrays:
    """Arrays read by ranges; whole files where whole arrays are wanted.

    Parameters
    ----------
    names
        Paths of the files.
    parts
        What requests them.
    whole
        Whole arrays are read, rather than a region of each.
    """

    def __init__(self, names: Sequence[str], parts: FileParts, whole: bool) -> None:
        self._names = names
        self._parts = parts
        self._count = WHOLE if whole else HEAD
        self._held: OrderedDict[int, memoryview] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._lock = Lock()

    def rows(self) -> RemoteRows:
        """Parts to request ahead: whole files, or their headers, since regions may be drawn later."""
        return RemoteRows(self._parts, self._first_parts)

    def _first_parts(self, rows: Table) -> Iterator[Part]:
        for row in rows.tolist():
            yield Part(row, 0, self._count)

    def heads(self, call: Call, rows: Table, sizes: Table) -> list[bytes]:
        """The first bytes of each file; fills in the sizes of the files."""
        found = self._parts.take(list(self._first_parts(rows)))
        heads = []
        for index, (row, data) in enumerate(zip(rows.tolist(), found, strict=True)):
            if isinstance(data, OSError):
                raise self._problem(call, row, index, data) from data
            heads.append(bytes(data[:HEAD]))
            with self._lock:
                self._held[row] = data
                if self._count == WHOLE or len(data) < HEAD:
                    self._sizes[row] = len(data)
                while len(self._held) > _MOST_HELD:
                    self._held.popitem(last=False)
        unknown = [row for row in dict.fromkeys(rows.tolist()) if row not in self._sizes]
        for row, info in zip(unknown, infos([self._names[row] for row in unknown]), strict=True):
            if isinstance(info, OSError):
                raise self._problem(call, row, rows.tolist().index(row), info) from info
            self._sizes[row] = info.size
        sizes[:] = [self._sizes[row] for row in rows.tolist()]
        return heads

    def windows(
        self, call: Call, rows: Table, offsets: Table, shapes: Table, start: Table, extent: Table, out: Batch
    ) -> None:
        """Read a window of each array; the last axis is counted in bytes.

        Raises
        ------
        SampleError
            If a file cannot be read.
        """
        with self._lock:
            held = [self._held.pop(row, None) for row in rows.tolist()]
        wanted: list[Part] = []
        places: list[tuple[int, int]] = []
        stored: list[npt.NDArray[np.uint8]] = []
        for index, (row, data) in enumerate(zip(rows.tolist(), held, strict=True)):
            total = int(shapes[index].prod())
            first = int(offsets[index])
            if data is not None and len(data) >= first + total:
                stored.append(np.frombuffer(data, np.uint8)[first : first + total])
                continue
            # Only pages that are written to take memory.
            stored.append(np.empty(total, np.uint8))
            for begin, count in _runs(shapes[index], start[index], extent[index]):
                wanted.append(Part(row, first + begin, count))
                places.append((index, begin))
        for part, (index, begin), piece in zip(wanted, places, self._parts.take(wanted), strict=True):
            if isinstance(piece, OSError):
                raise self._problem(call, part.file, index, piece) from piece
            if len(piece) < part.size:
                raise self._problem(call, part.file, index, OSError(0, "the file ends before its elements"))
            stored[index][begin : begin + part.size] = np.frombuffer(piece, np.uint8)
        for index, elements in enumerate(stored):
            ends = (start[index] + extent[index]).tolist()
            window = elements.reshape(shapes[index])[tuple(map(slice, start[index].tolist(), ends))]
            if window.size:
                out.array(index).reshape(-1).view(np.uint8)[:] = window.reshape(-1)

    def _problem(self, call: Call, row: int, index: int, error: OSError) -> OperatorError:
        name = shown(self._names[row])
        return call.problem(f"cannot read the array '{name}': {reason(error)}", sample=index, source=name)


def _runs(shape: Table, start: Table, extent: Table) -> list[tuple[int, int]]:
    """The ranges of bytes that hold a window of an array, from its first element on."""
    if not extent.all():
        return []
    strides = np.append(np.cumprod(shape[::-1])[::-1][1:], 1)
    first = int((start * strides).sum())
    last = int(((start + extent - 1) * strides).sum())
    # The first axis along which the window leaves much out between its steps is walked, and those before it.
    axes = 0
    for axis in range(len(shape)):
        inner = int(((extent[axis + 1 :] - 1) * strides[axis + 1 :]).sum()) + 1
        if extent[axis] > 1 and int(strides[axis]) - inner >= _LEAST_APART:
            axes = axis + 1
    if not axes:
        return [(first, last - first + 1)]
    steps = np.indices(tuple(extent[:axes].tolist())).reshape(axes, -1).T
    inner = int(((extent[axes:] - 1) * strides[axes:]).sum()) + 1
    return [(first + int(step), inner) for step in (steps * strides[:axes]).sum(axis=1).tolist()]
