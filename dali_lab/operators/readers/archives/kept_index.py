"""Indexes of archives in stores: looking through an archive reads all of it, so the result is kept for later starts."""

from __future__ import annotations

import contextvars
import functools
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TypeVar

import msgspec
import numpy as np

from dali_lab.io.files import open_file
from dali_lab.io.locations import is_remote
from dali_lab.model.cache_folder import cache_folder
from dali_lab.operators.readers.archives.index import Components, of_archive

T = TypeVar("T")

_AT_ONCE = 8
"""Archives that are looked through at the same time."""


class _Kept(msgspec.Struct, array_like=True):
    """An index in a file, with the archive and the version that it is of."""

    url: str
    version: str
    samples: bytes
    extensions: list[str]
    offsets: bytes
    sizes: bytes
    names: list[str]


def components_of(path: str) -> Components:
    """The files in an archive; of a remote one from the index kept for its version, if there is one.

    Raises
    ------
    TarError
        If it is damaged.
    OSError
        If it cannot be read.
    """
    with open_file(path) as archive:
        if not is_remote(path):
            return of_archive(archive)
        from dali_lab.io.remote.opened import RemoteFile

        raw = getattr(archive, "raw", None)
        assert isinstance(raw, RemoteFile)
        return _remote(archive, raw.name, f"{raw.info.size} {raw.info.version}")


def _remote(archive: IO[bytes], url: str, version: str) -> Components:
    name = hashlib.blake2b(url.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    place = cache_folder() / "indexes" / name
    kept = _kept(place)
    if kept is not None and (kept.url, kept.version) == (url, version):
        samples, offsets, sizes = (
            np.frombuffer(table, np.int64).copy() for table in (kept.samples, kept.offsets, kept.sizes)
        )
        return Components(samples, kept.extensions, offsets, sizes, kept.names)
    found = of_archive(archive)
    _keep(
        place,
        _Kept(
            url,
            version,
            found.samples.tobytes(),
            found.extensions,
            found.offsets.tobytes(),
            found.sizes.tobytes(),
            found.names,
        ),
    )
    return found


def _kept(place: Path) -> _Kept | None:
    try:
        return msgspec.msgpack.decode(place.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return None


def _keep(place: Path, index: _Kept) -> None:
    mine = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        mine.write_bytes(msgspec.msgpack.encode(index))
        os.replace(mine, place)
    except (OSError, UnicodeEncodeError):
        mine.unlink(missing_ok=True)  # it is made anew then


def for_each(read: Callable[[int], T], paths: Sequence[str]) -> list[T]:
    """``read(0)``, ``read(1)``, … for each path; where some are remote, several at the same time.

    Raises
    ------
    Exception
        The first error of `read`.
    """
    if len(paths) < 2 or not any(map(is_remote, paths)):
        return [read(number) for number in range(len(paths))]
    with ThreadPoolExecutor(min(_AT_ONCE, len(paths)), "dali-lab-index") as pool:
        # The context knows what may be read here.
        runs = [functools.partial(contextvars.copy_context().run, read, number) for number in range(len(paths))]
        futures = [pool.submit(run) for run in runs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
