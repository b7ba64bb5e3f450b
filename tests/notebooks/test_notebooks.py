"""The notebooks have the outputs of their cells. That they run is seen in tests/frameworks/browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.notebooks.execution import NOTEBOOKS, digest_of_cells

WHOLE_SIZE = 4_000_000
"""Most bytes of all notebooks."""


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
