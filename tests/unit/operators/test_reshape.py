"""Reshaping where it goes beyond NVIDIA DALI: axes that a node gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.operators.running import outputs, per_sample


@pytest.mark.parametrize("name", ["reshape", "reinterpret"])
def test_axes_from_a_node_are_heeded(name: str) -> None:
    arrays = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.arange(4, dtype=np.uint8).reshape(4, 1)]
    found = outputs(name, arrays, src_dims=per_sample([1, 0], [0, 1]))
    for array, result, shape in zip(arrays, found, [(3, 2), (4, 1)], strict=True):
        np.testing.assert_array_equal(result, array.reshape(shape))
