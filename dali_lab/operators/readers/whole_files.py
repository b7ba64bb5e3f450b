"""Reading whole files: many in one call, with the error of the operating system named by file."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import read_all, reason
from dali_lab.io.locations import canonical, is_remote, shown
from dali_lab.io.roots import OutsideRootsError, limited, open_within, reach
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer
from dali_lab.model.dtypes import UINT8
from dali_lab.operators.readers.identities import content_state
from dali_lab.operators.readers.list_reader import ListReader
from dali_lab.schema import Call

if TYPE_CHECKING:
    from dali_lab.io.remote.parts import FileParts
    from dali_lab.operators.readers.look_ahead import RemoteRows

Rows = npt.NDArray[np.int64]

_FIRST_GUESS = 64 << 10
_LARGE = 1 << 30


class Paths:
    """Paths of files, with a table of their addresses for compiled code.

    Attributes
    ----------
    names
        The paths.
    addresses
        ``int64[N]``, where each path begins, as the C library takes it: encoded, with a zero byte at its end.
    typical
        Bytes that a file has, as far as is known: how much memory is made ready for one.
    parts
        Reads the files where some are remote, else `None`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names = [canonical(name) if "://" in name else name for name in names]
        self.parts: FileParts | None = None
        if any("://" in name and is_remote(name) for name in names):
            from dali_lab.io.remote.parts import FileParts

            self.parts = FileParts(names)
        self.typical: float = _FIRST_GUESS
        self._bytes = np.frombuffer(_all_encoded(names), np.uint8)
        starts = np.flatnonzero(self._bytes[:-1] == 0) + 1
        self.addresses = self._bytes.ctypes.data + np.concatenate([np.zeros(min(len(names), 1), np.int64), starts])

    def __len__(self) -> int:
        return len(self.names)

    def full_names(self, rows: Rows) -> Iterator[str]:
        """The paths, each from the root of the file system."""
        here = os.getcwd()
        return (os.path.normpath(os.path.join(here, self.names[row])) for row in rows.tolist())

    def states(self, rows: Rows, by_content: bool = False) -> Rows | None:
        """Size and time of change of files, ``int64[N, 2]``, or a digest of each; −1 where they cannot be had.

        `None` for remote files, whose changes cannot be told.
        """
        from dali_lab.kernels.cpu import background, file_access

        if self.parts is not None:
            return None
        if by_content:
            return self._contents(rows)
        states = np.full((len(rows), 2), -1, np.int64)
        done = 0
        if can_read_compiled() and file_access.HAS_STATES:
            wanted = self.addresses[rows]
            if background.ready(file_access.read_states, wanted, states):
                done = file_access.read_states(wanted, states)
        for index in range(done, len(rows)):
            try:
                status = os.stat(self.names[rows[index]])
            except (OSError, ValueError):
                continue
            states[index] = status.st_size, status.st_mtime_ns
        if limited():
            states[[not _reachable(self.names[row]) for row in rows.tolist()]] = -1
        return states

    def _contents(self, rows: Rows) -> Rows:
        found = np.full((len(rows), 2), -1, np.int64)
        for index, row in enumerate(rows.tolist()):
            with contextlib.suppress(OSError, ValueError), open_within(self.names[row]) as file:
                found[index] = content_state(hashlib.blake2b(read_all(file)).digest())
        return found

    def remote_rows(self, of_rows: Callable[[Rows], Rows] | None = None) -> RemoteRows | None:
        """The files of samples, to be requested ahead: by default one each at its place; `None` if none is remote."""
        if self.parts is None:
            return None
        from dali_lab.io.remote.parts import Part
        from dali_lab.operators.readers.look_ahead import RemoteRows

        def parts(rows: Rows) -> list[Part]:
            return [Part(file) for file in (rows if of_rows is None else of_rows(rows)).tolist()]

        return RemoteRows(self.parts, parts)


class WholeFileReader(ListReader):
    """A reader whose samples are files; :meth:`load` sets `_paths`, in the order of the list."""

    _paths: Paths

    def remote_rows(self) -> RemoteRows | None:
        return self._paths.remote_rows()

    def states(self, rows: Rows, by_content: bool = False) -> Rows | None:
        return self._paths.states(rows, by_content)


def _reachable(name: str) -> bool:
    """Whether a path may be read here."""
    try:
        reach(name)
    except OutsideRootsError:
        return False
    return True


def _all_encoded(names: Sequence[str]) -> bytes:
    """All names as the system takes them, each with a zero byte at its end; one such byte for none."""
    together = "\0".join(names)
    if together.count("\0") == len(names) - 1:
        with contextlib.suppress(UnicodeEncodeError):
            return os.fsencode(together) + b"\0"
    return b"".join([_encoded(name) + b"\0" for name in names]) or b"\0"


def _encoded(name: str) -> bytes:
    """A name as the system takes it; one that it cannot take stands as an empty one, which cannot be opened."""
    try:
        return os.fsencode("" if "\0" in name else name)
    except UnicodeEncodeError:
        return b""


def can_read_compiled() -> bool:
    """Whether compiled code can call the operating system here."""
    return os.name == "posix"


def read_files(
    call: Call, paths: Paths, rows: npt.NDArray[np.int64], sources: tuple[str, ...], *, per_sample: int = 1
) -> Batch:
    """The bytes of each file as a one-dimensional sample.

    Parameters
    ----------
    call
        The call that reads, for errors.
    paths
        Files to choose from.
    rows
        Which of them to read.
    sources
        Source names that the samples get.
    per_sample
        How many of the files make a sample of the reader, for errors.

    Raises
    ------
    SampleError
        If a file cannot be opened or read; it names the file.
    """
    check_reach(call, paths, rows, per_sample=per_sample)
    if paths.parts is not None:
        batch: Batch | None = _read_remote(call, paths, paths.parts, rows, sources, per_sample)
    else:
        # Limits also check the file that was opened, which compiled code does not.
        batch = _read_compiled(paths, rows) if can_read_compiled() and not limited() else None
    if batch is None:
        batch = _read_one_by_one(call, [paths.names[index] for index in rows.tolist()], per_sample)
    batch.sources = sources
    return batch


def check_reach(call: Call, paths: Paths, rows: npt.NDArray[np.int64], *, per_sample: int = 1) -> None:
    """Ask for each file whether it may be read here.

    Raises
    ------
    SampleError
        If one lies outside the roots; it names the file.
    """
    if not limited():
        return
    for index, row in enumerate(rows.tolist()):
        try:
            reach(paths.names[row])
        except OutsideRootsError as error:
            raise call.problem(
                f"cannot read the file: {reason(error)}", sample=index // per_sample, source=paths.names[row]
            ) from error


def _read_remote(
    call: Call, paths: Paths, parts: FileParts, rows: npt.NDArray[np.int64], sources: Sequence[str], per_sample: int
) -> Batch:
    """The files as they come from their stores, each in memory of its own."""
    from dali_lab.io.remote.parts import Part

    arrays = []
    for index, data in enumerate(parts.take([Part(file) for file in rows.tolist()])):
        if isinstance(data, OSError):
            name = shown(paths.names[int(rows[index])])
            raise call.problem(
                f"cannot read the file '{name}': {reason(data)}",
                sample=index // per_sample,
                source=shown(sources[index]) if sources else name,
            ) from data
        arrays.append(np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8))
    addresses = np.array([array.ctypes.data for array in arrays], np.int64)
    sizes = np.array([len(array) for array in arrays], np.int64)
    return Batch(addresses, sizes.reshape(-1, 1), UINT8, "", tuple(arrays))


def _read_compiled(paths: Paths, rows: npt.NDArray[np.int64]) -> Batch | None:
    """The files in as few blocks of memory as they fit into; `None` if one cannot be read."""
    from dali_lab.kernels.cpu import background, file_access

    wanted = paths.addresses[rows]
    addresses, sizes = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    if not background.ready(file_access.read_whole, wanted, 0, 0, addresses, sizes):
        return None
    blocks = []
    done = needed = 0
    while done < len(rows):
        if needed < 0 or (needed > _LARGE and not os.path.isfile(paths.names[rows[done]])):
            return None
        block = buffer(max(int(paths.typical * (len(rows) - done)), needed))
        count = file_access.read_whole(wanted[done:], block.ctypes.data, len(block), addresses[done:], sizes[done:])
        if not count and sizes[done] <= len(block):
            return None
        blocks.append(block)
        done += count
        needed = int(sizes[done]) if done < len(rows) else 0
    if len(rows):
        paths.typical += 0.25 * (1.1 * float(sizes.mean()) - paths.typical)
    return Batch(addresses, sizes.reshape(-1, 1), UINT8, "", tuple(blocks))


def _read_one_by_one(call: Call, names: Sequence[str], per_sample: int) -> Batch:
    """The same in Python, to report the fault of a file."""
    files: list[IO[bytes]] = []
    index = 0
    try:
        sizes = np.empty((len(names), 1), np.int64)
        for index, path in enumerate(names):
            files.append(open_within(path, buffering=0))
            sizes[index] = os.fstat(files[-1].fileno()).st_size
        batch = Batch.allocate(sizes, UINT8)
        memory = memoryview(batch.owners[0])
        at = 0
        for index, file in enumerate(files):
            end = at + int(sizes[index, 0])
            while at < end:
                piece = file.read(end - at)
                if not piece:
                    raise OSError("the file became shorter while it was read")
                memory[at : at + len(piece)] = piece
                at += len(piece)
            if not sizes[index]:
                file.read(1)
        return batch
    except (OSError, ValueError) as error:
        raise call.problem(
            f"cannot read the file: {reason(error, names[index])}", sample=index // per_sample, source=names[index]
        ) from error
    finally:
        for file in files:
            file.close()
