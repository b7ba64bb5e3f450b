"""Numbers at the ends of a type's range: kernels give the results of the operators on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.kernels.cuda.arithmetic import EXPRESSION, walk
from dali_lab.kernels.cuda.copy import padded
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DeviceError
from tests.together import with_each

INF, NAN = np.inf, np.nan
FLOATS = np.array(
    [
        0, -0.5, 0.5, 1.5, 254.5, 255.5, -128.5, 32767.5, 65504, 65520, 65536, 2147483648.0, 4294967296.0, 9.223372e18,
        9.223373e18, 1.8446744e19, 1e20, -32769, -2147483904.0, -9.3e18, -1e20, 3e38, INF, -INF, NAN,
    ],
    np.float32,
)  # fmt: skip
INTEGERS = [types.UINT8, types.INT8, types.UINT16, types.INT16, types.UINT32, types.INT32, types.UINT64, types.INT64]


def _given(values: np.ndarray) -> Any:
    return fn.external_source(source=lambda: [values])


def on_both(define: Callable[..., Any], *inputs: np.ndarray, optimize: bool = True) -> list[np.ndarray]:
    """Outputs of a graph for one sample of each input, on the CPU and on the emulated device."""
    found = []
    for mode in ("never", "emulated"):
        pipeline = Pipeline(1, 1, 0, gpu=mode, optimize=optimize)
        with pipeline:
            nodes = [_given(values) for values in inputs]
            pipeline.set_outputs(define(*(node.gpu() if mode == "emulated" else node for node in nodes)))
        found.append(np.array(pipeline.run()[0].as_cpu().at(0)))
        pipeline.close()
    return found


def pairs(left: Any, right: Any, kinds: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of two lists of numbers."""
    with np.errstate(all="ignore"):
        first, second = np.meshgrid(np.array(left, kinds[0]), np.array(right, kinds[1]))
    return first.reshape(-1), second.reshape(-1)


@with_each("dtype", INTEGERS)
@with_each("kind", [np.float16, np.float32, np.float64])
def test_floats_that_do_not_fit_an_integer(kind: Any, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        values = FLOATS.astype(kind).reshape(1, -1, 1)
    operators: list[Any] = [lambda x: fn.cast(x, dtype=dtype)]
    if dtype is types.UINT8:
        operators.append(lambda x: fn.crop(fn.reshape(x, layout="HWC"), crop=(1, len(FLOATS)), dtype=dtype))
    for define in operators:
        cpu, gpu = on_both(define, values)
        np.testing.assert_array_equal(gpu, cpu, strict=True)
        limits = np.iinfo(cpu.dtype)
        assert cpu.reshape(-1)[-3] == limits.max and cpu.reshape(-1)[-2] == limits.min, "infinities are clamped"


def test_values_of_fill_that_do_not_fit_are_the_lowest_number() -> None:
    for fill in (1e20, -1e20):

        def sliced(data: Any, fill: float = fill) -> Any:
            return fn.slice(data, start=[1], end=[4], axes=[0], out_of_bounds_policy="pad", fill_values=[fill])

        for made in on_both(sliced, np.ones(3, np.int64)):
            assert made.tolist() == [1, 1, np.iinfo(np.int64).min], "as in NVIDIA DALI"


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("optimize", [True, False])
def test_integers_beside_float16_become_float16_first(kind: Any, optimize: bool) -> None:
    limits = np.iinfo(kind)
    halves, integers = pairs(
        [65504, 254.5, INF, -INF, 0, 1.5, 0.333, -7.25],
        [limits.min, limits.max, 3, 2049, 10922, limits.max // 2],
        (np.float16, kind),
    )
    for define in (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: (y - x) * 2):
        cpu, gpu = on_both(define, halves, integers, optimize=optimize)
        np.testing.assert_array_equal(gpu, cpu, strict=True)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_shifts_beyond_the_width_and_the_lowest_number_over_minus_one(kind: Any) -> None:
    limits = np.iinfo(kind)
    negative = [] if limits.min == 0 else [-1, -31, -32, -64]
    numbers, counts = pairs(
        [limits.min, limits.max, 1, 167 % limits.max], [0, 1, 7, 31, 32, 33, 63, 64, 65, *negative], (kind, kind)
    )
    for define in (lambda x, y: x << y, lambda x, y: x >> y):
        cpu, gpu = on_both(define, numbers, counts)
        np.testing.assert_array_equal(gpu, cpu, strict=True)
    divisors = np.array([v for v in (-1, 3, limits.max, limits.min) if v >= limits.min and v], kind)
    numbers, divisors = pairs([limits.min, limits.max, -7 if negative else 7], divisors, (kind, kind))
    for define in (lambda x, y: x // y, lambda x, y: x % y):
        cpu, gpu = on_both(define, numbers, divisors)
        np.testing.assert_array_equal(gpu, cpu, strict=True)


@pytest.mark.parametrize(
    "define", [lambda x: x // 0, lambda x: x % 0, lambda x: (x + 1) // 0 * 2], ids=["quotient", "remainder", "chain"]
)
def test_a_constant_zero_divides_nothing_on_a_gpu_either(define: Callable[[Any], Any]) -> None:
    pipeline = Pipeline(1, 1, 0, gpu="emulated")
    with pipeline:
        pipeline.set_outputs(define(_given(np.arange(4, dtype=np.int32)).gpu()))
    with pytest.raises(dali_lab.DaliLabError, match="division by zero"):
        pipeline.run()
    pipeline.close()


def test_elements_that_are_zero_are_not_looked_at_on_a_gpu() -> None:
    pipeline = Pipeline(1, 1, 0, gpu="emulated")
    with pipeline:
        left, right = (_given(np.array(values, np.int32)).gpu() for values in ([7, 8], [0, 3]))
        pipeline.set_outputs(left // right, left % right)
    quotient, rest = pipeline.run()
    assert quotient.as_cpu().as_array().tolist() == [[0, 2]] and rest.as_cpu().as_array().tolist() == [[0, 2]]
    pipeline.close()


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.uint32])
@pytest.mark.parametrize("name", ["sum", "mean", "mean_square", "rms"])
def test_means_at_the_end_of_a_type(kind: Any, name: str) -> None:
    limits = np.iinfo(kind)
    for value in (limits.max, limits.min):
        cpu, gpu = on_both(lambda x: getattr(fn.reductions, name)(x), np.full(3, value, kind))
        np.testing.assert_array_equal(gpu, cpu, strict=True)


def test_extents_that_32_bits_do_not_hold_are_refused_and_large_samples_are_not() -> None:
    out = Batch(np.zeros(1, np.int64), np.array([[50000, 50000, 3]]), types.UINT8)
    shapes, strides = walk(out, [out, np.zeros((), np.uint8)])
    assert shapes.tolist() == [[50000, 50000, 3]] and strides[0].tolist() == [[150000, 3, 1]]
    line = Batch(np.zeros(1, np.int64), np.array([[3_000_000_000]]), types.UINT8)
    with pytest.raises(DeviceError, match=r"expression: shape is 3000000000.*2147483647"):
        EXPRESSION._filled(1, {"shape": padded(walk(line, [line])[0])}, {})


@pytest.mark.parametrize("top", [255, 65535, 10**6])
def test_a_mean_of_few_elements_is_rounded_as_on_the_cpu(top: int) -> None:
    values = np.random.default_rng(0).integers(top - 5, top, (40, 30, 3), endpoint=True)
    given = values.astype(np.uint8 if top < 256 else np.uint16 if top < 65536 else np.int32)
    plain, ours = on_both(lambda x: fn.normalize(x, axes=[2]), given)
    np.testing.assert_allclose(ours, plain, atol=1e-6)
