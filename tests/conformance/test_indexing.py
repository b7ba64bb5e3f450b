"""Indices, ranges, new axes, and shapes as nodes give NVIDIA DALI's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dali_lab
from tests.conformance.expressions import DTYPES, check, check_fails, evaluate

TABLE = ([np.arange(24, dtype=np.int32).reshape(4, 6), np.arange(24, dtype=np.int32).reshape(6, 4)], "HW")
INDICES = ([np.array(1, np.int32), np.array(3, np.int32)], "")


def test_indexing() -> None:
    new = lambda e, name=None: e.newaxis(name) if name else e.newaxis  # noqa: E731
    check(lambda e, a: [a[0], a[-1, 0], a[:, 1], a[1:3], a[:, -1:], a[::2], a[::-1], a[3:1:-1], a[1:3:1, 0]], TABLE)
    check(lambda e, a: [a[:], a[:, :], a[2:100], a[-100:2], a[3:1], a[100:200], a[-2::-1, 1:-1:2], a[:, ::-2]], TABLE)
    check(lambda e, a: [a[1:2:5], a[0:0:-1], a[50:0:-1], a[-50::-1], a[True], a[()], a[None], a[None, 1]], TABLE)
    check(
        lambda e, a: [a[new(e, "C"), 1, 1:3], a[new(e), 1, 1:3], a[1, new(e, "C"), 1:3, new(e, "X")], a[new(e, "C")]],
        TABLE,
    )
    check(lambda e, a: [a[:, new(e, "C")], a[:, :, new(e)], a[new(e, "A"), new(e, "B"), ::2, 0, new(e, "Z")]], TABLE)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_indexing_with_nodes(dtype: str) -> None:
    where = ([array.astype(dtype) for array in INDICES[0]], "")
    check(
        lambda e, a, b: [
            a[b],
            a[b : b + 1, 0],
            a[:, -1 - e.fn.cast(b, dtype=e.types.INT32) :],
            a[::b],
            a[0, b],
            a[:b, b],
        ],
        TABLE,
        where,
    )


def test_indexing_every_dtype() -> None:
    for dtype in [*DTYPES, "float16"]:
        data = [
            np.arange(2 * 3 * 4).reshape(2, 3, 4).astype(dtype),
            np.arange(3 * 3 * 4).reshape(3, 3, 4).astype(dtype),
        ]
        check(lambda e, a: [a[0], a[:, 1, 2], a[:, ::-1, 1:], a[-1, -1, -1]], (data, "HWC"))


BOUND = st.one_of(st.none(), st.integers(-7, 7))
RANGES = st.builds(slice, BOUND, BOUND, st.one_of(st.none(), st.integers(-3, 3).filter(bool)))


@given(index=st.tuples(st.one_of(st.integers(-3, 2), RANGES), st.one_of(st.integers(-4, 3), RANGES)))
@settings(max_examples=60, deadline=None)
def test_indexing_with_random_ranges(index: tuple[Any, ...]) -> None:
    """Against numpy, whose ranges NVIDIA DALI follows."""
    data = [np.arange(size * 4 * 2).reshape(size, 4, 2).astype(np.int16) for size in (3, 5)]
    own = evaluate(dali_lab, lambda e, a: a[index], [(data, "HWC")])[0][0]
    for sample, array in zip(own["samples"], data, strict=True):
        np.testing.assert_array_equal(sample, array[index])
    assert own["layout"] == "".join(
        x for x, i in zip("HWC", (*index, slice(None)), strict=True) if isinstance(i, slice)
    )


def test_indexing_that_fails() -> None:
    check_fails(lambda e, a: a[5], TABLE, words="Index 5")
    check_fails(lambda e, a: a[-7], TABLE, words="Index -7")
    check_fails(lambda e, a: a[0, 0, 0], TABLE, words=r"Too many indices \(3\)")
    check_fails(lambda e, a: a[:, :, :], TABLE, words=r"Too many indices \(3\)")
    check_fails(lambda e, a: a[::0], TABLE, words="step")
    check_fails(lambda e, a: a[:, e.newaxis, :, :], TABLE, words=r"Too many indices \(3\)")
    check_fails(lambda e, a: a[e.newaxis("C"), :, e.newaxis], TABLE, words="new axes")
    check_fails(lambda e, a: a[1.5], TABLE, words="not float")
    check_fails(lambda e, a: a["x"], TABLE, words="not str")
    check_fails(lambda e, a: a[[1, 2]], TABLE, words="not list")
    check_fails(lambda e, a, b: a[b], TABLE, ([np.array([1], np.int32)] * 2, ""), words="scalar")
    check_fails(lambda e, a, b: a[b], TABLE, ([np.array(1, np.float32)] * 2, ""), words="integer")
    with pytest.raises(NotImplementedError):
        evaluate(dali_lab, lambda e, a: a[..., 0], [TABLE])


def test_shape_of_a_node() -> None:
    check(lambda e, a: [a.shape(), a.shape(dtype=e.types.FLOAT), a.shape()[0], a.shape(dtype=e.types.INT32)], TABLE)
    check(lambda e, a: a.shape(), INDICES)
