"""Rows are found by their first columns, also while the kernels are being compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu import lookup
from dali_lab.kernels.cpu.memory import as_python


@pytest.mark.parametrize("way", [lambda kernel: kernel, as_python], ids=["compiled", "python"])
def test_lookup(way: Callable[[Any], Callable[..., Any]]) -> None:
    insert, find, identify = map(way, (lookup.insert_rows, lookup.find_rows, lookup.identify))
    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**62), 2**62, (200, 5))
    rows[100:150, :3] = rows[:50, :3]  # later rows of the same keys
    slots = np.full(512, -1, np.int64)
    with np.errstate(over="ignore"):
        assert insert(slots, rows, 3, 0, 120) == 100
        assert insert(slots, rows, 3, 120, 200) == 50
        keys = np.concatenate([rows[:, :3], rows[:1, :3] + 1, np.zeros((1, 3), np.int64)])
        places = np.empty(len(keys), np.int64)
        find(slots, rows, 3, keys, places)
    expected = {row.tobytes(): number for number, row in enumerate(rows[:, :3])}
    assert places.tolist() == [expected.get(key.tobytes(), -1) for key in keys]

    digests, states = rng.integers(0, 9, (4, 2)), np.array([[5, 10], [-1, 10], [5, 21]])
    found = np.empty((3, 4), np.int64)
    identify(digests, np.array([3, 1, 0]), states, 20, found)
    np.testing.assert_array_equal(found, [[*digests[3], 5, 10], [0] * 4, [0] * 4])
