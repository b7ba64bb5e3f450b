"""Files with many samples in each, such as archives: parts of them mapped, or read, for a whole chunk at once."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIDataType, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.whole_files import Paths, can_read_compiled
from dali_lab.schema import Call

Table = npt.NDArray[np.int64]


class LargeFiles:
    """Files that a reader takes parts of.

    Parameters
    ----------
    names
        Their paths.
    argument
        The argument that holds them, for errors.
    mapped
        Map the files; otherwise parts are read by ``read``.
    ahead
        Ask the system to read each file as a whole when it is mapped.

    Raises
    ------
    ArgumentError
        If a file is not there, is a folder, or may not be read.
    """

    def __init__(self, names: Sequence[str], argument: str, *, mapped: bool = True, ahead: bool = False) -> None:
        self.paths = Paths(names)
        self.mapped = mapped
        self.lengths = np.array([_checked_length(name, argument) for name in names], np.int64)
        self._ahead = ahead
        self._maps: dict[int, npt.NDArray[np.uint8]] = {}
        self._bases = np.zeros(len(names), np.int64)
        self._lock = threading.Lock()

    def memory(self, file: int) -> npt.NDArray[np.uint8]:
        """All bytes of a file, mapped: what is written there does not reach the file.

        Raises
        ------
        OSError
            If it cannot be opened any more.
        """
        with self._lock:
            found = self._maps.get(file)
            if found is None:
                found = self._maps[file] = self._map(file)
                self._bases[file] = found.ctypes.data
            return found

    def _map(self, file: int) -> npt.NDArray[np.uint8]:
        with open(self.paths.names[file], "rb", buffering=0) as opened:
            length = os.fstat(opened.fileno()).st_size
            self.lengths[file] = length
            if not length:
                return np.empty(0, np.uint8)
            memory = _mapped(opened.fileno(), length)
        if self._ahead and hasattr(memory, "madvise"):
            memory.madvise(mmap.MADV_WILLNEED)
        return np.frombuffer(memory, np.uint8)

    def read(
        self,
        call: Call,
        files: Table,
        offsets: Table,
        counts: Table,
        sources: Sequence[str],
        dtype: DALIDataType = UINT8,
        *,
        in_place: bool,
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
        in_place
            Whether the samples may lie in the mapped files themselves, rather than in memory of their own.

        Raises
        ------
        SampleError
            If a file cannot be read or ends before its part.
        """
        item = numpy_dtype(dtype).itemsize
        shapes = (counts // item).reshape(-1, 1)
        addresses = self.addresses(call, files, offsets, counts, sources) if self.mapped else None
        if addresses is not None and in_place and not (offsets % item).any():
            return Batch(addresses, shapes, dtype, "", self.owners(files))
        out = Batch.allocate(shapes, dtype)
        if addresses is None:
            self._read(call, files, offsets, counts, sources, out)
        else:
            from dali_lab.kernels.cpu import copy

            copy.copy(addresses, out.addresses, counts, 1)
        return out

    def owners(self, files: Table) -> tuple[Any, ...]:
        """The objects that keep the samples' files mapped."""
        return tuple(self._maps[file] for file in np.unique(files).tolist())

    def addresses(
        self, call: Call, files: Table, offsets: Table, counts: Table, sources: Sequence[str]
    ) -> npt.NDArray[np.int64]:
        """Addresses in memory of parts of files; see :meth:`read`."""
        if not self._bases[files].all():
            for index, file in enumerate(files.tolist()):
                if file in self._maps:
                    continue
                try:
                    self.memory(file)
                except (OSError, ValueError) as error:
                    raise _unreadable(call, index, sources, error) from error
        outside = (offsets < 0) | (counts < 0) | (offsets + counts > self.lengths[files])
        if outside.any():
            index = int(outside.argmax())
            raise self._ends_early(call, files, offsets, counts, index, sources)
        return np.asarray(self._bases[files] + offsets, np.int64)

    def _ends_early(
        self, call: Call, files: Table, offsets: Table, counts: Table, index: int, sources: Sequence[str]
    ) -> Exception:
        length = int(self.lengths[files[index]])
        what = f"bytes {int(offsets[index])} to {int(offsets[index] + counts[index])}"
        return call.problem(
            f"{what} are not in '{self.paths.names[int(files[index])]}', which has {length}:"
            " the file was cut short, or its index is not its own",
            sample=index,
            source=sources[index],
        )

    def _read(
        self, call: Call, files: Table, offsets: Table, counts: Table, sources: Sequence[str], out: Batch
    ) -> None:
        """Read parts of files into `out`."""
        good = not ((offsets < 0) | (counts < 0)).any()
        if good and can_read_compiled():
            from dali_lab.kernels.cpu import file_access as kernels

            wanted = np.ascontiguousarray(self.paths.addresses[files])
            if kernels.read_ranges(wanted, offsets, counts, out.addresses) == len(files):
                return
        for index, file in enumerate(files.tolist()):
            try:
                with open(self.paths.names[file], "rb", buffering=0) as opened:
                    self.lengths[file] = os.fstat(opened.fileno()).st_size
                    if offsets[index] < 0 or offsets[index] + counts[index] > self.lengths[file]:
                        raise self._ends_early(call, files, offsets, counts, index, sources)
                    opened.seek(int(offsets[index]))
                    memory = out.array(index).reshape(-1).view(np.uint8)
                    at = 0
                    while at < len(memory):
                        got = opened.readinto(memory[at:].data)
                        if not got:
                            raise self._ends_early(call, files, offsets, counts, index, sources)
                        at += got
            except (OSError, ValueError) as error:
                raise _unreadable(call, index, sources, error) from error


def _mapped(handle: int, length: int) -> mmap.mmap:
    """A private mapping; where the system can be told so, one that may be larger than its memory."""
    if os.name != "posix":
        return mmap.mmap(handle, length, access=mmap.ACCESS_COPY)
    unreserved = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
    return mmap.mmap(handle, length, flags=mmap.MAP_PRIVATE | unreserved, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _checked_length(name: str, argument: str) -> int:
    try:
        with open(name, "rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ArgumentError(f"cannot read '{name}': {reason}", argument=argument) from error


def _unreadable(call: Call, index: int, sources: Sequence[str], error: Exception) -> Exception:
    reason = getattr(error, "strerror", None) or str(error)
    return call.problem(f"cannot read the file: {reason}", sample=index, source=sources[index])
