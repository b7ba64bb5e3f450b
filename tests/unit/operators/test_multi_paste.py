"""Pasting sequences, which NVIDIA DALI's CPU operator does not do, against NumPy's slices."""

from __future__ import annotations

import numpy as np
import pytest

import dali_lab
from dali_lab.schema import samples
from tests.unit.operators.running import outputs, per_sample


def test_sequences_take_the_same_frames_of_others() -> None:
    sequences, _ = samples.sequences((2, 2, 2), ((20, 30),) * 3)
    results = outputs("multi_paste", (sequences, "FHWC"), in_ids=per_sample([2], [0], [1]))
    for result, source in zip(results, (2, 0, 1), strict=True):
        np.testing.assert_array_equal(result, sequences[source])


def test_anchors_of_their_own_for_each_frame() -> None:
    sequences, _ = samples.sequences((2, 2, 2), ((20, 30),) * 3)
    corners = per_sample(*[[[[1, 2]], [[5, 7]]]] * 3, layout="F**")
    results = outputs("multi_paste", (sequences, "FHWC"), in_ids=per_sample([0], [1], [2]), in_anchors=corners)
    for result, source in zip(results, sequences, strict=True):
        for frame, (y, x) in enumerate(((1, 2), (5, 7))):
            expected = np.zeros_like(source[frame])
            expected[: 20 - y, : 30 - x] = source[frame][y:, x:]
            np.testing.assert_array_equal(result[frame], expected)


def test_several_sequences_over_each_other() -> None:
    one, _ = samples.sequences((2, 1, 3), ((20, 30),) * 3)
    two = [255 - sequence for sequence in one]
    places = per_sample(*[[[0, 0], [4, 6]]] * 3)
    shapes = per_sample(*[[[20, 30], [5, 5]]] * 3)
    results = outputs("multi_paste", (one, "FHWC"), (two, "FHWC"), out_anchors=places, shapes=shapes)
    for result, below, above in zip(results, one, two, strict=True):
        expected = below.copy()
        expected[:, 4:9, 6:11] = above[:, :5, :5]
        np.testing.assert_array_equal(result, expected)


def test_sequences_of_other_lengths_are_refused() -> None:
    sequences, _ = samples.sequences((2, 1, 2), ((20, 30),) * 3)
    with pytest.raises(dali_lab.DaliLabError, match=r"in_ids.*sequence 1 has 1 frames"):
        outputs("multi_paste", (sequences, "FHWC"), in_ids=per_sample([1], [1], [2]))
