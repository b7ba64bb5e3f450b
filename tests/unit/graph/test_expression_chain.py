"""Expressions evaluated in blocks give the bits of their operators one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, math, types
from dali_lab.errors import OperatorError
from dali_lab.graph.passes import optimized

GENERATOR = np.random.default_rng(3)
LARGE = [(190, 100, 3), (170, 101, 3), (256, 256, 1), (70, 333, 3)]
EVEN = [(160, 110, 3)] * 4
SHORT = [(3, 4, 3), (2, 2, 3), (0, 4, 3), (5, 5, 1)]
DTYPES = ("uint8", "int16", "int32", "float32", "uint32", "float16", "float64", "bool", "int64")
Definition = Callable[..., Any]


def arrays(shapes: list[tuple[int, ...]], dtype: str) -> list[np.ndarray]:
    return [(GENERATOR.random(shape) * 300 - 20).astype(np.int16).astype(dtype) for shape in shapes]


def build(define: Definition, inputs: list[list[np.ndarray]], *, optimize: bool) -> Pipeline:
    pipeline = Pipeline(len(inputs[0]), 2, None, seed=5, optimize=optimize)
    with pipeline:
        nodes = [fn.external_source(source=partial(list, batch)) for batch in inputs]
        results = define(*nodes)
        pipeline.set_outputs(*(results if isinstance(results, tuple) else (results,)))
    pipeline.build()
    return pipeline


def results(define: Definition, inputs: list[list[np.ndarray]], *, optimize: bool) -> Any:
    """The outputs, or the message of the error."""
    try:
        ran = build(define, inputs, optimize=optimize).run()
    except OperatorError as error:
        return str(error)
    return [(output.dtype, output.layout(), [np.asarray(row) for row in output]) for output in ran]


def assert_same(define: Definition, *inputs: list[np.ndarray]) -> None:
    plain, fast = (results(define, list(inputs), optimize=optimize) for optimize in (False, True))
    if isinstance(plain, str):
        assert plain == fast
        return
    for (dtype, layout, rows), (other_dtype, other_layout, other) in zip(plain, fast, strict=True):
        assert (dtype, layout) == (other_dtype, other_layout)
        for left, right in zip(rows, other, strict=True):
            np.testing.assert_array_equal(left, right)


def random_expression(number: int) -> Definition:
    """Three to nine operators over the inputs, numbers for each sample, constants and each other's results."""

    def define(*inputs: Any) -> Any:
        generator = random.Random(number)
        values = [*inputs, fn.random.uniform(range=(0.5, 2.0))]

        def some() -> Any:
            kind = generator.random()
            if kind < 0.25:
                return generator.choice([2, 0.5, -3, 1.25, 7])
            return generator.choice(values[-4:])

        for _ in range(generator.randint(3, 9)):
            left = generator.choice(values[-3:])
            name = generator.choice(
                ["+", "-", "*", "/", "min", "max", "clamp", "cast", "abs", "exp", "sqrt", "<", "neg"]
            )
            if name in "+-*/<":
                right = some()
                new = {
                    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
                    "/": lambda a, b: a / b, "<": lambda a, b: (a < b) * 1,
                }[name](left, right)  # fmt: skip
            elif name in ("min", "max"):
                new = getattr(math, name)(left, some())
            elif name == "clamp":
                new = math.clamp(left, 3, some())
            elif name == "cast":
                new = fn.cast(left, dtype=generator.choice([types.UINT8, types.FLOAT, types.INT16, types.FLOAT16]))
            elif name == "neg":
                new = -left
            else:
                new = getattr(math, name)(left * 1.0)
            values.append(new)
        return values[-1]

    return define


@pytest.mark.parametrize("number", range(40))
def test_random_expressions(number: int) -> None:
    generator = random.Random(number)
    shapes = generator.choice([LARGE, EVEN, EVEN, SHORT])
    define = random_expression(number)
    assert_same(define, arrays(shapes, generator.choice(DTYPES[:4])), arrays(shapes, generator.choice(DTYPES)))


@pytest.mark.parametrize("dtype", DTYPES[:7])
@pytest.mark.parametrize("shapes", [LARGE, EVEN, SHORT])
def test_scaled_clipped_and_cast(dtype: str, shapes: list[tuple[int, ...]]) -> None:
    def define(x: Any) -> Any:
        return fn.cast(math.clamp(x * 0.5 + fn.random.uniform(range=(-9.0, 9.0)) * 3.0, 0, 99.5), dtype=types.UINT8)

    graph = optimized(build(define, [arrays(shapes, dtype)], optimize=False).graph)
    assert [node.op for node in graph.nodes.values()].count("_expression") == 1
    assert not any(node.op.startswith("math.") for node in graph.nodes.values())
    assert_same(define, arrays(shapes, dtype))


def test_along_channels() -> None:
    """A mean of each channel, itself computed."""
    means = [np.array([1, 2, 3.5], np.float32)] * 4
    assert_same(lambda x, m: (x - m * 2.0) / 3 + x, arrays(EVEN, "uint8"), means)
    assert_same(lambda x, m: (x - m * 2.0) / 3 + x, arrays(LARGE[:2] * 2, "uint8"), means)


def test_used_twice_and_shown() -> None:
    """A node that is an output, or feeds another node, is not fused."""

    def define(x: Any) -> Any:
        once = x + 1
        twice = once * once - 2.0
        return twice, once, fn.flip(once * 2 - 1)

    data = arrays(EVEN, "float32")
    graph = optimized(build(define, [data], optimize=False).graph)
    assert sorted(node.op for node in graph.nodes.values()) == [
        "_expression", "_expression", "external_source", "flip", "math.add",
    ]  # fmt: skip
    assert_same(define, data)


def test_errors_are_those_of_the_operators() -> None:
    zeros = [np.zeros((200, 200), np.int32)] * 2
    ones = [np.ones((200, 200), np.int32)] * 2
    for define in (
        lambda a, b: (b + 1) // (a * 2),
        lambda a, b: (b + 1) % a + 3,
        lambda a, b: (a + 1) * fn.reshape(b, shape=[400, 100]),
        lambda a, b: (a < b) + (b < a),
    ):
        plain, fast = (results(define, [zeros, ones], optimize=optimize) for optimize in (False, True))
        assert isinstance(plain, str)
        assert plain == fast


def test_long_chains() -> None:
    """More steps than become one."""

    def define(x: Any) -> Any:
        for step in range(70):
            x = x * 1.01 + float(step)
        return x

    assert_same(define, arrays(EVEN, "float32"))
