"""Ctrl-C while a command starts: status 130, and no traceback."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_python

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


def _is_interrupted(module: str, folder: Path, *command: str | Path) -> None:
    """A command with empty caches is interrupted where it imports a module, and ends without a traceback."""
    caches = {"NUMBA_CACHE_DIR": str(folder / "kernels"), "XDG_CACHE_HOME": str(folder)}
    done = run_python("-c", _PROGRAM, module, *command, status=130, **caches)
    assert not done.stderr.strip()


@pytest.mark.parametrize(
    "module", ["argparse", "dali_lab.cli.entry", "numpy", "dali_lab.executor.engine", "numba", "numba.np.linalg"]
)
def test_a_run_that_is_interrupted(module: str, graph: Path, tmp_path: Path) -> None:
    """The last of these is imported by the thread that compiles a kernel."""
    _is_interrupted(module, tmp_path, "run", graph)


@pytest.mark.parametrize("module", ["dali_lab.studio.session", "tornado.web"])
def test_an_app_that_is_interrupted(module: str, tmp_path: Path) -> None:
    _is_interrupted(module, tmp_path, "app", "--no-browser")


def test_a_program_takes_care_of_its_own_interruption(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, os, signal\n"
        "atexit.register(print, 'at the end')\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    print('went on')\n"
        "except KeyboardInterrupt:\n    print('put away')\n"
        "os.kill(os.getpid(), signal.SIGINT)\nprint('went on')\n"
    )
    done = run_python("-m", "dali_lab", "run", program, status=130)
    assert (done.stdout.split("\n"), done.stderr.strip()) == (["put away", "at the end", ""], "")
