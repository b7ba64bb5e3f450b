"""A cache folder in an object store: the files of :mod:`~dali_lab.executor.caching.folder`, each written as a whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import numpy as np

from dali_lab.executor.caching.entries import OFFSET, STORED, SUM
from dali_lab.executor.caching.folder import (
    ABOUT,
    CHOICE,
    DATA,
    FORMAT,
    MARK,
    Part,
    UnusableCacheError,
    check_mark,
    part_name,
)
from dali_lab.executor.caching.index_file import INDEX, parsed
from dali_lab.io.locations import shown, without_end
from dali_lab.io.remote.requests import tried
from dali_lab.io.remote.store import Found, StoreError
from dali_lab.io.roots import reach_to_write
from dali_lab.model.errors import ArgumentError


def get(url: str, start: int = 0, count: int = -1) -> memoryview:
    """Bytes of an object."""
    return tried(url, lambda store, key: store.get(key, start, count)[0])


def put(url: str, data: bytes) -> None:
    """Write an object."""
    tried(url, lambda store, key: store.put(key, data))


def remove_object(url: str) -> None:
    """Remove an object."""
    tried(url, lambda store, key: store.remove(key))


def listed(url: str) -> list[Found]:
    """The entries of a folder; none where it does not exist."""
    try:
        return tried(url, lambda store, key: [found for page in store.folder(key) for found in page])
    except StoreError as error:
        if error.missing:
            return []
        raise


def known(url: str) -> bytes | None:
    """A small object; `None` where there is none."""
    try:
        return bytes(get(url))
    except StoreError as error:
        if error.missing:
            return None
        raise


def open_folder(url: str) -> str:
    """Make the folder of a URL ready to be a cache, and return the URL without a slash at its end.

    Raises
    ------
    ArgumentError
        If other objects are in it.
    UnusableCacheError
        If it is the cache of another version, or cannot be written to.
    """
    root = without_end(url)
    try:
        reach_to_write(root)
        mark = known(f"{root}/{MARK}")
        if mark is None:
            if any(not found.is_folder or listed(f"{root}/{found.name}") for found in listed(root)):
                raise ArgumentError(
                    f"the folder '{shown(root)}' holds other files; name one that is empty or not there",
                    argument="cache",
                )
            put(f"{root}/{MARK}", json.dumps({"format": FORMAT}).encode())
            return root
    except OSError as error:
        reason = error.strerror or error
        raise UnusableCacheError(f"the folder '{shown(root)}' cannot be written to: {reason}") from None
    check_mark(mark, shown(root))
    return root


def open_part(root: str, meaning: str) -> str:
    """The URL of the part with a meaning.

    Raises
    ------
    UnusableCacheError
        If it cannot be used.
    """
    part = f"{root}/{part_name(meaning)}"
    content = json.dumps({"meaning": meaning}).encode()
    try:
        about = known(f"{part}/{ABOUT}")
        if about is None:
            put(f"{part}/{ABOUT}", content)
    except OSError as error:
        raise UnusableCacheError(f"the folder '{shown(part)}' cannot be used: {error.strerror or error}") from None
    if about not in (None, content):
        raise UnusableCacheError(f"'{shown(part)}/{ABOUT}' is damaged; remove it")
    return part


def existing(url: str) -> str:
    """The folder of a URL, if it is a cache.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    root = without_end(url)
    if known(f"{root}/{MARK}") is None:
        raise ArgumentError(f"'{shown(root)}' is no cache folder: there is no file {MARK} in it")
    return root


def used_bytes(root: str) -> int:
    """Bytes that the data of a cache folder take."""
    parts_ = [found.name for found in listed(root) if found.is_folder]
    files = (found for name in parts_ for found in listed(f"{root}/{name}"))
    return sum(max(0, found.size) for found in files if found.name.endswith(DATA))


def parts(root: str) -> Iterator[Part]:
    """The parts of a cache folder, in the order of their names."""
    for folder in sorted(found.name for found in listed(root) if found.is_folder):
        part = f"{root}/{folder}"
        try:
            meaning = str(json.loads(known(f"{part}/{ABOUT}") or b"")["meaning"])
        except (ValueError, KeyError, TypeError):
            meaning = ""
        files = listed(part)
        indexes = [parsed(get(f"{part}/{found.name}")) for found in files if found.name.endswith(INDEX)]
        yield Part(
            folder,
            meaning,
            sum(max(0, found.size) for found in files),
            sum(index.samples for index in indexes),
            sum(index.seconds for index in indexes),
            max((_written(found.name) for found in files), default=0.0),
        )


def _written(name: str) -> float:
    """When a file was begun, by its name."""
    digits = name.partition("-")[0]
    return int(digits) / 1e9 if digits.isdigit() and int(digits) / 1e9 <= time.time() else 0.0


def damaged(root: str, name: str) -> tuple[int, int]:
    """Counts of whole samples of a part, and of damaged files or samples."""
    from dali_lab.kernels.cpu.file_access import sums_plain

    whole = wrong = 0
    for file in sorted(found.name for found in listed(f"{root}/{name}") if found.name.endswith(INDEX)):
        path = f"{root}/{name}/{file}"
        index = parsed(get(path))
        data = np.frombuffer(known(path.removesuffix(INDEX) + DATA) or b"", np.uint8)
        form = index.form
        if form is None:
            wrong += 1
            continue
        for row in index.rows:
            good = True
            for edge in range(form.edges):
                at = form.at(edge)
                start, count = int(row[at + OFFSET]), row[at + STORED : at + STORED + 1].copy()
                content, found = data[start : start + int(count[0])], np.zeros(1, np.int64)
                good = good and len(content) == count[0]
                if good:
                    sums_plain(np.array([content.ctypes.data], np.int64), count, found)
                    good = bool(found[0] == row[at + SUM])
            whole, wrong = whole + good, wrong + (not good)
    return whole, wrong


def remove(root: str) -> None:
    """Remove what a cache has written; other objects are left."""
    for folder in [found.name for found in listed(root) if found.is_folder]:
        files = [found.name for found in listed(f"{root}/{folder}")]
        if ABOUT in files:
            for name in files:
                if name.startswith(ABOUT) or name.endswith((DATA, INDEX)):
                    remove_object(f"{root}/{folder}/{name}")
    for name in [found.name for found in listed(root) if found.name.endswith(CHOICE)]:
        remove_object(f"{root}/{name}")
    remove_object(f"{root}/{MARK}")
