"""The notebooks run from top to bottom on the CPU, in kernels as those of JupyterLab."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.execution import NOTEBOOKS, ROOT, execute

HERE = [path for path in NOTEBOOKS if "dali_lab.plugin.ray" not in path.read_text(encoding="utf-8")]
"""All but the one about clusters, which runs in tests/frameworks/ray."""


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    execute(nbformat.read(path, as_version=4), tmp_path)
