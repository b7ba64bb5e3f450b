"""Finds the values in an LMDB file: walks its tree of pages level by level with NumPy.

Read here rather than by the LMDB library, which ends the process where a file is damaged or cut short, and refuses to
open a file that the process has open already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.io.ranges import outside

Table = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Pages = Callable[[Table, int], Bytes]
"""Reads pieces of a file: where each begins and how long they are, to ``uint8[N, length]``."""

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
_AT_ONCE = 16 << 20
"""Bytes of pages that are read at once."""
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


def find_entries(read: Pages, length: int) -> Entries:
    """The entries of the main database in an LMDB file (64 bits, little-endian, version 1).

    Parameters
    ----------
    read
        Reads pieces of the file.
    length
        Its bytes.

    Raises
    ------
    LmdbError
        If it is something else, damaged, or shorter than it was.
    """
    meta = _newest(read, length)
    if not meta.entries and meta.root == _NOWHERE:
        nothing = np.empty(0, np.int64)
        return Entries(nothing, nothing, nothing, nothing)
    tree = _Tree(read, meta.page_size, length // meta.page_size)
    if meta.root >= tree.count or not 0 < meta.depth <= _DEEPEST:
        raise LmdbError("it is damaged or cut short: it has no page where its tree should begin")
    numbers = np.array([meta.root], np.int64)
    for _ in range(meta.depth - 1):
        numbers = np.concatenate([tree.children(part) for part in tree.parts(numbers)])
        if len(numbers) > tree.count:
            raise LmdbError("it is damaged: its tree has more pages than the file")
    found = [tree.values(part, length) for part in tree.parts(numbers)]
    entries = Entries(*map(np.concatenate, zip(*found, strict=True)))
    if len(entries.keys) != meta.entries:
        raise LmdbError(f"it is damaged: {len(entries.keys)} entries where there should be {meta.entries}")
    return entries


def _newest(read: Pages, length: int) -> _Meta:
    """The meta data in the newer of the first two pages."""
    first = _meta(read, 0, length)
    if first is None:
        raise LmdbError("it is not an LMDB file of a 64-bit system")
    second = _meta(read, first.page_size, length)
    return first if second is None or second.transaction < first.transaction else second


def _meta(read: Pages, start: int, length: int) -> _Meta | None:
    if start + _META > length:
        return None
    longs = np.frombuffer(read(np.array([start], np.int64), _META).tobytes(), "<u8")
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


class _Nodes(NamedTuple):
    """The nodes of some pages.

    Attributes
    ----------
    bytes, words
        The pages, ``uint8[P, page size]`` and ``uint16[P, page size / 2]``.
    page
        Row of each node's page in them.
    place
        Where each node begins there, in words.
    """

    bytes: Bytes
    words: npt.NDArray[np.uint16]
    page: Table
    place: Table

    def word(self, number: int) -> npt.NDArray[np.uint16]:
        """A word of each node's header, which is inside its page."""
        return self.words[self.page, self.place + number]


class _Tree:
    """The tree of pages in a file that has `count` of them."""

    def __init__(self, read: Pages, page_size: int, count: int) -> None:
        self._read = read
        self._page_size = page_size
        self.count = count

    def parts(self, numbers: Table) -> list[Table]:
        """Pages in pieces that are read at once."""
        most = max(1, _AT_ONCE // self._page_size)
        return [numbers[first : first + most] for first in range(0, len(numbers), most)] or [numbers]

    def children(self, numbers: Table) -> Table:
        """The pages below some pages."""
        nodes = self._nodes(numbers, _BRANCH)
        return np.asarray(nodes.word(0) | _wide(nodes.word(1), 16) | _wide(nodes.word(2), 32), np.int64)

    def values(self, numbers: Table, length: int) -> Entries:
        """The entries on some pages."""
        nodes = self._nodes(numbers, _LEAF)
        sizes = nodes.word(0) | _wide(nodes.word(1), 16)
        marks = nodes.word(2)
        if (marks & _SEVERAL).any():
            raise LmdbError("it has several values for a key, which no reader takes")
        key_sizes = nodes.word(3).astype(np.int64)
        within = 2 * nodes.place + 8 + key_sizes
        elsewhere = (marks & _ELSEWHERE) != 0
        inside = within + np.where(elsewhere, 8, sizes) <= self._page_size
        start = numbers[nodes.page] * self._page_size
        values = start + within
        if inside.all():
            pages, places = nodes.page[elsewhere], within[elsewhere]
            own = np.zeros(len(places), np.uint64)
            for i in range(8):
                own |= nodes.bytes[pages, places + i].astype(np.uint64) << np.uint64(8 * i)
            inside[elsewhere] = own < self.count
        if not inside.all():
            raise LmdbError("it is damaged or cut short: entries lie outside its pages")
        values[elsewhere] = own.astype(np.int64) * self._page_size + _HEADER
        if outside(values, sizes, length).any():
            raise LmdbError("it is damaged or cut short: values lie outside the file")
        return Entries(start + 2 * nodes.place + 8, key_sizes, values, sizes)

    def _nodes(self, numbers: Table, kind: int) -> _Nodes:
        if ((numbers < 0) | (numbers >= self.count)).any():
            raise LmdbError("it is cut short: pages of its tree are missing")
        pages = self._read(numbers * self._page_size, self._page_size)
        words = pages.view("<u2")
        lower = words[:, 6].astype(np.int64)
        own = words[:, 0] | _wide(words[:, 1], 16) | _wide(words[:, 2], 32)
        good = (words[:, 5] == kind) & (own == numbers) & (lower >= _HEADER) & (lower <= self._page_size)
        if not good.all():
            raise LmdbError(f"page {numbers[good.argmin()]} is damaged")
        counts = (lower - _HEADER) // 2
        page = np.repeat(np.arange(len(numbers)), counts)
        slots = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = words[page, _HEADER // 2 + slots].astype(np.int64)
        wrong = (places % 2 != 0) | (places < lower[page]) | (places + 8 > self._page_size)
        if wrong.any():
            raise LmdbError(f"page {numbers[page[wrong.argmax()]]} is damaged")
        return _Nodes(pages, words, page, places // 2)
