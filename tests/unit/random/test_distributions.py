"""Choices, beta numbers and permutations compared with NVIDIA DALI, live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.draws import fill_beta, fill_indices, permutation
from dali_lab.kernels.streams import GeneratorState, open_stream
from tests.together import with_each
from tests.unit.random.test_streams import assert_same, filled, per_sample, run_dali

dali = pytest.importorskip("nvidia.dali")


def chosen(shapes: list[tuple[int, ...]], seed: int, drawn_before: int, *arguments: Any, **options: Any) -> Any:
    outputs = [np.zeros(shape, np.int64) for shape in shapes]
    addresses = np.array([output.ctypes.data for output in outputs], np.int64)
    counts = np.array([output.size for output in outputs], np.int64)
    fill_indices(
        open_stream(GeneratorState(seed, drawn_before), np.arange(len(shapes))),
        addresses,
        counts,
        *arguments,
        **options,
    )
    return outputs


def test_choice_of_a_number() -> None:
    sizes = [1, 5, 1000, 2**31 - 1]
    theirs = run_dali(lambda fn: fn.random.choice(per_sample(sizes, np.int64), seed=5, shape=[100]), 4, batches=2)
    for batch, samples in enumerate(theirs):
        assert_same(chosen([(100,)] * 4, 5, 4 * batch, sizes), samples)


def test_choice_with_probabilities() -> None:
    chances = [[1.0], [0.5, 0.5], [0.1, 0.2, 0.3, 0.35, 0.05], [0.0, 0.0, 1.0], [0.25, 0.0, 0.75]]
    theirs = run_dali(
        lambda fn: fn.random.choice(
            per_sample([len(row) for row in chances], np.int64), p=per_sample(chances), seed=5, shape=[20, 20]
        ),
        5,
    )[0]
    rows = [np.array(row, np.float32) for row in chances]
    assert_same(chosen([(20, 20)] * 5, 5, 0, [len(row) for row in chances], rows), theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_choice_among_tensors(weighted: bool) -> None:
    tables = [np.arange(6).reshape(3, 2), np.arange(14).reshape(7, 2)]
    chances = [[0.2, 0.3, 0.5], [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1]]
    theirs = run_dali(
        lambda fn: fn.random.choice(
            per_sample(tables, np.int64), seed=5, shape=[50], **({"p": per_sample(chances)} if weighted else {})
        ),
        2,
    )[0]
    rows = [np.array(row, np.float32) for row in chances]
    ours = chosen([(50,)] * 2, 5, 0, [3, 7], rows if weighted else None, in_sequence=True)
    assert_same([table[index] for table, index in zip(tables, ours, strict=True)], theirs)


@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT64"])
def test_beta(dtype: str) -> None:
    kind = getattr(dali.types, dtype)
    alphas = [1.0, 2.0, 0.5, 0.5, 3.0, 1e-3, 100.0, 1.0]
    betas = [1.0, 3.0, 0.25, 3.0, 0.5, 0.9, 0.01, 0.5]
    theirs = run_dali(
        lambda fn: fn.random.beta(seed=5, shape=[300], alpha=per_sample(alphas), beta=per_sample(betas), dtype=kind), 8
    )[0]
    ours = filled(
        fill_beta,
        open_stream(GeneratorState(5), np.arange(8)),
        [(300,)] * 8,
        np.array(alphas, np.float32),
        np.array(betas, np.float32),
        dtype=theirs[0].dtype,
    )
    for a, b in zip(ours, theirs, strict=True):  # logarithms and powers may differ in the last bit between libraries
        np.testing.assert_allclose(a, b, rtol=2e-6 if dtype == "FLOAT" else 1e-12, atol=1e-30)


def test_beta_of_a_large_sample() -> None:
    theirs = run_dali(lambda fn: fn.random.beta(seed=5, shape=[300_001], alpha=2.0, beta=5.0), 1)[0]
    ours = filled(
        fill_beta,
        open_stream(GeneratorState(5), np.arange(1)),
        [(300_001,)],
        np.array([2], np.float32),
        np.array([5], np.float32),
        dtype=np.float32,
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=2e-6)


@with_each("no_fixed_points", [False, True])
@with_each("allow_repetitions", [False, True])
@with_each("size", [1, 2, 3, 8, 513])
def test_permutation(size: int, allow_repetitions: bool, no_fixed_points: bool) -> None:
    options = {"allow_repetitions": allow_repetitions, "no_fixed_points": no_fixed_points}
    theirs = run_dali(lambda fn: fn.batch_permutation(seed=5, **options), size, batches=3)
    for batch, samples in enumerate(theirs):
        np.testing.assert_array_equal(
            permutation(GeneratorState(5, size * batch), size, **options), np.array(samples).reshape(-1)
        )


def test_permutation_of_a_huge_batch() -> None:
    theirs = run_dali(lambda fn: fn.batch_permutation(seed=5), 70_000)[0]
    np.testing.assert_array_equal(permutation(GeneratorState(5), 70_000), np.array(theirs).reshape(-1))
