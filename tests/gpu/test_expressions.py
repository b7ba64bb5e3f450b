"""Expressions have the same results on the emulated device as on the CPU."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.operators.math.arithmetic import TABLE

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)

DTYPES = (np.bool_, np.uint8, np.int8, np.int32, np.uint64, np.int64, np.float16, np.float32, np.float64)
SHAPES = (((3, 5), (3, 5), (3, 5)), ((4, 1), (6,), (1, 1)), ((1,), (2, 3, 4), (4,)))
ROUNDED = {"f2": 2e-3, "f4": 3e-6, "f8": 1e-14}
"""Compilers and NumPy round functions of floats differently, by a few units in the last place."""


def operands(dtypes: Sequence[Any], shapes: Sequence[tuple[int, ...]], seed: int) -> list[list[np.ndarray]]:
    """One list of three samples for each operand."""
    random = np.random.default_rng(seed)
    made = []
    for place, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=False)):
        samples = []
        for _ in range(3):
            values = random.uniform(-90, 90, shape)
            if np.dtype(dtype).kind == "u":
                values = np.abs(values)
            if place == 1:  # a divisor, an exponent, a count of places
                values = np.where(np.abs(values) < 9, 3, values / 9)
            samples.append(values.astype(dtype) if np.dtype(dtype).kind != "b" else values > 0)
        made.append(samples)
    return made


def evaluate(name: str, cases: Sequence[Sequence[list[np.ndarray]]], device: str) -> list[list[np.ndarray]]:
    """Results for several lists of operands, in one pipeline."""
    pipeline = dali_lab.Pipeline(3, 2, 0, gpu="emulated" if device == "gpu" else "never")
    function = getattr(fn.math, name)
    with pipeline:
        results: list[Any] = []
        for values in cases:
            nodes: list[Any] = [fn.external_source(source=itertools.repeat(rows)) for rows in values]
            if device == "gpu":
                nodes = [node.gpu() for node in nodes]
            results.append(function(*nodes, device=device))
        pipeline.set_outputs(*results)
    outputs = [output.as_cpu() for output in pipeline.run()]
    return [[np.array(output.at(index)) for index in range(3)] for output in outputs]


def pairs(count: int, takes: str) -> list[tuple[Any, ...]]:
    """Types of operands: each with itself, and each beside another one."""
    allowed = [dtype for dtype in DTYPES if takes != "integers" or np.dtype(dtype).kind != "f"]
    if takes == "numbers":
        allowed = [dtype for dtype in allowed if dtype is not np.bool_]
    same = [(dtype,) * count for dtype in allowed]
    if count == 1:
        return same
    return same + [(allowed[i], *[allowed[(i * 3 + 1) % len(allowed)]] * (count - 1)) for i in range(len(allowed))]


@pytest.mark.parametrize("expression", TABLE, ids=lambda expression: expression.name)
def test_agrees_with_the_cpu(expression: Any) -> None:
    count = len(expression.operands)
    types, cases = [], []
    for index, dtypes in enumerate(pairs(count, expression.takes)):
        if np.bool_ in dtypes and expression.name in ("lshift", "rshift"):
            continue
        values = operands(dtypes, SHAPES[index % len(SHAPES)], index)
        if expression.name in ("log", "log2", "log10", "sqrt", "rsqrt", "acosh"):
            values = [[np.abs(sample) + sample.dtype.type(1) for sample in rows] for rows in values]
        types.append(dtypes)
        cases.append(values)
    expected, found = evaluate(expression.name, cases, "cpu"), evaluate(expression.name, cases, "gpu")
    for dtypes, ours, theirs in zip(types, found, expected, strict=True):
        for left, right in zip(ours, theirs, strict=True):
            assert left.dtype == right.dtype and left.shape == right.shape
            if right.dtype.kind == "f":
                tolerance = ROUNDED[f"f{right.dtype.itemsize}"]
                np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=str(dtypes))
            else:
                np.testing.assert_array_equal(left, right, err_msg=str(dtypes))


def test_comparisons_of_the_largest_integers() -> None:
    values = [
        [np.array([-1, 2**62, 5], np.int64)] * 3,
        [np.array([2**64 - 1, 2**63, 5], np.uint64)] * 3,
    ]
    for name, expected in (("lt", [True, True, False]), ("eq", [False, False, True]), ("geq", [False, False, True])):
        assert evaluate(name, [values], "gpu")[0][0].tolist() == expected
