"""Reads whole files, and writes them so that a failed write leaves the old one as it was."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from dali_lab.io.files import read_all, reason
from dali_lab.io.roots import open_within
from dali_lab.model.errors import FormatError

PathLike = str | os.PathLike[str]
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_AT_HANDLES = {os.open, os.stat, os.rename, os.unlink} <= os.supports_dir_fd
"""Whether the system takes names in an open folder, which nobody can replace by a link meanwhile."""


def read_bytes(path: PathLike) -> bytes:
    """All of a file, if it may be read here.

    Raises
    ------
    FormatError
        If it cannot be read; the message says why and names the file.
    """
    with _as_format_error("cannot be read", path), open_within(path) as file:
        return read_all(file)


def read_below(root: PathLike, path: PathLike) -> bytes:
    """All of a file in the folder `root`, to which no link leads on the way from there.

    Raises
    ------
    FormatError
        If it cannot be read, or there is a link.
    """
    with _as_format_error("cannot be read", path), _folder_below(root, path) as (folder, name):
        # Opening a named pipe would wait for its writer.
        flags = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(name, flags, dir_fd=folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError("it is not a file")
            return file.read()


def write_bytes(path: PathLike, data: bytes) -> None:
    """Put `data` in the place of the file at once: a reader sees the old content or the new one.

    Raises
    ------
    FormatError
        If it cannot be written.
    """
    target = Path(path)
    with _as_format_error("cannot be written", path):
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        with contextlib.suppress(OSError):
            target = target.resolve()
        _put(target, data)


def write_below(root: PathLike, path: PathLike, data: bytes) -> None:
    """:func:`write_bytes` for a file in the folder `root`, to which no link leads on the way from there.

    A link that somebody puts in the place of a folder or of the file meanwhile is not followed.

    Raises
    ------
    FormatError
        If it cannot be written, or there is a link.
    """
    with _as_format_error("cannot be written", path), _folder_below(root, path) as (folder, name):
        _put(Path(name), data, folder)


def write_text(path: PathLike, text: str) -> None:
    """Write text as UTF-8 with ``\\n`` at the ends of lines, in the way of :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def _put(target: Path, data: bytes, folder: int | None = None) -> None:
    """Write a file beside the target and rename it; `folder` is an open folder that both names are in."""
    try:
        present = os.stat(target, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        mode = None
    else:
        mode = present.st_mode & 0o777
        if not stat.S_ISREG(present.st_mode):
            raise OSError("it is a link" if stat.S_ISLNK(present.st_mode) else "it is not a file")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    # A new file has the rights that the system gives to new files, an old one keeps its own.
    opener = functools.partial(_opened, mode=0o666 if mode is None else mode, folder=folder)
    try:
        with open(temporary, "xb", opener=opener) as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, mode)
            os.fsync(file.fileno())
        os.replace(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _opened(name: str, flags: int, *, mode: int, folder: int | None) -> int:
    return os.open(name, flags | _NO_LINK, mode, dir_fd=folder)


@contextlib.contextmanager
def _folder_below(root: PathLike, path: PathLike) -> Iterator[tuple[int | None, str]]:
    """A handle of the folder that a file is in, and the file's name there.

    Each folder on the way is opened in the one before, and none is a link. Where the system cannot do so, the whole
    path is looked at beforehand, and there is no handle.
    """
    target = Path(path)
    parts = target.relative_to(root).parts
    if not parts or ".." in parts:
        raise OSError("it is a folder")
    if not _AT_HANDLES:
        if os.path.normcase(os.path.realpath(target)) != os.path.normcase(target):
            raise OSError("there is a link on the way")
        yield None, os.fspath(target)
        return
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _NO_LINK
    handle = os.open(root, flags)
    try:
        for part in parts[:-1]:
            inner = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, parts[-1]
    finally:
        os.close(handle)


@contextlib.contextmanager
def _as_format_error(problem: str, path: PathLike) -> Iterator[None]:
    """Errors of the system as errors that name the file."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise FormatError(f"{problem}: {reason(error, os.fspath(path))}", source=os.fspath(path)) from error
