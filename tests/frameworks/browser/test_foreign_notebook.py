"""A notebook from elsewhere: opened in JupyterLab it shows pictures, and runs nothing in the page or the kernel."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from dali_lab.studio.document.graph_document import empty_document, written
from dali_lab.studio.hosts.showing import KEPT
from tests.frameworks.browser.lab import Lab
from tests.frameworks.browser.notebooks import run_cell, wait_for_kernel, write_notebook

WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
ATTACK = (
    "(() => { window.attacked = (window.attacked ?? []).concat('%s');"
    " window.jupyterapp?.commands.execute('notebook:run-all-cells'); })()"
)
"""What each part of the notebook tries: it leaves its name in the page, and has the cells run."""
EXPLAIN = """
import sys
names = [name for name in sys.modules if name.partition(".")[0] in ("dali_lab", "foreign_functions")]
print("modules:", names)
"""


def drawing(name: str) -> str:
    """A picture that tries to run scripts."""
    attack = ATTACK % name
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60" onload="{attack}"><script>{attack}</script>'
        f'<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="{attack}"/></foreignObject></svg>'
    )


def page(name: str) -> str:
    """HTML that tries to run scripts."""
    attack = ATTACK % name
    picture = base64.b64encode(drawing(f"{name}: image").encode()).decode()
    return (
        f'<script>{attack}</script><img src="x" onerror="{attack}"><iframe srcdoc="<script>parent.{attack}</script>">'
        f'</iframe><details open ontoggle="{attack}">.</details><img src="data:image/svg+xml;base64,{picture}">'
    )


def script(name: str) -> str:
    """A widget's module."""
    attack = ATTACK % name
    return f"{attack}; export default {{ initialize() {{ {attack} }}, render() {{ {attack} }} }}"


def model(identity: str, picture: str = "") -> dict[str, Any]:
    """The saved state of a widget with a script of the author's own."""
    names = {"_model_module": "anywidget", "_model_name": "AnyModel", "_view_module": "anywidget"}
    versions = {f"_{part}_module_version": "~0.11.*" for part in ("model", "view")}
    state = {**names, **versions, "_view_name": "AnyView", "_esm": script(identity), "_css": "", "_anywidget_id": "x"}
    return {"model_module": "anywidget", "model_module_version": "~0.11.*", "model_name": "AnyModel", "state":
            {**state, "height": 300, "theme": "auto", "picture": picture}}  # fmt: skip


def write_foreign(path: Path) -> None:
    """A notebook with forged outputs and states; its cells were never run here."""
    write_notebook(path, [EXPLAIN, *(["open('ran', 'w')"] * 6)])
    notebook = json.loads(path.read_text())
    outputs: list[dict[str, Any]] = [
        {"text/html": page("html")},
        {"image/svg+xml": drawing("svg")},
        {WIDGET: {"model_id": "a1", "version_major": 2, "version_minor": 1}, "text/html": page("beside")},
        {KEPT: {"model_id": "b2"}, WIDGET: {"model_id": "b2"}, "image/svg+xml": drawing("kept"),
         "text/html": page("kept html")},
        {KEPT: {"model_id": "../../x"}, "text/html": page("preview")},
        {"text/markdown": page("markdown"), "application/javascript": ATTACK % "javascript"},
    ]  # fmt: skip
    for cell, data in zip(notebook["cells"][1:], outputs, strict=True):
        cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    state = {"a1": model("state a1"), "b2": model("state b2", drawing("picture"))}
    notebook["metadata"]["widgets"] = {STATE: {"version_major": 2, "version_minor": 0, "state": state}}
    path.write_text(json.dumps(notebook))


def test_a_foreign_notebook_runs_nothing(jupyterlab: Lab, browser: Any) -> None:
    write_foreign(jupyterlab.folder / "theirs.ipynb")
    mark = jupyterlab.folder / "functions ran"
    (jupyterlab.folder / "foreign_functions.py").write_text(
        f"open({str(mark)!r}, 'w').close()\ndef turn(x):\n    return x\n"
    )
    tab = jupyterlab.open(browser.new_context(), "theirs.ipynb", workspace="theirs")
    wait_for_kernel(tab)
    # Widgets are restored before a kernel that has just started answers; code in them would have run all cells.
    run_cell(tab, 0).get_by_text("modules: []").wait_for()
    assert tab.page.evaluate("window.attacked ?? []") == []
    assert not (jupyterlab.folder / "ran").exists() and not mark.exists()
    tab.page.context.close()


def test_a_foreign_folder_runs_nothing_when_its_graph_is_opened(jupyterlab: Lab, browser: Any) -> None:
    folder = jupyterlab.folder / "graphs"
    folder.mkdir()
    (folder / "theirs.dali.json").write_text(written(empty_document()))
    # They are looked for at once, when pictures are decoded, and where they are installed.
    for module in ("dali_lab", "numpy", "cv2", "imagecodecs", "cupy", "torch"):
        (folder / f"{module}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write({module!r})\n")
    tab = jupyterlab.open(browser.new_context(), "graphs/theirs.dali.json", workspace="graphs")
    tab.page.wait_for_selector('[data-testid="dali-editor"][data-ready="true"]')
    assert not (folder / "ran").exists()
    tab.page.context.close()
