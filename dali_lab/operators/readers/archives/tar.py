"""Tar archives: where each file in them begins, by the headers alone; ustar, GNU and pax archives, and older ones."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

BLOCK = 512
_ZEROS = bytes(BLOCK)
_AT_ONCE = 4096
_MOST = 1 << 60
_LONGEST_HEADER = 16 << 20
"""Bytes of a header that goes on behind its block, beyond which the archive is taken for a damaged one."""
_FILES = b"0\x007"
_ENTRY_TYPES_WITHOUT_DATA = b"123456"
_LONGEST_SIZE = 20
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


def entries(archive: IO[bytes]) -> Iterator[Entry]:
    """The regular files of an archive in their order; folders, links and devices are passed over.

    The last file may reach beyond the end of an archive that was cut short.

    Parameters
    ----------
    archive
        The archive, opened to be read.

    Raises
    ------
    TarError
        If a header is damaged; the message says at which byte.
    OSError
        If the archive cannot be read.
    """
    heads = _Heads()
    try:
        yield from _walk(archive, heads)
    except (TarError, ValueError) as error:
        heads.check()
        raise TarError(str(error)) from error
    heads.check()


class _Heads:
    """Headers whose checksums are not verified yet; many are verified at once."""

    def __init__(self) -> None:
        self._places: list[int] = []
        self._blocks: list[bytes] = []

    def add(self, place: int, block: bytes) -> None:
        self._places.append(place)
        self._blocks.append(block)
        if len(self._blocks) == _AT_ONCE:
            self.check()

    def check(self) -> None:
        """Verify the checksums; raises for a damaged header, whatever was read from it."""
        blocks = np.frombuffer(b"".join(self._blocks), np.uint8).reshape(-1, BLOCK)
        sums = blocks.sum(axis=1, dtype=np.int64) - blocks[:, 148:156].sum(axis=1, dtype=np.int64) + 8 * 32
        for place, found, stated in zip(self._places, sums.tolist(), blocks[:, 148:156], strict=True):
            try:
                right = int(stated.tobytes().split(b"\0", 1)[0].strip() or b"0", 8) == found
            except ValueError:
                right = False
            if not right:
                raise TarError(f"the header at byte {place} is damaged" if place else "it is not a tar archive")
        self._places.clear()
        self._blocks.clear()


def _walk(archive: IO[bytes], heads: _Heads) -> Iterator[Entry]:
    """The regular files; headers are added to `heads`."""
    end = archive.seek(0, io.SEEK_END)
    at = zeros = 0
    long_name: bytes | None = None
    records: dict[bytes, bytes] = {}
    while at < end and zeros < 2:
        archive.seek(at)
        block = archive.read(BLOCK)
        if block == _ZEROS:
            zeros += 1
            at += BLOCK
            continue
        if len(block) < BLOCK:
            raise TarError(f"it is not a tar archive, or it ends in the middle of the header at byte {at}")
        heads.add(at, block)
        kind = block[156:157]
        size = int(records[b"size"]) if b"size" in records else _number(block[124:136], at)
        begin, at = at + BLOCK, at + BLOCK
        if kind not in _ENTRY_TYPES_WITHOUT_DATA:
            at += (size + BLOCK - 1) // BLOCK * BLOCK
        if kind in (b"L", b"x"):
            if size > _LONGEST_HEADER:
                raise TarError(f"the extended header at byte {begin} is damaged")
            content = archive.read(size)
            if kind == b"L":
                long_name = content.split(b"\0", 1)[0]
            else:
                records = _pax_records(content, begin)
            continue
        if kind == b"K" or kind == b"g":
            continue
        zeros = 0
        name = records.get(b"path") or long_name or _name(block)
        long_name, records = None, {}
        # In the oldest archives a folder is told from a file by the slash at its end.
        if kind in _FILES and not name.endswith(b"/"):
            yield Entry(name.decode("utf-8", "surrogateescape"), begin, size)


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
    size = result.get(b"size", b"0")
    if not size.isdigit() or len(size) > _LONGEST_SIZE or int(size) >= _MOST:
        raise TarError(f"the extended header at byte {at} is damaged")
    return result
