"""Every declared case of every operator gives what NVIDIA DALI gives."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab.schema import Case
from tests.conformance.harness import declared, describe
from tests.conformance.test_operators import OPERATORS, agrees_with_dali
from tests.together import try_all


@pytest.mark.parametrize("name", [name for name in OPERATORS if declared(name) and not OPERATORS[name].beyond_dali])
def test_agrees_with_dali(name: str) -> None:
    """All cases of an operator in one test, which names those that fail."""
    try_all(agrees_with_dali, [(describe(case), {"name": name, "case": case}) for case in declared(name)])


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_normalize_of_large_numbers_that_differ_little(axes: list[int]) -> None:
    """Where rounding of the mean shows; not a case, as sums on a GPU are of float64."""
    large = [(65535 - np.arange(rows * 5) % 97).reshape(rows, 5).astype(np.uint16) for rows in (3, 70, 300)]
    agrees_with_dali("normalize", Case((large,), {"axes": axes}))
