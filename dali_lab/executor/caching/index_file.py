"""The index of a cache's data: blocks of rows, each with its sum, appended once the data that they tell of are written.

A file begins with :data:`_HEAD` and the numbers of words and edges (:class:`~dali_lab.executor.caching.entries.Form`).
A block is its mark, the number of rows, microseconds of CPU time that computing the samples took, the sum of the rows,
and the rows, all as 64-bit integers in little-endian order. Bytes after the last whole block are ignored: a process
that was killed while it wrote has left them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dali_lab.executor.caching.entries import Form, Rows

INDEX = ".index"
_HEAD = b"DALI Lab cache 2"
_MARK = 0x6B636F6C62
_NUMBERS = np.dtype("<i8")
_MOST_EDGES = 256


@dataclass
class Index:
    """Content of an index file.

    Attributes
    ----------
    form
        Of the rows; `None` if the file is none of ours.
    rows
        The rows of its whole blocks.
    seconds
        CPU time that computing the samples took.
    nbytes
        Where the next block begins.
    """

    form: Form | None
    rows: Rows
    seconds: float
    nbytes: int

    @property
    def samples(self) -> int:
        """Number of rows."""
        return len(self.rows)


def head(form: Form) -> bytes:
    """The beginning of a file."""
    return _HEAD + np.array([form.words, form.edges], _NUMBERS).tobytes()


def block(rows: Rows, seconds: float) -> bytes:
    """A block of rows."""
    numbers = np.array([_MARK, len(rows), int(seconds * 1e6), _sum(rows)], np.int64)
    return numbers.astype(_NUMBERS).tobytes() + rows.astype(_NUMBERS).tobytes()


def _sum(rows: Rows) -> int:
    flat = np.ascontiguousarray(rows).reshape(-1).view(np.uint64)
    odd = 2 * np.arange(len(flat), dtype=np.uint64) + 1
    return int((flat * odd).sum(dtype=np.uint64).astype(np.int64))


def read_index(path: Path, start: int = 0, form: Form | None = None) -> Index:
    """Read the whole blocks of a file.

    Parameters
    ----------
    start
        Where an earlier call ended, of which `form` is known.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        file.seek(start)
        return parsed(file.read(), start, form)


def parsed(data: bytes | memoryview, start: int = 0, form: Form | None = None) -> Index:
    """The whole blocks in the bytes of a file from `start` on."""
    at = 0
    if not start:
        at = len(_HEAD) + 2 * _NUMBERS.itemsize
        if len(data) < at or bytes(data[: len(_HEAD)]) != _HEAD:
            return Index(None, np.zeros((0, 0), np.int64), 0.0, 0)
        words, edges = np.frombuffer(data, _NUMBERS, 2, len(_HEAD)).tolist()
        if not (0 < words <= _MOST_EDGES and 0 <= edges <= _MOST_EDGES):
            return Index(None, np.zeros((0, 0), np.int64), 0.0, 0)
        form = Form(words, edges)
    assert form is not None
    found, seconds = [np.zeros((0, form.width), np.int64)], 0.0
    while at + 4 * _NUMBERS.itemsize <= len(data):
        mark, count, spent, total = np.frombuffer(data, _NUMBERS, 4, at).tolist()
        begin = at + 4 * _NUMBERS.itemsize
        room = (len(data) - begin) // (form.width * _NUMBERS.itemsize)
        if mark != _MARK or not 0 < count <= room:
            break
        rows = np.frombuffer(data, _NUMBERS, count * form.width, begin).astype(np.int64).reshape(count, form.width)
        if _sum(rows) != total or not form.are_sound(rows):
            break
        found.append(rows)
        seconds += max(0, spent) / 1e6
        at = begin + count * form.width * _NUMBERS.itemsize
    return Index(form, np.concatenate(found), seconds, start + at)
