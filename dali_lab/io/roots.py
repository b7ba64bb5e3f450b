"""Roots: the folders and servers that a part of the process may read, such as the previews of a graph file.

Readers ask :func:`reach` before they open a file. Outside of :meth:`Roots.limiting` everything can be reached.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO, cast

PathLike = str | os.PathLike[str]
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?:::|://([^/?#]*))")
"""Scheme and host of an address such as ``s3://bucket/file``."""
_LOCAL = ("file", "local")
_HIDDEN = re.compile(r"[/\\]\.")
"""The beginning of a hidden folder's name in a path."""


class OutsideRootsError(OSError):
    """A file that lies outside the roots."""

    def __init__(self, path: str, writing: bool = False) -> None:
        super().__init__()
        self.strerror = (
            "previews write no files" if writing else "it is outside the folders that may be read (option --root)"
        )
        self.filename = path

    def __str__(self) -> str:
        return f"{self.strerror}: '{self.filename}'"


class Roots:
    """Folders and servers that may be read; the folders may be written to as well.

    Parameters
    ----------
    folders
        Folders with all that is in them, links resolved.
    readable
        Folders that may be read alone.
    """

    def __init__(self, folders: Iterable[PathLike], readable: Iterable[PathLike] = ()) -> None:
        self._lock = threading.Lock()
        self._folders = tuple(dict.fromkeys(map(real, folders)))
        self._readable = tuple(dict.fromkeys(map(real, readable)))
        self._servers: frozenset[str] = frozenset()

    def __reduce__(self) -> tuple[object, ...]:
        return roots_of, self.parts()

    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Folders, folders that may be read alone, and servers, for :func:`roots_of`."""
        return self._folders, self._readable, tuple(sorted(self._servers))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that may be read and written to, links resolved."""
        return self._folders

    def allow(self, folder: PathLike) -> None:
        """Add a folder."""
        with self._lock:
            self._folders = tuple(dict.fromkeys((*self._folders, real(folder))))

    def allow_reading(self, folder: PathLike) -> None:
        """Add a folder that may be read alone."""
        with self._lock:
            self._readable = tuple(dict.fromkeys((*self._readable, real(folder))))

    def allow_server(self, server: str) -> None:
        """Add a server, as :func:`server_of` names it."""
        with self._lock:
            self._servers |= {server}

    def root_of(self, path: PathLike) -> str | None:
        """The folder of these that a path lies in once links are resolved; `None` if it lies in none."""
        found = real(path)
        return next((folder for folder in self._folders if _lies_in(found, folder)), None)

    def writes(self, path: PathLike) -> bool:
        """Whether a file may be written: in one of the folders, and in no hidden folder of theirs.

        Hidden folders hold settings and keys of other programs; one that was allowed by its name may be written to.
        """
        found = real(path)
        return any(
            _lies_in(found, folder) and not _HIDDEN.search(os.path.dirname(found)[len(folder.rstrip(os.sep)) :])
            for folder in self._folders
        )

    def holds(self, handle: int) -> bool:
        """Whether the file that is open under a handle may be read, by whatever path it was opened."""
        found = _path_of(handle)
        return any(_lies_in(found, folder) for folder in (*self._folders, *self._readable))

    def reads(self, path: PathLike) -> bool:
        """Whether a file, a folder or an address may be read."""
        server = server_of(os.fspath(path))
        if server is not None:
            return server in self._servers
        local = _local(os.fspath(path))
        found = "" if local is None else real(local)
        return any(_lies_in(found, folder) for folder in (*self._folders, *self._readable))

    @contextlib.contextmanager
    def limiting(self, *, writes: bool = False) -> Iterator[None]:
        """Let this context, and pools of threads that are made in it, reach these roots alone.

        `writes` says whether operators may write files in the roots, too.
        """
        with Limits(self, writes).held():
            yield


def roots_of(folders: Iterable[PathLike], readable: Iterable[PathLike], servers: Iterable[str]) -> Roots:
    """Roots from another process, whose links are resolved anew: those of this machine may lead elsewhere."""
    made = Roots(folders, readable)
    for server in servers:
        made.allow_server(server)
    return made


@dataclass(frozen=True)
class Limits:
    """Paths and servers that a context may reach; it can be taken to other processes.

    Attributes
    ----------
    roots
        Folders and servers.
    writes
        Whether operators may write files in the roots, too.
    """

    roots: Roots
    writes: bool

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let this context, and pools of threads that are made in it, keep to these limits."""
        token = _limits.set(self)
        try:
            yield
        finally:
            _limits.reset(token)


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


def limits_here() -> Limits | None:
    """The limits of this context; `None` where everything can be reached."""
    return _limits.get()


def limited() -> bool:
    """Whether there are limits here: where there are none, files need not be asked for one by one."""
    return _limits.get() is not None


def reach(path: PathLike) -> None:
    """Ask whether a file, a folder or an address may be read here.

    Raises
    ------
    OutsideRootsError
        If it lies outside the roots.
    """
    limits = _limits.get()
    if limits is not None and not limits.roots.reads(path):
        raise OutsideRootsError(os.fspath(path))


def open_within(path: PathLike, buffering: int = -1) -> IO[bytes]:
    """Open a file of this machine to be read, if it may be read here.

    The open file is checked, not only its path: somebody may put a link on the way meanwhile. Nothing but a plain file
    is opened, as a named pipe would wait for its writer and a device may have no end; without limits also a pipe that
    this process has open, such as a shell's ``<(…)``.

    Raises
    ------
    OutsideRootsError
        If it lies outside the roots.
    OSError
        If it cannot be opened.
    """
    reach(path)
    limits = _limits.get()
    file = cast(IO[bytes], open(path, "rb", buffering, opener=_without_waiting))  # noqa: SIM115 - it is given back
    try:
        kind = os.fstat(file.fileno()).st_mode
        if limits is None and stat.S_ISFIFO(kind) and os.fspath(path).startswith(_OPEN_PIPES):
            os.set_blocking(file.fileno(), True)
        elif not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is not a file", os.fspath(path))
        if limits is not None and _TELLS_PATHS and not limits.roots.holds(file.fileno()):
            raise OutsideRootsError(os.fspath(path))
    except BaseException:
        file.close()
        raise
    return file


def _without_waiting(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    except BlockingIOError:  # another process has to give the file up first
        return os.open(path, flags)


_OPEN_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_TELLS_PATHS = sys.platform in ("linux", "darwin")
"""Whether the system tells the path of an open file."""


def _path_of(handle: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    return os.readlink(f"/proc/self/fd/{handle}")


def writes_files() -> bool:
    """Whether operators whose purpose is to write files do so here: previews only show what comes out of them."""
    limits = _limits.get()
    return limits is None or limits.writes


def reach_to_write(path: PathLike) -> None:
    """Ask whether a file may be written here.

    Raises
    ------
    OutsideRootsError
        If it lies outside the roots, or nothing may be written.
    """
    limits = _limits.get()
    if limits is not None and (not limits.writes or not limits.roots.writes(path)):
        raise OutsideRootsError(os.fspath(path), writing=not limits.writes)


def server_of(path: str) -> str | None:
    """Scheme and host of an address on a server, such as ``"s3://bucket"``; `None` for a file of this machine."""
    found = _ADDRESS.match(path)
    if found is None or (found[1].lower() in _LOCAL and "::" not in path):
        return None
    if "::" in path:  # fsspec joins several addresses so: none of them may be left out
        return path
    return f"{found[1].lower()}://{found[2].rpartition('@')[2].lower()}"


def _local(path: str) -> str | None:
    """The path in an address ``file://…``, `None` where that names a host; any other path as it is."""
    scheme, mark, rest = path.partition("://")
    if not mark or scheme.lower() not in _LOCAL:
        return path
    return rest if os.path.isabs(rest) else None


def real(path: PathLike) -> str:
    """The absolute path with all links resolved; of one that holds a zero byte, which no file has, the empty path."""
    try:
        return os.path.normcase(os.path.realpath(path))
    except ValueError:
        return ""


def _lies_in(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))
