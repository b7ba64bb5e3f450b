"""The notebook about clusters runs from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.programs import run_python

PATH = Path(__file__).parents[3] / "notebooks" / "12-from-one-machine-to-a-cluster.ipynb"


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    cells = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    program = tmp_path / "notebook.py"
    program.write_text("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    run_python(program)
