"""Finds the values in an LMDB file: walks its tree of pages level by level with NumPy.

Read here rather than by the LMDB library, which ends the process where a file is damaged or cut short, and refuses to
open a file that the process has open already.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_MAGIC = 0xBEEFC0DE
_VERSION = 1
_HEADER = 16
"""Bytes before the contents of a page."""
_META = 152
"""Bytes of the meta data in a page that describes the database."""
_BRANCH, _LEAF = 1, 2
_ELSEWHERE, _SEVERAL = 1, 4
"""Flags of an entry: its value has pages of its own; it has several values."""
_NOWHERE = (1 << 64) - 1
_AT_ONCE = 4096
_DEEPEST = 64


class LmdbError(ValueError):
    """A file that is no LMDB file, or a damaged one."""


class Entries(NamedTuple):
    """The entries of a database in the order of their keys.

    Attributes
    ----------
    keys, key_sizes
        ``int64[N]``, where each key begins in the file, and its bytes.
    values, sizes
        ``int64[N]``, the same for the values.
    """

    keys: Table
    key_sizes: Table
    values: Table
    sizes: Table


class _Meta(NamedTuple):
    page_size: int
    depth: int
    entries: int
    root: int
    transaction: int


def find_entries(memory: Bytes) -> Entries:
    """The entries of the main database in an LMDB file (64 bits, little-endian, version 1).

    Parameters
    ----------
    memory
        The file.

    Raises
    ------
    LmdbError
        If it is something else, damaged, or shorter than it was.
    """
    meta = _newest(memory)
    if not meta.entries and meta.root == _NOWHERE:
        nothing = np.empty(0, np.int64)
        return Entries(nothing, nothing, nothing, nothing)
    if meta.root >= len(memory) // meta.page_size or not 0 < meta.depth <= _DEEPEST:
        raise LmdbError("it is damaged or cut short: it has no page where its tree should begin")
    words = memory[: len(memory) // 2 * 2].view("<u2")
    pages = np.array([meta.root], np.int64)
    for _ in range(meta.depth - 1):
        nodes, _ = _nodes(words, pages, meta.page_size, _BRANCH)
        pages = words[nodes] | _wide(words[nodes + 1], 16) | _wide(words[nodes + 2], 32)
        if len(pages) > len(memory) // meta.page_size:
            raise LmdbError("it is damaged: its tree has more pages than the file")
    found = [
        _values(memory, words, pages[first : first + _AT_ONCE], meta.page_size)
        for first in range(0, len(pages), _AT_ONCE)
    ]
    entries = Entries(*map(np.concatenate, zip(*found, strict=True)))
    if len(entries.keys) != meta.entries:
        raise LmdbError(f"it is damaged: {len(entries.keys)} entries where there should be {meta.entries}")
    return entries


def _newest(memory: Bytes) -> _Meta:
    """The meta data in the newer of the first two pages."""
    first = _meta(memory, 0)
    if first is None:
        raise LmdbError("it is no LMDB file of a 64-bit system")
    second = _meta(memory, first.page_size)
    return first if second is None or second.transaction < first.transaction else second


def _meta(memory: Bytes, start: int) -> _Meta | None:
    page = memory[start : start + _META]
    if len(page) < _META:
        return None
    longs = np.frombuffer(page.tobytes(), "<u8")
    magic, version = (int(number) for number in longs[2:3].view("<u4"))
    if magic != _MAGIC or version != _VERSION:
        return None
    page_size = int(longs[5]) & 0xFFFFFFFF
    if page_size < 256 or page_size & (page_size - 1) or page_size > 1 << 16:
        return None
    depth = int(longs[11]) >> 48
    return _Meta(page_size, depth, int(longs[15]), int(longs[16]), int(longs[18]))


def _wide(words: npt.NDArray[np.uint16], shift: int) -> Table:
    result: Table = words.astype(np.int64) << shift
    return result


def _nodes(words: npt.NDArray[np.uint16], pages: Table, page_size: int, kind: int) -> tuple[Table, Table]:
    """Starts of the nodes of pages, in words, and the ends of their pages."""
    starts = pages * (page_size // 2)
    if (starts + page_size // 2 > len(words)).any():
        raise LmdbError("it is cut short: pages of its tree are missing")
    lower = words[starts + 6].astype(np.int64)
    numbers = words[starts] | _wide(words[starts + 1], 16) | _wide(words[starts + 2], 32)
    good = (words[starts + 5] == kind) & (numbers == pages) & (lower >= _HEADER) & (lower <= page_size)
    if not good.all():
        raise LmdbError(f"page {pages[good.argmin()]} is damaged")
    counts = (lower - _HEADER) // 2
    first = np.repeat(starts, counts)
    slots = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = words[first + _HEADER // 2 + slots].astype(np.int64)
    wrong = (places % 2 != 0) | (places < np.repeat(lower, counts)) | (places + 8 > page_size)
    if wrong.any():
        raise LmdbError(f"page {np.repeat(pages, counts)[wrong.argmax()]} is damaged")
    return first + places // 2, 2 * first + page_size


def _values(memory: Bytes, words: npt.NDArray[np.uint16], pages: Table, page_size: int) -> Entries:
    """The entries on some pages."""
    nodes, ends = _nodes(words, pages, page_size, _LEAF)
    sizes = words[nodes] | _wide(words[nodes + 1], 16)
    marks = words[nodes + 2]
    if (marks & _SEVERAL).any():
        raise LmdbError("it has several values for a key, which no reader takes")
    keys, key_sizes = 2 * nodes + 8, words[nodes + 3].astype(np.int64)
    values = keys + key_sizes
    elsewhere = (marks & _ELSEWHERE) != 0
    inside = values + np.where(elsewhere, 8, sizes) <= ends
    if inside.all():
        places = values[elsewhere]
        own = np.zeros(len(places), np.uint64)
        for i in range(8):
            own |= memory[places + i].astype(np.uint64) << np.uint64(8 * i)
        inside[elsewhere] = own < len(memory) // page_size
    if not inside.all():
        raise LmdbError("it is damaged or cut short: entries lie outside its pages")
    values[elsewhere] = own.astype(np.int64) * page_size + _HEADER
    if (values + sizes > len(memory)).any():
        raise LmdbError("it is damaged or cut short: values lie outside the file")
    return Entries(keys, key_sizes, values, sizes)
