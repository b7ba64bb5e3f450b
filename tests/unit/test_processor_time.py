"""A test that takes too much processor time fails, so that the suite does not become slow unnoticed."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.programs import run_python

_TESTS = """
import subprocess
import sys
import time

import tests.conftest

tests.conftest.PROCESSOR_SECONDS = 0.2


def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_waits():
    time.sleep(0.4)


def test_computes():
    spend(0.4)


def test_has_others_compute():
    program = "import time\\nwhile time.process_time() < 0.4: pass"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_fails_anyway():
    spend(0.4)
    assert 1 == 2
"""


def test_too_much_processor_time_fails_and_waiting_does_not(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_time.py").write_text(_TESTS)
    done = run_python("-m", "pytest", "-p", "no:xdist", "-q", "tests", status=1, cwd=tmp_path)
    assert "3 failed, 1 passed" in done.stdout
    assert done.stdout.count("0.2 s is the most") >= 2
    assert "assert 1 == 2" in done.stdout
