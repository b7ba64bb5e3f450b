"""Expressions and casts on the GPU are one generated kernel, with the bits of the operators one after the other."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, math, types
from dali_lab.kernels.cuda.expression import Step, expression_kernel
from tests.unit.graph.test_expression_chain import DTYPES, EVEN, SHORT, arrays, random_expression

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)
Definition = Callable[..., Any]
SMALL = [(9, 11, 3), (7, 5, 3), (4, 4, 1), (6, 1, 3)]


def _results(
    define: Definition, inputs: Sequence[list[np.ndarray]], gpu: str = "emulated", *, optimize: bool
) -> tuple[list[Any], dict[str, int]]:
    """Type, layout and samples, and the launches of each node."""
    pipeline = Pipeline(len(inputs[0]), 2, 0, seed=5, gpu=gpu, optimize=optimize)
    with pipeline:
        nodes: list[Any] = [fn.external_source(source=partial(list, batch)) for batch in inputs]
        pipeline.set_outputs(define(*(node if gpu == "never" else node.gpu() for node in nodes)))
    output = pipeline.run()[0].as_cpu()
    rows = pipeline.executor_statistics().items()
    launches = {name: row["gpu_launches"] for name, row in rows if "gpu_launches" in row}
    found = [output.dtype, output.layout(), [np.array(output.at(index)) for index in range(len(output))]]
    pipeline.close()
    return found, launches


def _assert_one_launch(define: Definition, *inputs: list[np.ndarray]) -> None:
    with np.errstate(all="ignore"):
        plain, _ = _results(define, inputs, optimize=False)
        fused, launches = _results(define, inputs, optimize=True)
    assert plain[:2] == fused[:2]
    for left, right in zip(plain[2], fused[2], strict=True):
        np.testing.assert_array_equal(left, right, strict=True)
    assert sum(launches.values()) == 1, launches


@pytest.mark.parametrize("number", range(10))
def test_random_expressions(number: int) -> None:
    generator = random.Random(number)
    shapes = generator.choice([SMALL, SHORT])
    inputs = [arrays(shapes, generator.choice(DTYPES[:4])), arrays(shapes, generator.choice(DTYPES))]
    define = random_expression(number)
    plain, _ = _results(define, inputs, optimize=False)
    fused, launches = _results(define, inputs, optimize=True)
    assert plain[:2] == fused[:2]
    for left, right in zip(plain[2], fused[2], strict=True):
        np.testing.assert_array_equal(left, right, strict=True)
    assert len(launches) <= len(_results(define, inputs, optimize=False)[1])


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float64", "int64"])
def test_scaled_clipped_and_cast(dtype: str) -> None:
    _assert_one_launch(
        lambda x: fn.cast(math.clamp(x * 0.5 + fn.random.uniform(range=(-9.0, 9.0)) * 3.0, 0, 99.5), dtype=types.UINT8),
        arrays(SMALL, dtype),
    )


def test_every_kind_of_step() -> None:
    """Comparisons, whole numbers, remainders of mixed types, bits, and functions, of stretched operands."""

    def define(x: Any, y: Any) -> Any:
        whole = (x // 3 + (x % 7) * 2) ^ (x << 1)
        mixed = (x % 2.5) + (y % 4) - math.sqrt(math.abs(y) + 1)
        chosen = (x > y) * whole + (y >= -2) * 5
        return fn.cast(chosen, dtype=types.FLOAT) / (mixed * mixed + 1) + math.min(-y, x**2)

    _assert_one_launch(define, arrays(SMALL, "uint8"), arrays([(1, 3), (5, 1), (1, 1, 1), (3,)][:1] * 4, "float32"))
    large = [np.array([2**63 + 5, 7], np.uint64)] * 4
    _assert_one_launch(lambda x: (x > types.Constant(2**63, dtype=types.UINT64)) * (x // 2), large)


def test_agrees_with_the_cpu() -> None:
    def define(x: Any, m: Any) -> Any:
        return fn.cast((x - m * 2.0) / 3 + x, dtype=types.UINT8)

    inputs = [arrays(EVEN, "uint8"), [np.array([1, 2, 3.5], np.float32)] * 4]
    found, launches = _results(define, inputs, optimize=True)
    expected, _ = _results(define, inputs, "never", optimize=True)
    for left, right in zip(found[2], expected[2], strict=True):
        np.testing.assert_array_equal(left, right, strict=True)
    assert list(launches.values()) == [1]


def test_devices_are_not_mixed_in_one_kernel() -> None:
    """Values computed on the CPU stay there, and are copied once."""

    def define(x: Any) -> Any:
        factor = fn.random.uniform(range=(0.5, 2.0)) * 3.0 + 1.0
        return x * factor - 2.0

    pipeline = Pipeline(4, 2, 0, gpu="emulated")
    with pipeline:
        data = arrays(SMALL, "float32")
        pipeline.set_outputs(define(fn.external_source(source=lambda: data).gpu()))
    pipeline.build()
    nodes = pipeline._built().plan.graph.nodes.values()
    assert sorted((node.op, node.device) for node in nodes if node.op == "_expression") == [
        ("_expression", "cpu"),
        ("_expression", "gpu"),
    ]
    pipeline.close()


def test_another_constant_is_no_other_kernel() -> None:
    made = expression_kernel((Step("mul", "f4", (0, -1)), Step("add", "f4", (1, -2))), ("u1",), ("f4", "i4"), 1)
    assert "param.constant1" in made.text
    before = expression_kernel.cache_info().misses
    for factor in (1.5, 2.5):
        _results(lambda x, factor=factor: x * factor + 3, [arrays(SMALL, "uint8")], optimize=True)
    assert expression_kernel.cache_info().misses == before
