"""Streams and fills compared with NVIDIA DALI, live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.draws import fill_coin_flip, fill_normal, fill_uniform, fill_values
from dali_lab.kernels.streams import GeneratorState, Stream, open_stream
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali")

SEEDS = [0, 5, 2**32 - 1, 2**40 + 7, -3, 2**63 - 1]
REALS = ["FLOAT", "FLOAT64"]
INTEGERS = ["UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64"]


def run_dali(build: Any, batch_size: int, batches: int = 1, seed: int = 1, threads: int = 2) -> list[list[np.ndarray]]:
    """The first output of each batch, one array a sample."""
    pipe = dali.Pipeline(batch_size, threads, None, seed=seed)
    with pipe:
        pipe.set_outputs(build(dali.fn))
    pipe.build()
    result = []
    for _ in range(batches):
        (out,) = pipe.run()
        result.append([np.array(out.at(i)) for i in range(len(out))])
    return result


def filled(fill: Any, stream: Stream, shapes: list[tuple[int, ...]], *arguments: Any, dtype: Any) -> list[np.ndarray]:
    outputs = [np.zeros(shape, dtype) for shape in shapes]
    addresses = np.array([output.ctypes.data for output in outputs], np.int64)
    fill(stream, addresses, np.array([output.size for output in outputs], np.int64), *arguments, dtype)
    return outputs


def per_sample(values: list[Any], dtype: Any = np.float32) -> Any:
    return dali.fn.external_source(lambda: [np.asarray(v, dtype) for v in values])


def assert_same(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_over_batches(seed: int) -> None:
    theirs = run_dali(lambda fn: fn.random.uniform(seed=seed, shape=[3, 5]), 7, batches=3)
    full = np.full(7, 1, np.float32)
    for batch, samples in enumerate(theirs):
        stream = open_stream(GeneratorState(seed, 7 * batch), np.arange(7))
        assert_same(filled(fill_uniform, stream, [(3, 5)] * 7, -full, full, dtype=np.float32), samples)


@with_each("dtype", REALS + INTEGERS)
@with_each("bounds", [(-1.0, 1.0), (0.7, 3.9), (-2.5, 1000.7), (3e9, 1e20)])
def test_uniform_dtypes_and_ranges(dtype: str, bounds: tuple[float, float]) -> None:
    kind = getattr(dali.types, dtype)
    theirs = run_dali(lambda fn: fn.random.uniform(seed=11, shape=[40], range=list(bounds), dtype=kind), 3)[0]
    lo, hi = (np.full(3, b, np.float32) for b in bounds)
    ours = filled(
        fill_uniform, open_stream(GeneratorState(11), np.arange(3)), [(40,)] * 3, lo, hi, dtype=theirs[0].dtype
    )
    assert_same(ours, theirs)


def test_uniform_per_sample_range_and_shape_like() -> None:
    shapes = [(2, 3), (0, 4), (5, 1), (1, 1)]
    lows = [-1.0, 0.0, 100.0, -7.5]
    highs = [1.0, 0.25, 1e6, -7.25]
    theirs = run_dali(
        lambda fn: fn.random.uniform(
            per_sample([np.zeros(shape) for shape in shapes]),
            range=per_sample(list(zip(lows, highs, strict=True))),
            seed=3,
        ),
        4,
    )[0]
    stream = open_stream(GeneratorState(3), np.arange(4))
    ours = filled(
        fill_uniform, stream, shapes, np.array(lows, np.float32), np.array(highs, np.float32), dtype=np.float32
    )
    assert_same(ours, theirs)


def test_any_part_of_a_batch_alone() -> None:
    whole = filled(
        fill_normal,
        open_stream(GeneratorState(9, 64), np.arange(10)),
        [(4,)] * 10,
        np.zeros(10),
        np.ones(10),
        dtype=np.float32,
    )
    for start, stop in ((0, 3), (3, 10), (9, 10)):
        stream = open_stream(GeneratorState(9, 64), np.arange(start, stop))
        n = stop - start
        assert_same(
            filled(fill_normal, stream, [(4,)] * n, np.zeros(n), np.ones(n), dtype=np.float32), whole[start:stop]
        )


@pytest.mark.parametrize("dtype", REALS + INTEGERS)
def test_values(dtype: str) -> None:
    kind = getattr(dali.types, dtype)
    values = [0.7, -3.9, 300.5, 7.5]
    theirs = run_dali(lambda fn: fn.random.uniform(seed=5, shape=[50], values=values, dtype=kind), 3)[0]
    table = [np.array(values, np.float32)] * 3
    assert_same(
        filled(fill_values, open_stream(GeneratorState(5), np.arange(3)), [(50,)] * 3, table, dtype=theirs[0].dtype),
        theirs,
    )


def test_values_per_sample() -> None:
    rows = [[1.0], [2.0, 3.0], [4.0, 5.0, 6.0, 7.0, 8.0]]
    theirs = run_dali(lambda fn: fn.random.uniform(seed=5, shape=[9], values=per_sample(rows)), 3)[0]
    table = [np.array(row, np.float32) for row in rows]
    assert_same(
        filled(fill_values, open_stream(GeneratorState(5), np.arange(3)), [(9,)] * 3, table, dtype=np.float32), theirs
    )


@pytest.mark.parametrize("dtype", REALS + INTEGERS)
def test_normal(dtype: str) -> None:
    kind = getattr(dali.types, dtype)
    means, deviations = [0.0, 3.0, -100.0, 1.0], [1.0, 50.0, 0.0, -2.0]
    theirs = run_dali(
        lambda fn: fn.random.normal(
            seed=5, shape=[6, 50], mean=per_sample(means), stddev=per_sample(deviations), dtype=kind
        ),
        4,
        batches=2,
    )
    for batch, samples in enumerate(theirs):
        ours = filled(
            fill_normal,
            open_stream(GeneratorState(5, 4 * batch), np.arange(4)),
            [(6, 50)] * 4,
            np.array(means, np.float32),
            np.array(deviations, np.float32),
            dtype=samples[0].dtype,
        )
        for a, b in zip(ours, samples, strict=True):
            if dtype in REALS:  # logarithm and cosine may differ in the last bit between libraries
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * 50)
            else:
                assert (a != b).sum() <= 1
                assert np.abs(a.astype(float) - b.astype(float)).max() <= 1


@pytest.mark.parametrize("dtype", ["BOOL", "UINT8", "INT32"])
def test_coin_flip(dtype: str) -> None:
    kind = getattr(dali.types, dtype)
    chances = [0.5, 0.0, 1.0, 2.0, 0.125, -0.5]
    theirs = run_dali(
        lambda fn: fn.random.coin_flip(seed=5, shape=[300], probability=per_sample(chances), dtype=kind), 6
    )[0]
    ours = filled(
        fill_coin_flip,
        open_stream(GeneratorState(5), np.arange(6)),
        [(300,)] * 6,
        np.array(chances, np.float32),
        dtype=theirs[0].dtype,
    )
    assert_same(ours, theirs)


def test_large_samples_and_batches() -> None:
    theirs = run_dali(lambda fn: fn.random.uniform(seed=5, shape=[300_001]), 2)[0]
    one = np.ones(2, np.float32)
    ours = filled(
        fill_uniform, open_stream(GeneratorState(5), np.arange(2)), [(300_001,)] * 2, -one, one, dtype=np.float32
    )
    assert_same(ours, theirs)


def test_batches_beyond_32768_samples() -> None:
    size = 33_000
    theirs = np.array(run_dali(lambda fn: fn.random.coin_flip(seed=5), size)[0])
    ours = np.zeros(size, np.int32)
    addresses = ours.ctypes.data + 4 * np.arange(size, dtype=np.int64)
    fill_coin_flip(
        open_stream(GeneratorState(5), np.arange(size)), addresses, np.ones(size, np.int64), np.full(size, 0.5)
    )
    np.testing.assert_array_equal(ours, theirs.reshape(-1))


def test_empty_batch() -> None:
    none = np.empty(0, np.int64)
    fill_uniform(
        open_stream(GeneratorState(1), none), none, none, none.astype(np.float32), none.astype(np.float32), np.uint8
    )
