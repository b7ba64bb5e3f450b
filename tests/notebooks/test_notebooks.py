"""The notebooks run from top to bottom on the CPU, and have the outputs of their cells."""

from __future__ import annotations

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.notebooks.execution import NOTEBOOKS, ROOT, digest_of_cells, execute

WHOLE_SIZE = 4_000_000
"""Most bytes of all notebooks."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    source = path.read_text(encoding="utf-8")
    for word, package in (("torch", "torch"), ("sklearn", "sklearn"), ("dali_lab.plugin.ray", "ray")):
        if word in source and find_spec(package) is None:
            pytest.skip(f"needs {package}")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    execute(nbformat.read(path, as_version=4), tmp_path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_cells(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"]["dali_lab"]["cells"] == digest_of_cells(notebook), "run: python -m tests.notebooks"
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert outputs
    assert not any(output["output_type"] == "error" for output in outputs)
    assert not re.search(r"(?<![\w.])/(tmp|home|root|Users)/", json.dumps(outputs))


def test_all_notebooks_together_are_small() -> None:
    assert sum(path.stat().st_size for path in NOTEBOOKS) < WHOLE_SIZE
