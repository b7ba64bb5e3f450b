"""The tutorials: the notebooks with the outputs that are kept in them."""

from __future__ import annotations

import json
from pathlib import Path

from generators.files import copy_file, remove_others, write_page


def write(docs: Path) -> None:
    """Copy the notebooks to `tutorials`, and write their list."""
    folder = docs / "tutorials"
    notebooks = sorted((docs.parent / "notebooks").glob("*.ipynb"))
    for notebook in notebooks:
        copy_file(notebook, folder / notebook.name)
    lines = [
        "# Tutorials",
        "",
        "Notebooks to read here, in this order or each for itself, and to run: they are in the folder `notebooks` of "
        "the project.",
        "",
    ]
    for number, notebook in enumerate(notebooks, 1):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        text = "".join(cells[0]["source"])
        title, _, rest = text.removeprefix("# ").partition("\n")
        about = rest.strip().partition("\n\n")[0]
        lines += [f"[{number}. {title}]({notebook.name})", f": {' '.join(about.split())}", ""]
    names = "\n".join(notebook.stem for notebook in notebooks)
    write_page(folder / "index.md", "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")
    remove_others(folder, {"index.md", *(notebook.name for notebook in notebooks)})
