"""Executes the notebooks that have changed, or those named, and writes them with their outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat

from tests.notebooks.execution import NOTEBOOKS, digest_of_cells, keep_outputs

if __name__ == "__main__":
    named = [Path(name) for name in sys.argv[1:]]
    for path in named or NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        if named or notebook.metadata.get("dali_lab", {}).get("cells") != digest_of_cells(notebook):
            keep_outputs(path)
