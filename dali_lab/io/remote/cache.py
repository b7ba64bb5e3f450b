"""A cache of remote files on disk, shared by processes.

An entry is one file with the bytes and, behind them, the version of the object, the size and the sum. It is
written under another name and renamed when it is complete, so a process that is killed leaves no half entry; one whose
end or sum does not fit, as after a loss of power, is not used. The time of an entry's last use is its time of change.
When the entries are more than the limit, the ones that were used longest ago go.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dali_lab.io.locations import shown
from dali_lab.io.remote.requests import tried
from dali_lab.io.remote.store import Info, Kind, StoreError, Unchanged
from dali_lab.model.cache_folder import cache_folder

LIMIT = "DALI_LAB_REMOTE_CACHE"
FOLDER = "DALI_LAB_REMOTE_CACHE_FOLDER"
BLOCK = 4 << 20
"""Bytes of the pieces in which parts of files are kept."""

_END = struct.Struct("<QQQQ4s")
_MAGIC = b"dlc2"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_OLD = 3600
"""Seconds after which what a killed process has left is removed."""


def limit() -> int:
    """Bytes that the cache may have: ``DALI_LAB_REMOTE_CACHE``, such as ``50GB``; 0 without it."""
    return _size(os.environ.get(LIMIT, ""))


@functools.cache
def _size(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if text.strip() and not found:
        raise StoreError(Kind.WRONG, f"the environment variable {LIMIT} must be a size such as 50GB, not '{text}'")
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0


def folder() -> Path:
    """The folder of the cache: ``DALI_LAB_REMOTE_CACHE_FOLDER``, by default in the user's cache."""
    return Path(os.environ.get(FOLDER) or cache_folder() / "remote")


def fetch(url: str, start: int, count: int, known: Info | None, stopped: Callable[[], bool]) -> tuple[memoryview, Info]:
    """A range of an object, from the cache if it is there; a count of −1 is the whole object.

    Raises
    ------
    StoreError
        If it cannot be read.
    """
    most = limit()
    if not most:
        return tried(url, lambda store, key: store.get(key, start, count), stopped)
    if count < 0:
        return _entry(url, 0, -1, known, most, stopped)
    pieces = []
    begin = start - start % BLOCK
    info = known
    for place in range(begin, max(start + count, begin + 1), BLOCK):
        size = BLOCK if known is None else max(0, min(BLOCK, known.size - place))
        data, found = _entry(url, place, size, known, most, stopped)
        if info is not None and found.version != info.version:
            raise StoreError(Kind.CHANGED, "it changed while it was read")
        info = found
        pieces.append(data[max(start - place, 0) : max(start + count - place, 0)])
    assert info is not None
    return (pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))), info


def _entry(
    url: str, start: int, count: int, known: Info | None, most: int, stopped: Callable[[], bool]
) -> tuple[memoryview, Info]:
    name = hashlib.blake2b(
        f"{url}\n{start}\n{count >= 0}".encode("utf-8", "surrogateescape"), digest_size=20
    ).hexdigest()
    path = folder() / name[:2] / name
    kept = _kept(path)
    if known is not None:
        if kept is not None and kept[1] == known:
            return kept
        kept = None
    try:
        unless = kept[1].version if kept is not None else ""
        data, info = tried(url, lambda store, key: store.get(key, start, count, unless), stopped)
    except Unchanged:
        assert kept is not None
        return kept
    if data.nbytes <= most // 4 and known in (None, info):
        _keep(path, data, info, most)
    return data, info


def _kept(path: Path) -> tuple[memoryview, Info] | None:
    """The content of an entry; `None` where there is none, or it is not complete."""
    try:
        content = memoryview(path.read_bytes())
        count, size, length, total, magic = _END.unpack(content[-_END.size :])
        if magic != _MAGIC or count + length + _END.size != len(content) or _sum(content[:count]) != total:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content[:count], Info(size, bytes(content[count : count + length]).decode())
    except (OSError, struct.error, UnicodeDecodeError):
        return None


def _sum(data: memoryview) -> int:
    """The sum of the bytes by words of eight: a hundredth of the time of decoding them, unlike a digest."""
    whole = data.nbytes // 8
    words = np.frombuffer(data, np.uint64, whole)
    return (int(words.sum(dtype=np.uint64)) + sum(data[8 * whole :])) % (1 << 64)


class _State:
    """State of the cache, as far as this process knows it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.written = 0
        self.looked = False
        self.broken = False


_state = _State()


def _keep(path: Path, data: memoryview, info: Info, most: int) -> None:
    """Write an entry; a cache that cannot be written to is no reason to fail."""
    if _state.broken:
        return
    version = info.version.encode()
    end = _END.pack(data.nbytes, info.size, len(version), _sum(data), _MAGIC)
    try:
        _make_room(data.nbytes + len(version) + len(end), most)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.write(version + end)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        _state.broken = True
        warnings.warn(
            f"remote files are not kept in '{folder()}' any more: {shown(str(error.strerror or error))}", stacklevel=2
        )


def _make_room(size: int, most: int) -> None:
    """Remove entries so that `size` bytes more are within the limit; each process looks after a part of it."""
    share = most // 32
    with _state.lock:
        _state.written += size
        if _state.looked and _state.written < share:
            return
        _state.looked, _state.written = True, size
        # Leave room for what this and other processes write until they look again.
        trim(most - 8 * share - size)


def trim(most: int) -> int:
    """Remove the entries used longest ago until at most `most` bytes are left; returns how many are left."""
    found = []
    total = 0
    now = time.time()
    for place in folder().glob("??/*"):
        with contextlib.suppress(OSError):
            state = place.stat()
            if place.name.startswith("."):
                if now - state.st_mtime > _OLD:
                    place.unlink()
                continue
            found.append((state.st_mtime_ns, state.st_size, place))
            total += state.st_size
    for _, size, place in sorted(found, key=lambda entry: entry[:2]):
        if total <= most:
            break
        with contextlib.suppress(OSError):
            place.unlink()
        total -= size
    return total
