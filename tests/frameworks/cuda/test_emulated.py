"""Every case of every operator that runs on a GPU has the same results on the emulated device as on the CPU."""

from __future__ import annotations

import math
import shutil

import pytest

from dali_lab.schema import Case, all_operators
from tests.conformance.harness import compare
from tests.gpu.cases import cases_of, operators, place, run
from tests.together import try_all

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


def agrees_with_the_cpu(name: str, case: Case) -> None:
    operator = all_operators()[name]
    tolerance, reason = operator.gpu_tolerance
    assert tolerance == 0 or reason, "a tolerance needs a reason"
    found, expected = run(name, case, "emulated", place(name)), run(name, case, "never", "cpu")
    for own, other in zip(found, expected, strict=True):
        for left, right in zip(own, other, strict=True):
            # Where floats differ by a little, integers that are rounded from them differ by a step at times.
            step = math.ceil(tolerance) if "INT" in right["dtype"] else tolerance
            compare([[left]], [[right]], Case(tolerance=step, fraction=operator.gpu_share))


@pytest.mark.parametrize("name", operators())
def test_agrees_with_the_cpu(name: str) -> None:
    """All cases of an operator in one test, which names those that fail."""
    try_all(agrees_with_the_cpu, [(label, {"name": name, "case": case}) for label, case in cases_of(name)])
