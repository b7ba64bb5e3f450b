"""Expressions equal NVIDIA DALI's: types, wrap-around, broadcasting, layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dali_lab
from tests.conformance.expressions import DTYPES, Build, check, check_fails, evaluate
from tests.conformance.harness import OF_ROOTS

INTEGERS = DTYPES[1:9]
BINARY: dict[str, Build] = {
    "add": lambda e, a, b: a + b,
    "sub": lambda e, a, b: a - b,
    "mul": lambda e, a, b: a * b,
    "fdiv": lambda e, a, b: a / b,
    "div": lambda e, a, b: a // b,
    "mod": lambda e, a, b: a % b,
    "pow": lambda e, a, b: a**b,
    "eq": lambda e, a, b: a == b,
    "neq": lambda e, a, b: a != b,
    "lt": lambda e, a, b: a < b,
    "leq": lambda e, a, b: a <= b,
    "gt": lambda e, a, b: a > b,
    "geq": lambda e, a, b: a >= b,
    "min": lambda e, a, b: e.math.min(a, b),
    "max": lambda e, a, b: e.math.max(a, b),
    "fpow": lambda e, a, b: e.math.fpow(a, b),
    "atan2": lambda e, a, b: e.math.atan2(a, b),
}
BITS: dict[str, Build] = {
    "bitand": lambda e, a, b: a & b,
    "bitor": lambda e, a, b: a | b,
    "bitxor": lambda e, a, b: a ^ b,
    "lshift": lambda e, a, b: a << b,
    "rshift": lambda e, a, b: a >> b,
}
UNARY_FLOAT = [
    "sqrt", "cbrt", "exp", "log", "log2", "log10", "fabs", "floor", "ceil", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
]  # fmt: skip
NO_BOOLS = {"add", "sub", "fdiv", "div", "mod", "pow", "min", "max", "fpow", "atan2"}


def values(dtype: str, name: str = "", *, right: bool = False) -> np.ndarray:
    """Values at the edges of the type and between them; those of the right operand are in another order."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        base = [0, 1, 1, 0, 1, 0, 0, 1]
    elif kind.kind == "u":
        base = [0, 1, 2, 3, 7, np.iinfo(kind).max, np.iinfo(kind).max - 1, 100]
    elif kind.kind == "i":
        base = [0, 1, -1, 2, 7, -7, np.iinfo(kind).max, np.iinfo(kind).min]
    else:
        base = [0.0, 1.5, -1.5, 2.0, 0.25, -7.75, 100.0, -0.0]
    if right:
        base = [base[(3 * i + 1) % 8] for i in range(8)]
        if name in ("div", "mod"):
            # No zero, and nothing that becomes -1 as int64: the lowest number divided by it ends NVIDIA DALI's process.
            base = [item if abs(item) <= 100 and item not in (0, -1, -0.0) else 3 for item in base]
    return np.array(base, dtype=kind)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_on_all_types(name: str) -> None:
    """One pipeline for each left type: the operation with each right type as one more output."""
    for left in DTYPES:
        rights = [d for d in DTYPES if not (left == d == "bool" and name in NO_BOOLS)]
        first = values(left, name)
        if name in ("pow", "fpow"):
            first = (
                np.clip(first, -9, 9) if left not in ("bool",) and not left.startswith("u") else np.minimum(first, 9)
            )
        inputs = [([first.astype(left)], "")]
        for right in rights:
            second = values(right, name, right=True)
            if name in ("pow", "fpow"):
                second = np.clip(second, -9, 9) if np.dtype(right).kind in "if" else np.minimum(second, 9)
            inputs.append(([second.astype(right)], ""))
        check(lambda e, a, *bs: [BINARY[name](e, a, b) for b in bs], *inputs)


@pytest.mark.parametrize("name", BITS)
def test_bit_operations_on_all_types(name: str) -> None:
    kinds = ["bool", *INTEGERS]
    for left in kinds:
        inputs = [([values(left)], "")]
        for right in kinds:
            second = values(right, right=True)
            inputs.append(([second], ""))
        check(lambda e, a, *bs: [BITS[name](e, a, b) for b in bs], *inputs)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_unary_functions(dtype: str) -> None:
    kind = np.dtype(dtype)
    data = values(dtype)
    if kind.kind == "f":
        many = np.random.default_rng(3).normal(size=3000) * 10.0 ** np.arange(-4, 2).repeat(500)
        data = np.concatenate([np.linspace(-0.9, 3, 40), many, [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype(kind)
    check(lambda e, a: [getattr(e.math, name)(a) for name in UNARY_FLOAT], ([data], ""))
    check(lambda e, a: e.math.rsqrt(a), ([data], ""), relative=OF_ROOTS)
    check(lambda e, a: [-a, abs(a), +a], ([values(dtype)], ""))


def test_not() -> None:
    inputs = [([values(dtype)], "") for dtype in ["bool", *INTEGERS]]
    check(lambda e, *nodes: [~node for node in nodes], *inputs)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_clamp(dtype: str) -> None:
    check(
        lambda e, a: [e.math.clamp(a, 1, 3), e.math.clamp(a, 3, 1), e.math.clamp(a, 0.5, 2.5), e.math.clamp(a, a, 2)],
        ([values(dtype)], ""),
    )


def test_comparisons_with_nan() -> None:
    left = np.array([np.nan, 1, 2, np.nan, -0.0, 0.0], np.float32)
    right = np.array([1, np.nan, 2, np.nan, 0.0, -0.0], np.float32)
    check(
        lambda e, a, b: [
            e.math.min(a, b),
            e.math.max(a, b),
            e.math.clamp(a, b, 1.5),
            e.math.clamp(1.5, a, b),
            a == b,
            a != b,
            a < b,
        ],
        ([left], ""),
        ([right], ""),
    )


def test_comparisons_of_signed_with_unsigned_are_exact() -> None:
    signed = np.array([-1, -1, 5, 2**62], np.int64)
    unsigned = np.array([2**64 - 1, 1, 5, 2**63], np.uint64)
    for name in ("eq", "neq", "lt", "leq", "gt", "geq"):
        check(
            lambda e, a, b, name=name: [BINARY[name](e, a, b), BINARY[name](e, b, a)], ([signed], ""), ([unsigned], "")
        )


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "bool"])
def test_negative_integers_are_below_every_float(dtype: str) -> None:
    floats = np.repeat([-np.inf, -5, -2, -1.5, -0.0, 1, np.inf, np.nan], 4)
    integers = np.tile(np.array([-2, -1, 0, 1]).astype(dtype), 8)
    for kind in ("float32", "float64"):
        inputs = ([floats.astype(kind)], ""), ([integers], "")
        for name in ("eq", "neq", "lt", "leq", "gt", "geq"):
            check(lambda e, a, b, name=name: [BINARY[name](e, a, b), BINARY[name](e, b, a)], *inputs)
            check(lambda e, a, name=name: [BINARY[name](e, a, -2), BINARY[name](e, -2, a)], inputs[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants(dtype: str) -> None:
    def build(e: Any, a: Any) -> Any:
        constant = e.types.Constant
        results = [a * 3, a + 2, 2 - a, a * 0.1, 2.5 / (a + 1), a * True, a == 1, a > 1]
        results += [
            a * constant(3).uint8(),
            a - constant(7).int64(),
            a * constant(0.1).float64(),
            constant(2).float32() ** a,
        ]
        results += [
            a * constant(2.7).int16(),
            a * constant(1).bool(),
            a + np.uint8(3),
            a + np.float32(1.5),
            a + np.array(2.5),
        ]
        if np.dtype(dtype).kind != "f":
            results += [a & 3, 5 | a, a ^ constant(9).uint16(), a << 2, a >> 1]
        return results

    check(build, ([values(dtype)[:5], values(dtype)[:2]], ""), tolerance=1e-5)


def test_constant_arrays() -> None:
    data = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.arange(12, dtype=np.uint8).reshape(4, 3)]
    check(
        lambda e, a: [a + np.array([1, 2, 3]), a * [1, 2, 3], a - e.types.Constant([1.5, 2, 3]), (a + [7]) * 2],  # noqa: RUF005
        (data, "HW"),
    )
    # NVIDIA DALI leaves an array on the left to numpy, which makes nonsense of it.
    own = evaluate(dali_lab, lambda e, a: np.array([[1.5], [2]]) * a[:2], [(data, "HW")])[0][0]
    np.testing.assert_array_equal(own["samples"][1], np.array([[1.5], [2]], np.float32) * data[1][:2])


SHAPES = [
    ([(2, 3, 4), (5, 3, 4)], [(), ()]),
    ([(2, 3, 4), (5, 3, 4)], [(4,), (4,)]),
    ([(2, 3, 4), (5, 3, 4)], [(1,), (3, 1)[-1:]]),
    ([(2, 3, 4), (5, 6, 1)], [(3, 1), (1, 1)]),
    ([(2, 1), (5, 1)], [(1, 3), (1, 4)]),
    ([(), ()], [(2,), (3,)]),
    ([(1, 1, 1), (1, 1, 1)], [(4,), (2,)]),
    ([(0, 3), (2, 3)], [(3,), (3,)]),
    ([(2, 0, 4), (2, 1, 4)], [(2, 1, 1), (2, 1, 1)]),
    ([(2, 1, 4, 1, 2, 1), (3, 1, 1, 5, 1, 1)], [(1, 3, 1, 3, 1, 3), (1, 3, 1, 1, 1, 3)]),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_broadcasting(left: Sequence[tuple[int, ...]], right: Sequence[tuple[int, ...]], dtype: str) -> None:
    a = [np.random.default_rng(i).integers(0, 200, shape).astype(dtype) for i, shape in enumerate(left)]
    b = [np.random.default_rng(9 + i).integers(0, 200, shape).astype(np.float32) for i, shape in enumerate(right)]
    if any(len(shape) != len(right[0]) for shape in right):
        pytest.skip("samples of a batch have the same number of dimensions")
    check(lambda e, a, b: [a + b, b - a, e.math.clamp(a, b, 90), a < b], (a, ""), (b, ""))


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_broadcasting_of_random_shapes(data: st.DataObject) -> None:
    """Against numpy: NVIDIA DALI reads beyond its operands where the axes to stretch differ between samples."""
    ndim = data.draw(st.integers(0, 4))
    arrays: list[list[np.ndarray]] = [[], []]
    ranks = [data.draw(st.integers(0, ndim)), ndim]
    samples = data.draw(st.integers(1, 3))
    for sample in range(samples):
        full = [data.draw(st.integers(1, 4)) for _ in range(ndim)]
        for operand, rank in enumerate(ranks):
            shape = [1 if data.draw(st.booleans()) else size for size in full[ndim - rank :]]
            rng = np.random.default_rng([sample, operand, *shape])
            arrays[operand].append(rng.integers(-50, 50, shape).astype([np.int16, np.int32][operand]))
    build = lambda e, a, b: [a * b, a - b, b > a]  # noqa: E731
    inputs = [(arrays[0], ""), (arrays[1], "")]
    product, difference, greater = evaluate(dali_lab, build, inputs)[0]
    for sample, (left, right) in enumerate(zip(*arrays, strict=True)):
        np.testing.assert_array_equal(product["samples"][sample], left * right)
        np.testing.assert_array_equal(difference["samples"][sample], left - right)
        np.testing.assert_array_equal(greater["samples"][sample], right > left)
    if samples == 1:
        check(build, *inputs)


@pytest.mark.parametrize(
    ("shapes", "layouts"),
    [
        (((2, 3, 4), (2, 3, 4)), ("HWC", "")),
        (((2, 3, 4), (2, 3, 4)), ("", "HWC")),
        (((2, 3, 4), (4,)), ("HWC", "C")),
        (((4,), (2, 3, 4)), ("C", "HWC")),
        (((4,), (2, 3, 4)), ("C", "")),
        (((2, 3, 4), ()), ("HWC", "")),
        (((1, 1, 1), (4,)), ("HWC", "")),
        (((2, 1), (1, 3)), ("", "HW")),
    ],
)
def test_layouts(shapes: Sequence[tuple[int, ...]], layouts: Sequence[str]) -> None:
    inputs = [([np.ones(shape, np.float32)], layout) for shape, layout in zip(shapes, layouts, strict=True)]
    check(lambda e, a, b: [a + b, a * 2, -b], *inputs)


def test_what_fails() -> None:
    ones = ([np.ones((2, 3), np.float32)], "HW")
    whole = ([np.ones((2, 3), np.int32)], "HW")
    bools = ([np.ones((2, 3), bool)], "")
    check_fails(lambda e, a, b: a + b, ones, ([np.ones((2, 3), np.float32)], "WH"), words="layouts HW and WH|WH and HW")
    check_fails(lambda e, a, b: a + b, ones, ([np.ones((2,), np.float32)], ""), words="shapes")
    check_fails(lambda e, a: a & 1, ones, words="integers")
    check_fails(lambda e, a: a + a, bools, words="bools")
    check_fails(lambda e, a: e.math.sqrt(a), bools, words="bools")
    check_fails(lambda e, a: a // 0, whole, words="division by zero")
    check_fails(lambda e, a, b: a % b, whole, ([np.array(0, np.int16)], ""), words="division by zero")
    check_fails(lambda e, a: a + 2**40, whole, words="1099511627776 does not fit")
    check_fails(lambda e, a: a + e.types.Constant(300).uint8(), whole, words="300 does not fit")
    check_fails(lambda e, a: a == None, whole, words="NoneType")  # noqa: E711
    check_fails(lambda e, a: a + "x", whole, words="'str'")
    check_fails(lambda e, a: a + (a, a), whole, words="'tuple'")  # noqa: RUF005
    check_fails(lambda e, a: e.math.max(1, 2), whole, words="got 0")


def test_chunks_of_any_kind_agree() -> None:
    """Samples of one shape, of many shapes, and far apart in memory take different roads to the same result."""
    rng = np.random.default_rng(3)
    sizes = [(5, 7, 3), (9, 4, 3), (1, 1, 3)] * 3
    ragged = [rng.integers(0, 255, size, dtype=np.uint8) for size in sizes]
    large = [rng.integers(0, 255, (200, 301, 3), dtype=np.uint8) for _ in range(9)]
    scalars = ([np.float32(i + 0.5) for i in range(9)], "")
    means = ([np.array([i, 1, 2], np.float32) for i in range(9)], "")
    for data in (ragged, large):
        check(lambda e, a, s, m: [(a - m) / s, a * s, a + a[:, :, ::-1], -a], (data, "HWC"), scalars, means)
