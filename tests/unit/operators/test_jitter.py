"""Jitter by what must hold of it: pixels come from nearby, all places are about as likely, nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.operators.running import outputs, per_sample


def coordinates(height: int, width: int) -> np.ndarray:
    """An image that holds the number of each pixel, alike in its three channels."""
    return np.repeat(np.arange(height * width, dtype=np.int32).reshape(height, width, 1), 3, axis=2)


@pytest.mark.parametrize("degree", [2, 3, 4, 7])
def test_pixels_come_from_nearby_with_even_chances(degree: int) -> None:
    height, width = 60, 70
    (result,) = outputs("jitter", ([coordinates(height, width)], "HWC"), nDegree=degree, seed=5)
    y, x = np.mgrid[:height, :width, :3][:2]
    rows, columns = result // width - y, result % width - x
    least, most = -(degree // 2), degree - 1 - degree // 2
    assert rows.min() == columns.min() == least
    assert rows.max() == columns.max() == most
    inner = (slice(degree, -degree), slice(degree, -degree))
    for offsets in (rows[inner], columns[inner]):
        counts = np.bincount((offsets - least).ravel(), minlength=degree)
        expected = offsets.size / degree
        assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()
    # Channels and axes are drawn apart from each other.
    assert (result[..., 0] != result[..., 1]).any()
    assert (rows != columns).any()


def test_one_place_changes_nothing_and_masks_choose() -> None:
    images = [coordinates(9, 11)] * 3
    for result in outputs("jitter", (images, "HWC"), nDegree=1):
        np.testing.assert_array_equal(result, images[0])
    results = outputs("jitter", (images, "HWC"), nDegree=5, mask=per_sample(0, 1, 0))
    assert [bool((result != images[0]).any()) for result in results] == [False, True, False]


def test_a_seed_decides() -> None:
    images = [coordinates(9, 11)] * 2
    first, second = outputs("jitter", (images, "HWC"), nDegree=5, seed=3)
    again, _ = outputs("jitter", (images, "HWC"), nDegree=5, seed=3)
    other, _ = outputs("jitter", (images, "HWC"), nDegree=5, seed=4)
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
    assert (first != other).any()
