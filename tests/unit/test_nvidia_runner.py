"""The runner of NVIDIA DALI's own tests, on a small checkout made here."""

import json
from pathlib import Path

import pytest

from tests.nvidia import table
from tests.nvidia.child import spread
from tests.programs import run_python

FILE = """
import ctypes
import unittest

from nvidia.dali import fn, pipeline_def, types


def generated():
    for value in range(3):
        yield check, value


def check(value):
    assert value != 1


test_generated = generated


def test_with_parameters(value):
    assert value < 3


test_with_parameters.paramList = (1, 2, 3)


class TestClass(unittest.TestCase):
    def test_runs(self):
        @pipeline_def(batch_size=1, num_threads=1, device_id=0)
        def pipe():
            return types.Constant(3, dtype=types.INT32)

        (out,) = pipe().run()
        assert out.as_array().tolist() == [3]

    def test_skipped(self):
        raise unittest.SkipTest("no reason")


def test_wording():
    raise AssertionError('"theirs" does not match "ours"')


def test_crash():
    ctypes.string_at(0)


def test_afterwards():
    pass
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout" / "dali/test/python"
    folder.mkdir(parents=True)
    (folder / "test_small.py").write_text(FILE)
    return tmp_path


def test_every_kind_of_case_runs_in_both_engines_and_a_crash_costs_one_case(checkout: Path) -> None:
    pytest.importorskip("nvidia.dali")
    arguments = ["-m", "tests.nvidia", checkout / "checkout", "--out", checkout / "out", "--table", checkout / "t.md"]
    run_python(*arguments, "--limit", "200")
    known = json.loads((checkout / "out" / "test_small.py.json").read_text())
    status = {name: result["status"] for name, result in known["nvidia"].items()}
    assert status == {
        "import": "passed",
        "test_generated:1": "passed",
        "test_generated:2": "failed",
        "test_generated:3": "passed",
        "test_with_parameters:1": "passed",
        "test_with_parameters:2": "passed",
        "test_with_parameters:3": "failed",
        "TestClass.test_runs": "passed",
        "TestClass.test_skipped": "skipped",
        "test_wording": "wording",
        "test_crash": "failed",
        "test_afterwards": "passed",
    }
    counts = table.counted(known)
    assert counts["applicable"] == counts["passed"] == 6
    assert "6 of 6 applicable cases pass (100.0 %)" in (checkout / "t.md").read_text()


@pytest.mark.parametrize(("count", "most", "chosen"), [(3, 5, [0, 1, 2]), (9, 3, [0, 4, 8]), (4, 0, [0, 1, 2, 3])])
def test_cases_are_spread_evenly(count: int, most: int, chosen: list[int]) -> None:
    assert spread(count, most) == chosen


def test_a_failure_here_is_listed_with_its_reason(tmp_path: Path) -> None:
    known = {
        "nvidia": {"import": {"status": "passed", "error": ""}, "test_a": {"status": "passed", "error": ""}},
        "dali_lab": {"import": {"status": "passed", "error": ""}, "test_a": {"status": "failed", "error": "No: it"}},
    }
    (tmp_path / "folder--test_x.py.json").write_text(json.dumps(known))
    table.write(tmp_path / "t.md", tmp_path)
    text = (tmp_path / "t.md").read_text()
    assert "| folder/test_x.py | 1 | 0 | 0 | 1 |" in text
    assert "| folder/test_x.py | test_a | No: it |" in text


def test_the_runner_says_how_it_is_called() -> None:
    assert "dali/test/python" in run_python("-m", "tests.nvidia", "--help").stdout
