"""Totals, extremes and standardised samples against NumPy in float64, over random shapes and axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dali_lab.kernels.cpu.extremes import LARGEST, LEAST, extremes
from dali_lab.kernels.cpu.memory import like, rows
from dali_lab.kernels.cpu.standardize import standardize
from dali_lab.kernels.cpu.totals import FEW, SPREAD, SQUARES, SUM, accumulate, exact, levels
from dali_lab.model.batch import Batch
from tests.together import with_each

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
]


def ragged(ndim: int, dtype: Any) -> list[np.ndarray]:
    generator = np.random.default_rng(ndim)
    return [(generator.random(shape) * 200 + 3).astype(dtype) for shape in SHAPES[ndim]]


def flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.reshape(-1) for array in arrays])


def halved(terms: np.ndarray, extents: tuple[int, ...]) -> np.ndarray:
    """Totals of float32 terms ``[..., results]``, one level of `extents` after the other, in NVIDIA DALI's order."""
    size, below = extents[0], int(np.prod(extents[1:]))
    if len(extents) > 1 and size == 1:
        return halved(terms[0], extents[1:])
    if size * below > FEW:
        half = size // 2
        return halved(terms[:half], (half, *extents[1:])) + halved(terms[half:], (size - half, *extents[1:]))
    total = np.zeros(terms.shape[-1], np.float32)
    for term in terms:
        total = total + (halved(term, extents[1:]) if len(extents) > 1 else term)
    return total


def in_order(terms: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Totals of an array along axes, of which neighbours are one level."""
    kept = [axis for axis in range(terms.ndim) if axis not in axes]
    first = [axis for axis in axes if axis - 1 not in axes]
    extents = tuple(
        int(np.prod([terms.shape[a] for a in axes if a >= axis and all(b in axes for b in range(axis, a))]))
        for axis in first
    )
    return halved(terms.transpose(*axes, *kept).reshape(*extents, -1), extents)


@with_each("dtype", [np.uint8, np.float32])
@with_each(("ndim", "axes"), CASES)
def test_totals(ndim: int, axes: tuple[int, ...], dtype: Any) -> None:
    arrays = ragged(ndim, dtype)
    data = Batch.of(arrays)
    extents = levels(data.shapes, axes)
    floats = [array.astype(np.float32) for array in arrays]
    means = [each.mean(axis=axes, keepdims=True) for each in floats]
    given = Batch.of(means)
    none = np.zeros(0, np.int64)
    for kind, terms, about in (
        (SUM, floats, (none, none)),
        (SQUARES, [each * each for each in floats], (none, none)),
        (
            SPREAD,
            [(each - mean) ** 2 for each, mean in zip(floats, means, strict=True)],
            (rows(given.addresses), np.ones(len(data), np.int64)),
        ),
    ):
        expected = np.concatenate([in_order(each, axes) for each in terms])
        total = np.empty(len(expected), np.float32)
        few = exact(kind, dtype, np.float32)
        accumulate(kind, rows(data.addresses), extents, few, *about, total, like(dtype))
        np.testing.assert_array_equal(total, expected)
    for kind, pick, limit in ((LEAST, np.min, 255), (LARGEST, np.max, 0)):
        out = Batch.allocate(given.shapes, data.dtype)
        extremes(kind, rows(data.addresses), rows(out.addresses), extents, np.dtype(dtype).type(limit), like(dtype))
        np.testing.assert_array_equal(flat(out.arrays()), flat([pick(a, axis=axes, keepdims=True) for a in arrays]))


@with_each(("ndim", "axes"), CASES)
def test_standardized(ndim: int, axes: tuple[int, ...]) -> None:
    arrays = ragged(ndim, np.float32)
    data = Batch.of(arrays)
    out = Batch.allocate(data.shapes, data.dtype)
    none = np.zeros(0, np.int64)
    standardize(
        rows(data.addresses), rows(out.addresses), levels(data.shapes, axes), FEW, none, none, none, none,
        0, 0.5, 2.0, 1.0, like(np.float32), like(np.float32),
    )  # fmt: skip
    for array, result in zip(arrays, out.arrays(), strict=True):
        wide = array.astype(np.float64)
        spread = np.sqrt(wide.var(axis=axes, keepdims=True) + 0.5)
        expected = (wide - wide.mean(axis=axes, keepdims=True)) / spread * 2 + 1
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def test_levels() -> None:
    """Neighbours fold, and an axis between two groups keeps them apart even if it has one element."""
    shapes = np.array([[2, 3, 4, 5, 6], [7, 8, 1, 9, 1]])
    np.testing.assert_array_equal(levels(shapes, (0, 1)), [[6, 120], [56, 9]])
    np.testing.assert_array_equal(levels(shapes, (1, 3)), [[1, 2, 3, 4, 5, 6], [1, 7, 8, 1, 9, 1]])
    np.testing.assert_array_equal(levels(shapes, (3, 4)), [[1, 24, 30, 1], [1, 56, 9, 1]])
    np.testing.assert_array_equal(levels(np.zeros((2, 0), np.int64), ()), [[1, 1], [1, 1]])


def test_whole_numbers_that_float32_holds_add_up_in_any_order() -> None:
    """Their bits are those of the order in which floats add up, also where a part of the sum only is so small."""
    generator = np.random.default_rng(5)
    for size in (60000, 200000):
        array = generator.integers(0, 256, (size, 3)).astype(np.uint8)
        data, none = Batch.of([array]), np.zeros(0, np.int64)
        results = []
        for few in (exact(SUM, np.uint8, np.float32), FEW):
            total = np.empty(3, np.float32)
            accumulate(SUM, rows(data.addresses), levels(data.shapes, (0,)), few, none, none, total, like(np.uint8))
            results.append(total)
        np.testing.assert_array_equal(results[0], results[1])
