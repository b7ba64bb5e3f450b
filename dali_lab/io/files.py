"""Files wherever they are: the one place where a path becomes bytes, a size, or the entries of a folder.

A path is one of the file system or a URL. Paths of the file system cost what the system's own calls cost.
"""

from __future__ import annotations

import errno
import functools
import io
import os
import stat
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from dali_lab.io.locations import canonical, is_remote, join
from dali_lab.io.roots import open_within, reach
from dali_lab.model.buffers import memory_of_machine

if TYPE_CHECKING:
    from dali_lab.io.remote.store import Info

MISSING = "does not exist"
"""Words in the reason of an error about a file or folder that is not there."""


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to be read and sought.

    Raises
    ------
    OSError
        If it cannot be read; ``strerror`` is the reason.
    """
    name = canonical(os.fspath(path))
    if not is_remote(name):
        return open_within(name)
    reach(name)
    from dali_lab.io.remote.opened import RemoteFile

    return io.BufferedReader(RemoteFile(name), 64 << 10)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    name = canonical(os.fspath(path))
    if not is_remote(name):
        with open_within(name) as file:
            return read_all(file)
    reach(name)
    from dali_lab.io.remote.cache import fetch

    return bytes(fetch(name, 0, -1, None, bool)[0])


def read_all(file: IO[bytes]) -> bytes:
    """All bytes of an open file.

    Raises
    ------
    OSError
        If it cannot be read, or does not fit into memory.
    """
    size = os.fstat(file.fileno()).st_size
    try:
        if size <= memory_of_machine() // 2:
            return file.read()
    except MemoryError:
        pass  # less is free than the machine has
    raise OSError(errno.EFBIG, f"its {size:,} bytes do not fit into memory", file.name)


def read_text(path: str | os.PathLike[str]) -> str:
    """A file as text: UTF-8, other bytes as surrogates, every kind of line break as ``\\n``.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    text = read_file(path).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_missing(error: OSError) -> bool:
    """Whether an error says that there is no such file."""
    return isinstance(error, FileNotFoundError) or getattr(error, "missing", False)


def reason(error: Exception, path: str = "") -> str:
    """Why a file or folder cannot be read; where a relative path leads nowhere, also where such paths start."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            return f"it is a link to what {MISSING}"
        absolute = not path or os.path.isabs(path) or is_remote(path)
        return f"it {MISSING}{'' if absolute else _start_of_relative_paths()}"
    if isinstance(error, PermissionError):
        return "you have no permission to read it"
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file"
    if isinstance(error, NotADirectoryError) and os.path.isfile(path):
        return "it is a file, not a folder"
    return str(getattr(error, "strerror", None) or error)


def _start_of_relative_paths() -> str:
    try:
        return f" (relative paths start in '{os.getcwd()}')"
    except OSError:
        return " (the working directory was deleted)"


def infos(paths: Sequence[str]) -> list[Info | OSError]:
    """Size and version of files, or the error of each; many are asked for at once."""
    from dali_lab.io.remote.requests import submit

    answers = [_refused(path) or submit(functools.partial(_info, path)) for path in paths]
    results: list[Info | OSError] = []
    for answer in answers:
        try:
            results.append(answer if isinstance(answer, OSError) else answer.result())
        except OSError as error:
            results.append(error)
    return results


def _refused(path: str) -> OSError | None:
    try:
        reach(canonical(path))
    except OSError as error:
        return error
    return None


def _info(path: str) -> Info:
    from dali_lab.io.remote.requests import tried
    from dali_lab.io.remote.store import Info

    name = canonical(path)
    if is_remote(name):
        return tried(name, lambda store, key: store.info(key))
    found = os.stat(name)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return Info(found.st_size, str(found.st_mtime_ns))


def list_folder(folder: str) -> list[Entry]:
    """The entries of a folder, in no order.

    Raises
    ------
    OSError
        If it cannot be listed.
    """
    name = canonical(folder)
    reach(name)
    if not is_remote(name):
        with os.scandir(name) as entries:
            return list(entries)
    from dali_lab.io.remote import listing

    return [RemoteEntry(name, *found) for found in listing.folder(name)]


def list_folders(folders: Sequence[str]) -> list[list[Entry]]:
    """The entries of remote folders, many of which are listed at the same time.

    Raises
    ------
    OSError
        If one cannot be listed.
    """
    from dali_lab.io.remote import listing

    for folder in folders:
        reach(canonical(folder))
    found = listing.folders([canonical(folder) for folder in folders])
    return [[RemoteEntry(folder, *entry) for entry in row] for folder, row in zip(folders, found, strict=True)]


class RemoteEntry:
    """An entry of a remote folder, with the part of :class:`os.DirEntry` that readers use; there are no links."""

    __slots__ = ("_folder", "_is_folder", "name", "size")

    def __init__(self, folder: str, name: str, is_folder: bool, size: int = -1) -> None:
        self._folder = folder
        self._is_folder = is_folder
        self.name = name
        self.size = size

    @property
    def path(self) -> str:
        """The whole URL."""
        return join(self._folder, self.name)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._is_folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is an object."""
        return not self._is_folder

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def stat(self) -> os.stat_result:
        """Not asked for where there are no links."""
        raise NotImplementedError


Entry = os.DirEntry[str] | RemoteEntry


def is_folder(path: str) -> bool:
    """Whether there is a folder at a path, as far as can be told; errors are a no."""
    name = canonical(path)
    if not is_remote(name):
        return os.path.isdir(name)
    reach(name)
    from dali_lab.io.remote.listing import folder

    try:
        return bool(folder(name, keep=False))
    except OSError:
        return False


def exists(path: str) -> bool:
    """Whether there is a file or a folder at a path."""
    name = canonical(path)
    if not is_remote(name):
        return os.path.exists(name)
    return not isinstance(infos([name])[0], OSError) or is_folder(name)
