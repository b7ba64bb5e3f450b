"""Ranges of bytes in files: the check that every offset and length from a file goes through before it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def outside(starts: npt.ArrayLike, counts: npt.ArrayLike, lengths: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which ranges are not inside what holds them; no sum is made, which could wrap.

    Parameters
    ----------
    starts, counts
        Where each range begins, and how much it holds: any ``int64``.
    lengths
        How much there is, from 0 on.
    """
    first, held, length = (np.asarray(numbers, np.int64) for numbers in (starts, counts, lengths))
    # A start outside is answered by the first two terms, so that the wrapped difference beside it does not matter.
    return np.asarray((first < 0) | (first > length) | (held < 0) | (held > length - np.clip(first, 0, length)))


def overlapping(owners: npt.ArrayLike, starts: npt.ArrayLike, counts: npt.ArrayLike) -> int | None:
    """Index of a range that shares a part of its owner with another one, the longer of the two; `None` without any.

    Ranges that are the same count once.

    Parameters
    ----------
    owners
        What each range is in.
    starts, counts
        Where it begins there, and how much it holds: inside, as :func:`outside` tells.
    """
    table = np.stack([np.asarray(numbers, np.int64) for numbers in (owners, starts, counts)], axis=1)
    ranges, index = np.unique(table, axis=0, return_index=True)
    before, after = ranges[:-1], ranges[1:]
    shared = np.flatnonzero((before[:, 0] == after[:, 0]) & (after[:, 1] < before[:, 1] + before[:, 2]))
    if not len(shared):
        return None
    pair = slice(shared[0], shared[0] + 2)
    return int(index[pair][ranges[pair, 2].argmax()])


def described(start: Any, count: Any) -> str:
    """A range in words, such as ``bytes 5 to 9``."""
    return f"bytes {int(start)} to {int(start) + int(count)}"
