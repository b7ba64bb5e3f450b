"""Ranges of bytes are checked without sums that wrap."""

from __future__ import annotations

import itertools

import numpy as np

from dali_lab.io.ranges import outside


def test_as_with_numbers_without_limit() -> None:
    most = 2**63
    numbers = [-most, -most + 1, -1, 0, 1, 50, 99, 100, 101, 2**62, most - 51, most - 1]
    rows = list(itertools.product(numbers, numbers, [0, 100, 2**62, most - 1]))
    starts, counts, lengths = np.array(rows, np.int64).T
    expected = [not (start >= 0 and count >= 0 and start + count <= length) for start, count, length in rows]
    assert outside(starts, counts, lengths).tolist() == expected
