"""Constants as nodes and as operands mean what they mean in NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")

FORMS: dict[str, Any] = {
    "ints": lambda t: t.Constant([1, 2, 3]),
    "floats": lambda t: t.Constant([1, 2.5]),
    "bools": lambda t: t.Constant([True, False]),
    "array of int64": lambda t: t.Constant(np.array([[1, 2], [3, 4]])),
    "array of float64": lambda t: t.Constant(np.array([1.5, 2])),
    "array of float16": lambda t: t.Constant(np.array([1.5], np.float16)),
    "array of uint64": lambda t: t.Constant(np.array([1, 2], np.uint64)),
    "array of bool": lambda t: t.Constant(np.array([True])),
    "array as another type": lambda t: t.Constant(np.array([1, 2]), dtype=t.UINT8),
    "floats as integers": lambda t: t.Constant([1, 2.5], dtype=t.INT32),
    "ints as bools": lambda t: t.Constant([1, 0], dtype=t.BOOL),
    "filled": lambda t: t.Constant(5, shape=[2]),
    "filled, shape a number": lambda t: t.Constant(5, shape=2),
    "one element is a scalar": lambda t: t.Constant(5, shape=[1]),
    "scalar shape": lambda t: t.Constant(5, shape=[]),
    "two dimensions": lambda t: t.Constant(5, shape=(1, 1)),
    "placed": lambda t: t.Constant(5, device="cpu"),
    "placed float": lambda t: t.Constant(5.5, device="cpu"),
    "placed bool": lambda t: t.Constant(True, device="cpu"),
    "placed as float": lambda t: t.Constant(5, dtype=t.FLOAT, device="cpu"),
    "placed, rounded": lambda t: t.Constant(5.7, dtype=t.INT32, device="cpu"),
    "large": lambda t: t.Constant(2**40, dtype=t.INT64, device="cpu"),
    "empty layout": lambda t: t.Constant(2, layout=""),
    "reshaped": lambda t: t.Constant([1, 2, 3, 4], shape=[2, 2], layout="HW"),
    "reshaped array": lambda t: t.Constant(np.arange(4), shape=[2, 2]),
    "array with layout": lambda t: t.Constant(np.array([[1.0]]), layout="HW"),
    "nothing": lambda t: t.Constant([]),
    "empty array": lambda t: t.Constant(np.zeros((0, 3), np.int32)),
    "scalar array": lambda t: t.Constant(np.array(5)),
    "numpy number": lambda t: t.Constant(np.float32(2)),
    "named": lambda t: t.Constant(5, name="five"),
    "bare number": lambda t: t.Constant(7),
    "too large for its type": lambda t: t.Constant(2**40),
}


def outcome(engine: Any, make: Any) -> tuple[str, str, list[Any]]:
    pipeline = engine.Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(make(engine.types))
    pipeline.build()
    (output,) = pipeline.run()
    return output.dtype.name, output.layout(), [np.array(output.at(index)).tolist() for index in range(2)]


@with_each("form", FORMS)
def test_constant_as_an_output(form: str) -> None:
    assert outcome(dali_lab, FORMS[form]) == outcome(dali, FORMS[form])


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda t: t.Constant(np.array([2**40])), OverflowError),
        (lambda t: t.Constant(np.array([2**40], np.uint64)), OverflowError),
        (lambda t: t.Constant("x"), TypeError),
        (lambda t: t.Constant(["x"]), TypeError),
        (lambda t: t.Constant(None), TypeError),
        (lambda t: t.Constant(np.array(["x"])), TypeError),
        (lambda t: t.Constant(1 + 2j), TypeError),
        (lambda t: t.Constant([1, 2, 3], shape=[2]), RuntimeError),
        (lambda t: t.Constant([1, 2], layout="HW"), RuntimeError),
    ],
)
def test_what_is_no_constant(make: Any, kind: type[Exception]) -> None:
    for engine in (dali, dali_lab):
        with pytest.raises(kind):
            outcome(engine, make)


def test_enums_travel_as_integers() -> None:
    types = dali_lab.types
    for value, number, dtype in (
        (types.RGB, 0, "IMAGE_TYPE"),
        (types.INTERP_CUBIC, 2, "INTERP_TYPE"),
        ([types.UINT8, types.FLOAT], [0, 9], "DATA_TYPE"),
    ):
        name, _, samples = outcome(dali_lab, lambda t, value=value: t.Constant(value))
        assert (name, samples[0]) == (dtype, number)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (["a", "b"], TypeError, "a constant holds numbers, not str"),
        ([1, None], TypeError, "a constant holds numbers, not int"),
        ([0, -(2**40)], OverflowError, "the integer -1099511627776 does not fit int32"),
        ([0, 2**40], OverflowError, "the integer 1099511627776 does not fit int32"),
        (np.array([0, 2**40], np.uint64), OverflowError, "the integer 1099511627776 does not fit uint32"),
    ],
)
def test_what_cannot_be_held_is_named(value: Any, kind: type[Exception], words: str) -> None:
    with dali_lab.Pipeline(1, 1, None), pytest.raises(kind, match=f"^{words}$"):
        dali_lab.types.Constant(value, device="cpu")


@pytest.mark.parametrize(
    ("operand", "words"),
    [
        ("a", "an operand must be a DataNode or a number, got str"),
        (lambda node: (node, node), "got tuple; is it the result of an operator with several outputs?"),
    ],
)
def test_what_is_no_operand_is_named(operand: Any, words: str) -> None:
    with dali_lab.Pipeline(1, 1, None):
        node = dali_lab.fn.external_source(name="x")
        with pytest.raises(TypeError) as caught:
            dali_lab.math.max(node, operand(node) if callable(operand) else operand)
    assert words in str(caught.value)
