"""Reads whole files, and writes them so that a failed write leaves the old one as it was."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
from pathlib import Path

from dali_lab.model.errors import FormatError

PathLike = str | os.PathLike[str]


def read_bytes(path: PathLike) -> bytes:
    """All of a file.

    Raises
    ------
    FormatError
        If it cannot be read; the message says why and names the file.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(f"cannot be read: {reason}", source=os.fspath(path)) from error


def write_bytes(path: PathLike, data: bytes) -> None:
    """Put `data` in the place of the file at once: a reader sees the old content or the new one.

    Raises
    ------
    FormatError
        If it cannot be written.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        with contextlib.suppress(OSError):
            target = target.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            # A new file has the rights that the system gives to new files, an old one keeps its own.
            with open(temporary, "xb", opener=functools.partial(os.open, mode=0o666 if mode is None else mode)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(f"cannot be written: {reason}", source=os.fspath(path)) from error


def write_text(path: PathLike, text: str) -> None:
    """Write text as UTF-8 with ``\\n`` at the ends of lines, in the way of :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))
