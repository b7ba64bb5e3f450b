"""Identities of samples, and a hash table of rows of integers that are found by their first columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import kernel, part


@part
def _mark(row: Array, words: int) -> Any:
    """A number of 63 bits from the first columns of a row."""
    mark = np.uint64(0x9E3779B97F4A7C15)
    for k in range(words):
        mark = (mark ^ np.uint64(row[k])) * np.uint64(0xD6E8FEB86659FD93)
        mark ^= mark >> np.uint64(32)
    return np.int64(mark >> np.uint64(1))


@part
def _slot(slots: Array, rows: Array, key: Array, words: int) -> Any:
    """Where the row with these first columns stands in the table, or else the free slot for it."""
    last = slots.shape[0] - 1
    at = _mark(key, words) & last
    while slots[at] >= 0:
        row = rows[slots[at]]
        k = 0
        while k < words and row[k] == key[k]:
            k += 1
        if k == words:
            break
        at = (at + 1) & last
    return at


@kernel
def insert_rows(slots: Array, rows: Array, words: int, start: int, stop: int) -> int:
    """Enter ``rows[start:stop]`` into a table; a row takes the place of an earlier one with the same first columns.

    Parameters
    ----------
    slots
        ``int64[M]``: the number of a row, or −1. `M` is a power of two, and more than the number of rows.
    words
        How many columns are the key.

    Returns
    -------
    int
        How many rows took no other's place.
    """
    count = 0
    for i in range(start, stop):
        at = _slot(slots, rows, rows[i], words)
        if slots[at] < 0:
            count += 1
        slots[at] = i
    return count


@kernel
def find_rows(slots: Array, rows: Array, words: int, keys: Array, places: Array) -> None:
    """Fill in the number of the row with each key, or −1; a key of zeros has none."""
    for i in range(keys.shape[0]):
        known = False
        for k in range(words):
            if keys[i, k] != 0:
                known = True
        places[i] = slots[_slot(slots, rows, keys[i], words)] if known else -1


@kernel
def identify(digests: Array, rows: Array, states: Array, settled: int, found: Array) -> None:
    """Fill in the identity of samples: digest and states, or zeros.

    Parameters
    ----------
    digests
        ``int64[M, 2]``: those of all samples of a list.
    rows
        ``int64[N]``: places of the samples in the list.
    states
        ``int64[N, K]``: size and time of change of each file of a sample, in turn.
    settled
        The time after which a file must not have changed.
    found
        ``int64[N, 2 + K]``.
    """
    for i in range(rows.shape[0]):
        good = True
        for k in range(0, states.shape[1], 2):
            if states[i, k] < 0 or states[i, k + 1] > settled:
                good = False
        found[i, :] = 0
        if good:
            found[i, 0] = digests[rows[i], 0]
            found[i, 1] = digests[rows[i], 1]
            for k in range(states.shape[1]):
                found[i, 2 + k] = states[i, k]
