"""Tar archives: where each file in them begins, by the headers alone; ustar, GNU and pax archives, and older ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

BLOCK = 512
_ZEROS = bytes(BLOCK)
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
        size = _checked(block, at)
        kind = block[156:157]
        size = int(records.get(b"size", size))
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


def _checked(block: bytes, at: int) -> int:
    """The size that a header gives, once its checksum is right."""
    if len(block) < BLOCK:
        raise TarError(f"it is no tar archive, or it ends in the middle of the header at byte {at}")
    try:
        stated = int(block[148:156].split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError:
        stated = -1
    if stated != sum(block) - sum(block[148:156]) + 8 * 32:
        raise TarError(f"the header at byte {at} is damaged" if at else "it is no tar archive")
    return _number(block[124:136], at)


def _number(field: bytes, at: int) -> int:
    if field[0] & 128:
        return int.from_bytes(field, "big") & ((1 << 95) - 1)
    try:
        return int(field.split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError:
        raise TarError(f"the header at byte {at} has no size") from None


def _name(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _pax_records(data: bytes, at: int) -> dict[bytes, bytes]:
    """What an extended header says of the file that follows."""
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
