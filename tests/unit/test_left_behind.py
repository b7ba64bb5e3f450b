"""A file of tests that leaves the process in another state fails, so that tests may run in any order."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.programs import run_python

_CAREFUL = """
def test_restores(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DALI_LAB_OF_TEST", "1")
"""
_CARELESS = """
import asyncio
import os
import signal
import sys

from dali_lab import Pipeline, compat


def test_leaves():
    os.chdir("tests")
    os.environ["DALI_LAB_OF_TEST"] = "1"
    signal.signal(signal.SIGTERM, lambda *_: None)
    sys.path.insert(0, "elsewhere")
    compat.install()
    asyncio._set_running_loop(asyncio.new_event_loop())
    Pipeline(1, 1, None).__enter__()


def test_that_comes_later_passes():
    pass
"""


def test_what_a_file_leaves_behind_is_named(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_careful.py").write_text(_CAREFUL)
    (tmp_path / "tests" / "test_careless.py").write_text(_CARELESS)
    (tmp_path / "tests" / "test_later.py").write_text(_CAREFUL)
    done = run_python("-m", "pytest", "-p", "no:xdist", "-q", "tests", status=1, cwd=tmp_path)
    assert "4 passed, 1 error" in done.stdout
    left = done.stdout.partition("test_careless.py do not restore: ")[2].splitlines()[0]
    assert sorted(left.split(", ")) == sorted(
        [
            "$DALI_LAB_OF_TEST",
            "$DALI_LAB_PYTHON",
            "$PATH",
            "the handler of SIGTERM",
            "the working directory",
            "sys.path",
            "sys.meta_path",
            "the running event loop",
            "the current pipeline",
        ]
    )
