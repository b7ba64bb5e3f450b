"""Operators' declared cases give what NVIDIA DALI gives; every declared error raises with the right words."""

from __future__ import annotations

import os

import pytest

import dali_lab
from dali_lab.schema import all_operators
from tests.conformance.harness import OF_ROOTS, compare, declared, describe, run
from tests.together import try_all, with_each

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

OPERATORS = all_operators()
FIRST = int(os.environ.get("DALI_LAB_CASES", 4))
"""Cases of an operator that are run here, one in a quick round: most others compile a kernel for one more type.

All are run in tests/frameworks/dali.
"""


def agrees_with_dali(name: str, case: dali_lab.schema.Case) -> None:
    assert case.tolerance == 0 or case.reason, "a tolerance needs a reason"
    theirs = run(dali, name, case, batches=case.batches)
    ours = run(dali_lab, name, case, batches=case.batches)
    compare(ours, theirs, case, OF_ROOTS if name == "normalize" else 0.0)


@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if not operator.beyond_dali])
def test_agrees_with_dali(name: str) -> None:
    """Cases of an operator in one test, which names those that fail."""
    cases = declared(name)
    assert cases or OPERATORS[name].tested_elsewhere, "an operator without conformance cases"
    try_all(agrees_with_dali, [(describe(case), {"name": name, "case": case}) for case in cases[:FIRST]])


@with_each(("name", "case"), [(name, case) for name, each in OPERATORS.items() for case in each.error_cases()])
def test_error_names_the_culprit(name: str, case: dali_lab.schema.ErrorCase) -> None:
    with pytest.raises((dali_lab.DaliLabError, TypeError)) as caught:
        run(dali_lab, name, case)
    message = str(caught.value)
    for word in (name, *case.words):
        assert word in message


def test_cases_do_not_depend_on_chunks_or_threads() -> None:
    """One case of each operator gives the same result on one thread and on four."""
    for name in OPERATORS:
        for case in declared(name)[:1]:
            one = run(dali_lab, name, case, threads=1, batches=case.batches)
            four = run(dali_lab, name, case, threads=4, batches=case.batches)
            exact = dali_lab.schema.Case(tolerance=0)
            compare(one, four, exact)
