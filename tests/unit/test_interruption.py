"""Ctrl-C while a command starts: status 130, and no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

_PROGRAM = """
import importlib.abc, os, signal, sys

at = sys.argv.pop(1)

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == at:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from dali_lab.cli import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Have child processes hear Ctrl-C also where the tests do not: shells start what runs in the background so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.zeros((4, 4), np.float32))
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 1, "num_threads": 1, "seed": 1},
        "nodes": {"read": {"op": "readers.numpy", "arguments": {"files": [str(tmp_path / "a.npy")]}}},
        "outputs": ["read"],
    }
    path = tmp_path / "arrays.dali.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    "module", ["argparse", "dali_lab.cli.entry", "numpy", "dali_lab.executor.engine", "numba", "numba.np.linalg"]
)
def test_a_run_that_is_interrupted(module: str, graph: Path, tmp_path: Path) -> None:
    """The last of these is imported by the thread that compiles a kernel."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", _PROGRAM, module, "run", str(graph)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "")


@pytest.mark.parametrize("module", ["dali_lab.studio.session", "panel"])
def test_an_app_that_is_interrupted(module: str, tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", _PROGRAM, module, "app", "--no-browser"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "")


def test_a_program_takes_care_of_its_own_interruption(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, os, signal\n"
        "atexit.register(print, 'at the end')\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    print('went on')\n"
        "except KeyboardInterrupt:\n    print('put away')\n"
        "os.kill(os.getpid(), signal.SIGINT)\nprint('went on')\n"
    )
    command = [sys.executable, "-m", "dali_lab", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split("\n"), done.stderr.strip()) == (130, ["put away", "at the end", ""], "")
