"""Masks as lists of runs, the way the COCO format writes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Runs = npt.NDArray[np.int64]

_LONGEST = 7


def as_runs(counts: object, size: object) -> Runs:
    """The runs of a mask, which cover the picture: outside, inside and so on, column by column.

    Only the first run may be empty.

    Parameters
    ----------
    counts
        A list of lengths, or the text that such a list is compressed to.
    size
        Height and width.

    Raises
    ------
    ValueError, TypeError
        If they are none, or more than the picture holds.
    """
    if not (isinstance(size, list) and len(size) == 2 and all(type(side) is int and side > 0 for side in size)):
        raise ValueError(f"'size' of 'segmentation' must be height and width, not {size!r:.60}")
    if isinstance(counts, str):
        runs = _decompressed(counts)
    elif isinstance(counts, list) and all(type(count) is int for count in counts):
        runs = np.array(counts, np.int64)
    else:
        raise TypeError(f"'counts' of 'segmentation' must be a text or a list of whole numbers, not {counts!r:.60}")
    total = size[0] * size[1]
    if not len(runs):
        raise ValueError("'counts' of 'segmentation' is empty")
    if (runs < 0).any():
        raise ValueError(f"'counts' of 'segmentation' has a run of {runs.min()} pixels")
    covered = sum(runs.tolist())
    if covered > total:
        raise ValueError(f"'counts' of 'segmentation' add up to {covered} pixels, where {size} has {total}")
    if (runs[1:] == 0).any() or covered < total:
        return _joined(runs, total)
    return runs


def _decompressed(text: str) -> Runs:
    """Numbers of five bits in a letter, least first; from the fourth on as differences to the last but one."""
    codes = np.frombuffer(text.encode("utf-8", "replace"), np.uint8).astype(np.int64) - 48
    if not len(codes):
        return codes
    more = (codes & 32) != 0
    if more[-1] or codes.min() < 0 or codes.max() > 63:
        raise ValueError(f"'counts' of 'segmentation' is not a compressed list: {text!r:.60}")
    last = np.flatnonzero(~more)
    first = np.concatenate([[0], last[:-1] + 1])
    lengths = last - first + 1
    if lengths.max() > _LONGEST:
        raise ValueError("'counts' of 'segmentation' has a number of more than 32 bits")
    place = np.arange(len(codes)) - np.repeat(first, lengths)
    numbers = np.add.reduceat((codes & 31) << 5 * place, first)
    numbers -= np.where(codes[last] & 16, 1 << 5 * lengths, 0)
    for start in (1, 2):
        numbers[start::2] = np.cumsum(numbers[start::2])
    return numbers


def _joined(runs: Runs, total: int) -> Runs:
    """The runs without empty ones in the middle, extended to the end of the picture."""
    out: list[int] = []
    for index, run in enumerate(runs.tolist()):
        if not out or (run and len(out) % 2 == index % 2):
            out.append(run)
        elif run:
            out[-1] += run
    rest = total - sum(out)
    if rest and len(out) % 2:
        out[-1] += rest
    elif rest:
        out.append(rest)
    return np.array(out, np.int64)
