"""Types and shapes that operands have together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dali_lab import types
from dali_lab.model.promotion import BroadcastError, broadcast_shapes, common_layout, promoted, promoted_pair

NUMBERS = [dtype for dtype in types.DALIDataType if types.UINT8 <= dtype <= types.BOOL]
FLOATS = (types.FLOAT16, types.FLOAT, types.FLOAT64)


@given(left=st.sampled_from(NUMBERS), right=st.sampled_from(NUMBERS))
def test_promotion_is_symmetric_and_keeps_equal_types(left: types.DALIDataType, right: types.DALIDataType) -> None:
    assert promoted_pair(left, right) == promoted_pair(right, left)
    assert promoted_pair(left, left) == left
    together = promoted_pair(left, right)
    assert promoted_pair(together, left) == together


@given(left=st.sampled_from(NUMBERS), right=st.sampled_from(NUMBERS))
def test_promotion_is_numpy_s_except_beside_floats_and_uint64(
    left: types.DALIDataType, right: types.DALIDataType
) -> None:
    ours = promoted_pair(left, right)
    if left in FLOATS or right in FLOATS:
        assert ours == max(dtype for dtype in (left, right) if dtype in FLOATS)
        return
    numpy_s = np.promote_types(types.numpy_dtype(left), types.numpy_dtype(right))
    assert ours == (types.INT64 if numpy_s == np.float64 else types.to_dali_type(numpy_s))


def test_promotion_of_three() -> None:
    assert promoted([types.BOOL, types.UINT8, types.INT8]) == types.INT16
    assert promoted([types.UINT32, types.INT8, types.FLOAT]) == types.FLOAT


def test_broadcast_shapes_names_the_sample() -> None:
    table = broadcast_shapes([np.array([[2, 1], [1, 4]]), np.array([[3], [4]])])
    assert table.tolist() == [[2, 3], [1, 4]]
    with pytest.raises(BroadcastError) as caught:
        broadcast_shapes([np.array([[2, 1], [3, 4]]), np.array([[3], [5]])])
    assert caught.value.sample == 1
    assert caught.value.shapes == ((3, 4), (5,))


def test_common_layout() -> None:
    assert common_layout(["", "HWC", "C"]) == "HWC"
    with pytest.raises(ValueError, match="HWC"):
        common_layout(["HWC", "CHW"])
