"""The notebooks run from top to bottom on the CPU."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    source = path.read_text(encoding="utf-8")
    for word, package in (("torch", "torch"), ("sklearn", "sklearn"), ("dali_lab.plugin.ray", "ray")):
        if word in source:
            pytest.importorskip(package)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook,
        # Only a failure takes so long: a kernel that meets an operator for the first time compiles it.
        timeout=300,
        startup_timeout=180,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()


def test_outputs_are_not_kept() -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") for cell in cells), path.name
