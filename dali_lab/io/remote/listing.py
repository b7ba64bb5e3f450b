"""Listings of remote folders: with progress while they last long, and kept for the next start if they are large."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import msgspec

from dali_lab.io.locations import shown, without_end
from dali_lab.io.remote.requests import submit, tried
from dali_lab.io.remote.store import Found, Kind, Store, StoreError
from dali_lab.model.cache_folder import cache_folder

KEPT_FROM = 10_000
"""Entries from which on a listing is kept for the next start."""
KEEP = "DALI_LAB_LISTINGS"
_KEPT_FOR = 24 * 3600
_QUIET = 3.0
"""Seconds after which listing says how far it is, and how often."""


class _Kept(msgspec.Struct, array_like=True):
    """A listing in a file."""

    url: str
    names: list[str]
    folders: list[bool]
    sizes: list[int]


def folder(url: str, *, flat: bool = False, keep: bool = True, progress: Progress | None = None) -> list[Found]:
    """The entries of a remote folder, in no order.

    A folder with :data:`KEPT_FROM` entries or more is kept for a day; ``DALI_LAB_LISTINGS=new`` lists it anew.

    Parameters
    ----------
    flat
        Few folders are expected in it.
    keep
        Use and make kept listings.

    Raises
    ------
    StoreError
        If it cannot be listed, or there is nothing in it: stores know no empty folders.
    """
    url = without_end(url)
    told = progress or Progress(url)
    if keep:
        kept = _kept(url)
        if kept is not None:
            told.using(url, *kept)
            return kept[0]
    found: list[Found] = []

    def read(store: Store, key: str) -> None:
        for page in store.folder(key, flat, found[-1] if found else None):
            found.extend(page)
            told.add(len(page))

    try:
        while True:
            before = len(found)
            try:
                tried(url, read)
                break
            except StoreError as error:
                # Each page may be asked for as often as an object: of a thousand pages, some fail.
                if error.kind is not Kind.PASSING or len(found) == before:
                    raise
    finally:
        if progress is None:
            told.end()
    if not found:
        raise StoreError(Kind.MISSING, "it does not exist, or nothing is in it")
    if keep and len(found) >= KEPT_FROM:
        _keep(url, found)
    return found


def folders(urls: Sequence[str]) -> list[list[Found]]:
    """The entries of several folders, many of which are listed at once; those without any are empty lists.

    Raises
    ------
    StoreError
        The first error.
    """
    told = Progress(urls[0].rpartition("/")[0] if urls else "")
    futures: list[Future[list[Found]]] = [
        submit(functools.partial(folder, url, flat=True, progress=told)) for url in urls
    ]
    result = []
    try:
        for future in futures:
            try:
                result.append(future.result())
            except StoreError as error:
                if error.kind is not Kind.MISSING:
                    raise
                result.append([])
    finally:
        for future in futures:
            future.cancel()
        told.end()
    return result


class Progress:
    """Report on the standard error how many entries were listed, if that takes long."""

    def __init__(self, url: str) -> None:
        self.count = 0
        self._url = url
        self._lock = threading.Lock()
        self._next = time.monotonic() + _QUIET
        self._said = False

    def add(self, count: int) -> None:
        """Count entries."""
        with self._lock:
            self.count += count
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + (0.5 if sys.stderr.isatty() else 10)
            self._said = True
        self._say(f"listing {shown(self._url)}: {self.count:,} entries so far")

    def using(self, url: str, found: Sequence[Found], age: float) -> None:
        """Say that a kept listing is used."""
        self.add(len(found))
        hours = f"{age / 3600:.0f} hours" if age >= 5400 else f"{age / 60:.0f} minutes"
        self._say(f"{shown(url)}: its listing of {hours} ago is used ({KEEP}=new lists it anew)\n")

    def end(self) -> None:
        """Say the total, if anything was said."""
        if self._said:
            self._say(f"listed {shown(self._url)}: {self.count:,} entries\n")

    def _say(self, text: str) -> None:
        if sys.stderr is None:
            return
        line = f"\r\x1b[K{text}" if sys.stderr.isatty() else f"{text.rstrip()}\n"
        sys.stderr.write(line)
        sys.stderr.flush()


def _file(url: str) -> str:
    name = hashlib.blake2b(url.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return os.path.join(cache_folder(), "listings", name)


def _kept(url: str) -> tuple[list[Found], float] | None:
    """A listing that was kept, and its age in seconds."""
    if os.environ.get(KEEP) == "new":
        return None
    try:
        age = time.time() - os.stat(_file(url)).st_mtime
        if not 0 <= age < _KEPT_FOR:
            return None
        with open(_file(url), "rb") as file:
            kept = msgspec.msgpack.decode(file.read(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    if kept.url != url:
        return None
    return [Found(*row) for row in zip(kept.names, kept.folders, kept.sizes, strict=True)], age


def _keep(url: str, found: Sequence[Found]) -> None:
    path = _file(url)
    names, folders_, sizes = (list(column) for column in zip(*found, strict=True))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mine = f"{path}.{os.getpid()}.{threading.get_ident()}"
        with open(mine, "wb") as file:
            file.write(msgspec.msgpack.encode(_Kept(url, names, folders_, sizes)))
        os.replace(mine, path)
    except (OSError, UnicodeEncodeError):
        return  # it is listed anew then
