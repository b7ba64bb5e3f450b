"""Executes notebooks, and keeps their outputs as small as they can be: ``python -m tests.notebooks``."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PHOTOGRAPH_BYTES = 60_000
"""A picture with more than that is kept as JPEG."""
_PICTURE = re.compile("(data:image/svg[+]xml;base64,)([A-Za-z0-9+/=]+)")
_OF_A_SESSION = ("application/vnd.jupyter.widget-view+json", "application/vnd.dali-lab.editor+json")
"""Data that mean something only as long as the kernel runs."""


def execute(notebook: Any, folder: Path) -> None:
    """Run all cells in a folder. Only a failure takes long: a kernel may have to compile what it has never used."""
    import nbclient

    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=180,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
    )
    client.execute()


def digest_of_cells(notebook: Mapping[str, Any]) -> str:
    """A digest of what its cells say, by which outputs are known to be those of today's cells."""
    texts = ["".join(cell["source"]) for cell in notebook["cells"]]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def keep_outputs(path: Path) -> None:
    """Execute a notebook and write it with its outputs, without times, paths of this machine and running widgets."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
        places = {folder: ".", f"{ROOT}{os.sep}": "", str(Path.home()): "~"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]  # logs of libraries
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            for kind in _OF_A_SESSION:
                data.pop(kind, None)
            if len(png := data.get("image/png", "")) > PHOTOGRAPH_BYTES:
                del data["image/png"]
                data["image/jpeg"] = _jpeg(png)
            for kind, text in data.items():
                if isinstance(text, str) and not kind.startswith("image/jp"):
                    data[kind] = _replaced(text, places)
            if "text" in output:
                output["text"] = _replaced(output["text"], places)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["dali_lab"] = {"cells": digest_of_cells(notebook)}
    nbformat.write(notebook, path)


def _replaced(text: str, places: dict[str, str]) -> str:
    for place, shown in places.items():
        text = text.replace(place, shown)
    return _PICTURE.sub(lambda found: found[1] + _encoded(_replaced(_decoded(found[2]), places)), text)


def _decoded(picture: str) -> str:
    return base64.b64decode(picture).decode()


def _encoded(picture: str) -> str:
    return base64.b64encode(picture.encode()).decode()


def _jpeg(png: str) -> str:
    written = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").save(written, "JPEG", quality=85, optimize=True)
    return base64.b64encode(written.getvalue()).decode("ascii")
