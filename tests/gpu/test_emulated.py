"""Every case of every operator that runs on a GPU gives on the emulated device what it gives on the CPU."""

from __future__ import annotations

import shutil

import pytest

from dali_lab.schema import Case
from tests.conformance.harness import compare
from tests.gpu.cases import cases, run

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


@pytest.mark.parametrize(("name", "case"), [pytest.param(name, case, id=label) for name, label, case in cases()])
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    operator = __import__("dali_lab.schema", fromlist=["all_operators"]).all_operators()[name]
    tolerance, reason = operator.gpu_tolerance
    assert tolerance == 0 or reason, "a tolerance needs a reason"
    compare(run(name, case, "emulated", "gpu"), run(name, case, "never", "cpu"), Case(tolerance=tolerance))
