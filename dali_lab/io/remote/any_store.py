"""All other URLs, by fsspec: ``memory://``, ``ftp://``, ``hf://``, chains such as ``zip://a.jpg::s3://…``."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator, Sequence
from threading import Semaphore
from typing import TypeVar

from dali_lab.io.remote.store import Found, Info, Kind, StoreError, Unchanged

T = TypeVar("T")

_LASTING = (ValueError, TypeError, NotImplementedError, ImportError)


class AnyStore:
    """The file system of one URL; keys are whole URLs, whose paths the library takes apart.

    Parameters
    ----------
    url
        Any URL of it.
    """

    def __init__(self, url: str) -> None:
        import fsspec

        try:
            self._system, _ = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise StoreError(Kind.WRONG, str(error)) from None

    def _path(self, url: str) -> str:
        import fsspec

        return str(fsspec.core.url_to_fs(url)[1])

    def renew(self) -> None:
        self._system.clear_instance_cache()

    def info(self, key: str) -> Info:
        return self._tried(lambda: self._info(self._path(key)))

    def _info(self, path: str) -> Info:
        found = self._system.info(path)
        if found.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        size = int(found["size"]) if found.get("size") is not None else -1
        tag = next(
            (found[name] for name in ("ETag", "etag", "mtime", "LastModified", "created") if found.get(name)), ""
        )
        return Info(size, f"{tag} {size}")

    def small(
        self, wanted: Sequence[tuple[str, int, int]], slots: Semaphore
    ) -> Iterator[tuple[int, tuple[memoryview, Info] | None]]:
        return ((index, None) for index in range(len(wanted)))

    def get(self, key: str, start: int, count: int, unless: str = "") -> tuple[memoryview, Info]:
        def read() -> tuple[memoryview, Info]:
            path = self._path(key)
            info = self._info(path)
            if unless and info.version == unless:
                raise Unchanged
            if not count:
                return memoryview(b""), info
            if info.size < 0:  # nothing would tell whether a part of it is all that was asked for
                whole = memoryview(self._system.cat_file(path))
                return whole[start : start + count] if count > 0 else whole, info
            end = info.size if count < 0 else min(start + count, info.size)
            part = {} if count < 0 else {"start": start, "end": end}
            data = memoryview(self._system.cat_file(path, **part))
            if data.nbytes == info.size:  # also where a part was asked for, of a server that sends whole files alone
                data = data[start:end]
            if data.nbytes != end - start:
                raise StoreError(Kind.PASSING, f"the server sent {data.nbytes:,} bytes instead of {end - start:,}")
            return data, info

        data, info = self._tried(read)
        return data, (Info(data.nbytes, info.version) if info.size < 0 and count < 0 else info)

    def folder(self, key: str, flat: bool = False, after: Found | None = None) -> Iterator[list[Found]]:
        def read() -> list[Found]:
            found = []
            path = self._path(key)
            for entry in self._system.ls(path, detail=True):
                name = entry["name"].rstrip("/").rpartition("/")[2]
                if entry["name"].rstrip("/") == path.rstrip("/"):
                    if entry["type"] != "directory":
                        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder")
                    continue
                found.append(Found(name, entry["type"] == "directory", int(entry.get("size") or -1)))
            return found

        yield self._tried(read)

    def put(self, key: str, data: bytes) -> None:
        def write() -> None:
            path = self._path(key)
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(path, data)

        self._tried(write)

    def remove(self, key: str) -> None:
        def remove() -> None:
            with contextlib.suppress(FileNotFoundError):
                self._system.rm_file(self._path(key))

        self._tried(remove)

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (StoreError, Unchanged):
            raise
        except Exception as error:
            explained = _explained(error)
        raise explained  # not within the handler: what the library says may have secrets in it


def _explained(error: Exception) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return StoreError(Kind.MISSING, "it does not exist")
    if isinstance(error, (IsADirectoryError, NotADirectoryError)):
        return StoreError(Kind.WRONG, str(error.strerror or error))
    if isinstance(error, PermissionError):
        return StoreError(Kind.DENIED, f"you have no permission for it ({error})")
    if isinstance(error, _LASTING):
        return StoreError(Kind.WRONG, str(error))
    status = getattr(error, "status", None)
    if status in (401, 403):
        return StoreError(Kind.DENIED, f"the server denies it (status {status}); a signed URL may have expired")
    return StoreError(Kind.PASSING, f"{type(error).__name__}: {error}")
