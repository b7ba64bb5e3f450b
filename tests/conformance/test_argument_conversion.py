"""Constants of another type than the declared one are converted, or refused, as NVIDIA DALI does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.schema.cases import Case
from tests.conformance.harness import compare, run

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

DATA = [np.arange(24, dtype=np.float32).reshape(2, 3, 4)] * 2
SIGNAL = [np.arange(9, dtype=np.float32)] * 2
NUMBERS = ["1", " 1 ", b"1", 1, 1.7, -0.5, True, np.int8(1), np.float16(1.5), np.array(1.5), np.array([1]), 1e-3]


@pytest.mark.parametrize("value", [*NUMBERS, ["1"], [1.9], (0, 2.2)], ids=repr)
def test_integers(value: Any) -> None:
    case = Case((DATA,), {"axes": value})
    compare(run(dali_lab, "expand_dims", case), run(dali, "expand_dims", case), case)


@pytest.mark.parametrize("value", [*NUMBERS, "1.5", "-1e-2"], ids=repr)
def test_floats(value: Any) -> None:
    case = Case((SIGNAL,), {"preemph_coeff": value}, tolerance=1e-6)
    compare(run(dali_lab, "preemphasis_filter", case), run(dali, "preemphasis_filter", case), case)


@pytest.mark.parametrize("value", [0, 1, 2.5, 0.0, np.bool_(True), np.float32(0), float("nan")], ids=repr)
def test_bools(value: Any) -> None:
    case = Case((DATA,), {"axes": 0, "keep_dims": value})
    compare(run(dali_lab, "reductions.max", case), run(dali, "reductions.max", case), case)


@pytest.mark.parametrize("value", [9, 9.0, 9.9, np.int64(9)], ids=repr)
def test_types(value: Any) -> None:
    case = Case((DATA,), {"axes": 0, "dtype": value})
    compare(run(dali_lab, "reductions.sum", case), run(dali, "reductions.sum", case), case)


@pytest.mark.parametrize("value", [0, 0.0, 2.7, np.float32(1)], ids=repr)
def test_interpolations(value: Any) -> None:
    case = Case((([np.arange(75, dtype=np.uint8).reshape(5, 5, 3)], "HWC"),), {"size": (3, 8), "interp_type": value})
    compare(run(dali_lab, "resize", case), run(dali, "resize", case), case)


@pytest.mark.parametrize(
    ("operator", "argument", "value"),
    [
        ("preemphasis_filter", "preemph_coeff", [0.5]),
        ("preemphasis_filter", "preemph_coeff", (0.5, 0.5)),
        ("random.uniform", "seed", [3]),
        ("reductions.sum", "dtype", 99),
        ("reductions.sum", "dtype", float("inf")),
        ("expand_dims", "axes", "one"),
        ("expand_dims", "axes", "1.5"),
        ("expand_dims", "axes", float("nan")),
        ("expand_dims", "axes", {1: 2}),
        ("preemphasis_filter", "preemph_coeff", "much"),
        ("random.uniform", "seed", 2**63),
        ("random.uniform", "seed", "x"),
        ("random.uniform", "range", (1, 1)),
        ("random.uniform", "range", (0, float("nan"))),
    ],
)
def test_what_nvidia_dali_refuses(operator: str, argument: str, value: Any) -> None:
    case = Case(() if operator.startswith("random") else (SIGNAL,), {argument: value}, batch_size=2)
    with pytest.raises(Exception):  # noqa: B017  (NVIDIA DALI's kinds differ)
        run(dali, operator, case)
    with pytest.raises(dali_lab.DaliLabError, match=f"fn.{operator}(.|\n)*'{argument}'"):
        run(dali_lab, operator, case)


def test_words_for_bools_are_refused() -> None:
    """NVIDIA DALI takes any word for true, ``"False"`` too."""
    with pytest.raises(dali_lab.DaliLabError, match=r"keep_dims(.|\n)*'False'"):
        run(dali_lab, "reductions.max", Case((DATA,), {"keep_dims": "False"}))
