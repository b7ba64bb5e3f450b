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


def described(start: Any, count: Any) -> str:
    """A range in words, such as ``bytes 5 to 9``."""
    return f"bytes {int(start)} to {int(start) + int(count)}"
