"""Tar archives: where each file in them begins, by the headers alone; ustar, GNU and pax archives, and older ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

BLOCK = 512
_ZEROS = bytes(BLOCK)
_AT_ONCE = 4096
_MOST = 1 << 60
_FILES = b"0\x007"
_WITH_DATA_NOWHERE = b"123456"
_RECORD = re.compile(rb"(\d{1,20}) ([^=]+)=", re.DOTALL)


class TarError(ValueError):
    """An archive that is damaged."""


class Entry(NamedTuple):
    """A file in an archive.

    Attributes
    ----------
    name
        Its path, with slashes.
    offset, size
        Where its bytes begin in the archive, and how many there are.
    """

    name: str
    offset: int
    size: int


def entries(archive: Any) -> Iterator[Entry]:
    """The regular files of an archive in their order; folders, links and devices are passed over.

    The last file may reach beyond the end of an archive that was cut short.

    Parameters
    ----------
    archive
        All bytes of the archive; anything with the buffer protocol.

    Raises
    ------
    TarError
        If a header is damaged; the message says at which byte.
    """
    view = memoryview(archive).cast("B")
    heads: list[int] = []
    try:
        yield from _walk(view, heads)
    except (TarError, ValueError) as error:
        _check(view, heads)
        raise TarError(str(error)) from error
    _check(view, heads)


def _walk(view: memoryview, heads: list[int]) -> Iterator[Entry]:
    """The files, and the positions of all headers, whose checksums are not verified yet."""
    end = len(view)
    at = zeros = 0
    long_name: bytes | None = None
    records: dict[bytes, bytes] = {}
    while at < end and zeros < 2:
        block = bytes(view[at : at + BLOCK])
        if block == _ZEROS:
            zeros += 1
            at += BLOCK
            continue
        if len(block) < BLOCK:
            raise TarError(f"it is no tar archive, or it ends in the middle of the header at byte {at}")
        heads.append(at)
        kind = block[156:157]
        size = int(records[b"size"]) if b"size" in records else _number(block[124:136], at)
        begin, at = at + BLOCK, at + BLOCK
        if kind not in _WITH_DATA_NOWHERE:
            at += (size + BLOCK - 1) // BLOCK * BLOCK
        if kind == b"L":
            long_name = bytes(view[begin : begin + size]).split(b"\0", 1)[0]
            continue
        if kind == b"x":
            records = _pax_records(bytes(view[begin : begin + size]), begin)
            continue
        if kind == b"K" or kind == b"g":
            continue
        zeros = 0
        name = records.get(b"path") or long_name or _name(block)
        long_name, records = None, {}
        # In the oldest archives a folder is told from a file by the slash at its end.
        if kind in _FILES and not name.endswith(b"/"):
            yield Entry(name.decode("utf-8", "surrogateescape"), begin, size)


def _check(view: memoryview, heads: list[int]) -> None:
    """Verify the checksums of all headers; raises for a damaged one, whatever was read from it."""
    content = np.frombuffer(view, np.uint8)
    for first in range(0, len(heads), _AT_ONCE):
        places = np.array(heads[first : first + _AT_ONCE])
        blocks = content[places.reshape(-1, 1) + np.arange(BLOCK)]
        sums = blocks.sum(axis=1, dtype=np.int64) - blocks[:, 148:156].sum(axis=1, dtype=np.int64) + 8 * 32
        for place, found, stated in zip(places.tolist(), sums.tolist(), blocks[:, 148:156], strict=True):
            try:
                right = int(stated.tobytes().split(b"\0", 1)[0].strip() or b"0", 8) == found
            except ValueError:
                right = False
            if not right:
                raise TarError(f"the header at byte {place} is damaged" if place else "it is no tar archive")


def _number(field: bytes, at: int) -> int:
    try:
        if field[0] & 128:
            size = int.from_bytes(field, "big") & ((1 << 95) - 1)
        else:
            size = int(field.split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError:
        size = _MOST
    if not 0 <= size < _MOST:
        raise TarError(f"the header at byte {at} has no size")
    return size


def _name(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _pax_records(data: bytes, at: int) -> dict[bytes, bytes]:
    """The records of an extended header, which describe the next file."""
    result: dict[bytes, bytes] = {}
    place = 0
    while place < len(data) and data[place]:
        found = _RECORD.match(data, place)
        length = int(found[1]) if found else 0
        if not found or place + length > len(data) or place + length <= found.end():
            raise TarError(f"the extended header at byte {at} is damaged")
        result[found[2]] = data[found.end() : place + length - 1]
        place += length
    if not result.get(b"size", b"0").isdigit():
        raise TarError(f"the extended header at byte {at} is damaged")
    return result
