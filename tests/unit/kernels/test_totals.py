"""Totals, extremes and standardised samples against NumPy in float64, over random shapes and axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dali_lab.batch.batch import Batch
from dali_lab.kernels.cpu.memory import like, rows
from dali_lab.kernels.cpu.totals import (
    LARGEST,
    LEAST,
    SPREAD,
    SQUARES,
    SUM,
    accumulate,
    extremes,
    levels,
    standardize,
)

SHAPES = {
    1: [(1,), (7,), (511,), (3000,)],
    2: [(3, 4), (1, 700), (700, 3), (70, 90), (2, 600)],
    3: [(5, 4, 3), (1, 9, 1), (40, 50, 3), (3, 20, 40), (600, 2, 1)],
    4: [(2, 3, 4, 5), (1, 30, 40, 3), (3, 1, 30, 17), (2, 2, 200, 2)],
}
CASES = [
    (ndim, axes)
    for ndim in SHAPES
    for count in range(1, ndim + 1)
    for axes in itertools.combinations(range(ndim), count)
    if axes != (1, 3)  # does not fold
]


def ragged(ndim: int, dtype: Any) -> list[np.ndarray]:
    generator = np.random.default_rng(ndim)
    return [(generator.random(shape) * 200 + 3).astype(dtype) for shape in SHAPES[ndim]]


def flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.reshape(-1) for array in arrays])


def starts(arrays: list[np.ndarray]) -> np.ndarray:
    sizes = np.array([array.size for array in arrays])
    return np.cumsum(sizes) - sizes


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(("ndim", "axes"), CASES)
def test_totals(ndim: int, axes: tuple[int, ...], dtype: Any) -> None:
    arrays = ragged(ndim, dtype)
    data = Batch.of(arrays)
    extents = levels(data.shapes, axes)
    assert extents is not None
    wide = [array.astype(np.float64) for array in arrays]
    means = [each.mean(axis=axes, keepdims=True).astype(np.float32) for each in wide]
    given = Batch.of(means)
    none = np.zeros(0, np.int64)
    for kind, expected, about in (
        (SUM, [each.sum(axis=axes) for each in wide], (none, none)),
        (SQUARES, [(each**2).sum(axis=axes) for each in wide], (none, none)),
        (
            SPREAD,
            [((each - mean.astype(float)) ** 2).sum(axis=axes) for each, mean in zip(wide, means, strict=True)],
            (rows(given.addresses), np.ones(len(data), np.int64)),
        ),
    ):
        total = np.zeros(sum(np.size(each) for each in expected))
        accumulate(kind, rows(data.addresses), extents, starts(means), *about, total, like(dtype))
        np.testing.assert_allclose(total, flat([np.asarray(each) for each in expected]), rtol=1e-5, atol=1e-3)
    for kind, pick, limit in ((LEAST, np.min, 255), (LARGEST, np.max, 0)):
        out = Batch.allocate(given.shapes, data.dtype)
        extremes(kind, rows(data.addresses), rows(out.addresses), extents, np.dtype(dtype).type(limit), like(dtype))
        np.testing.assert_array_equal(flat(out.arrays()), flat([pick(a, axis=axes, keepdims=True) for a in arrays]))


@pytest.mark.parametrize(("ndim", "axes"), CASES)
def test_standardized(ndim: int, axes: tuple[int, ...]) -> None:
    arrays = ragged(ndim, np.float32)
    data = Batch.of(arrays)
    out = Batch.allocate(data.shapes, data.dtype)
    extents = levels(data.shapes, axes)
    assert extents is not None
    none = np.zeros(0, np.int64)
    standardize(
        rows(data.addresses), rows(out.addresses), extents, none, none, none, none, 0, 0.5, 2.0, 1.0,
        like(np.float32), like(np.float32),
    )  # fmt: skip
    for array, result in zip(arrays, out.arrays(), strict=True):
        wide = array.astype(np.float64)
        spread = np.sqrt(wide.var(axis=axes, keepdims=True) + 0.5)
        expected = (wide - wide.mean(axis=axes, keepdims=True)) / spread * 2 + 1
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def test_axes_that_do_not_fold() -> None:
    """Five groups of axes, reduced and kept in turn, are more than four levels."""
    shapes = np.array([[2, 3, 4, 5, 6]])
    assert levels(shapes, (1, 3)) is None
    assert levels(shapes, (0, 2, 4)) is None
    np.testing.assert_array_equal(levels(shapes, (0, 2)), [[2, 3, 4, 30]])


def test_a_sum_does_not_depend_on_its_neighbours() -> None:
    """The same bits alone and in a chunk."""
    arrays = ragged(3, np.float32)
    none = np.zeros(0, np.int64)
    together = np.zeros(len(arrays))
    data = Batch.of(arrays)
    extents = levels(data.shapes, (0, 1, 2))
    accumulate(SUM, rows(data.addresses), extents, np.arange(len(data)), none, none, together, like(np.float32))
    for index, array in enumerate(arrays):
        alone = np.zeros(1)
        one = Batch.of([array])
        extents = levels(one.shapes, (0, 1, 2))
        accumulate(SUM, rows(one.addresses), extents, np.zeros(1, np.int64), none, none, alone, like(np.float32))
        assert alone[0] == together[index]
