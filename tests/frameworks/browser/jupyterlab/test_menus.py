"""JupyterLab around the canvas: launcher, menus, settings, themes, the file browser, side panels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.frameworks.browser.jupyterlab.document import EDITOR, Document, picture_text, small_text
from tests.frameworks.browser.lab import Lab
from tests.frameworks.browser.notebooks import run_cell, wait_for_kernel


def test_launcher_new_graph_and_a_folder_that_makes_a_reader(shown: Document) -> None:
    shown.command("launcher:create")
    shown.page.locator(".jp-LauncherCard:visible", has_text="DALI Pipeline").first.click()
    shown.ready()
    shown.find('[data-testid="empty-canvas"]').wait_for()
    name = shown.ask("(widget) => widget.context.path")
    assert json.loads(shown.text(name))["nodes"] == {}, "it is a graph before it is saved"
    # The list has the new file by now: it does not move any more under the pointer.
    shown.page.locator(f'.jp-DirListing-item:has-text("{name}")').first.wait_for()
    shown.page.locator('.jp-DirListing-item:has-text("pictures")').first.hover()
    canvas = shown.find(".dali-document-canvas").bounding_box()
    shown.page.mouse.down()
    shown.page.mouse.move(canvas["x"] + 300, canvas["y"] + 200, steps=8)
    shown.page.mouse.move(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2, steps=5)
    shown.page.mouse.up()
    shown.wait(lambda: shown.node("reader").count() == 1, "there is no reader")
    shown.find('img[data-node="reader"]').first.wait_for()
    shown.wait(shown.dirty, "the new file is not marked")
    shown.command("docmanager:save")
    assert json.loads(shown.text(name))["nodes"]["reader"]["arguments"]["file_root"] == "pictures"

    # "New graph" in the editor is a new file: what is on this canvas stays.
    shown.ask("(widget) => void widget.content.handle.execCommand('new')")
    shown.wait(lambda: shown.ask("(widget) => widget.context?.path") not in (None, name), "no new file was opened")
    shown.ready()
    assert json.loads(shown.text(name))["nodes"]["reader"]

    # A program opens as its graph, in a file beside it; of two pipelines the keyboard chooses one.
    (shown.lab.folder / "program.py").write_text(
        "from dali_lab import fn, pipeline_def\n\n\n@pipeline_def(batch_size=4)\ndef train():\n"
        "    encoded, _ = fn.readers.file(file_root='pictures', name='files')\n    return fn.decoders.image(encoded)\n"
        "\n\n@pipeline_def(batch_size=4)\ndef other():\n    return fn.random.uniform()\n"
    )
    shown.command("filebrowser:refresh")
    shown.page.locator('.jp-DirListing-item:has-text("program.py")').first.click(button="right")
    shown.page.get_by_role("menuitem", name="Open as DALI Pipeline").click()
    shown.find('[data-pipeline="train"]:focus').wait_for()
    shown.page.keyboard.press("Enter")
    shown.wait(lambda: shown.node("files").count() == 1, "the program does not open")
    shown.find('img[data-node="files"]').first.wait_for()
    assert shown.ask("(widget) => widget.context.path") == "program.dali.json"

    # One that is no Python leaves no file, and a message names the line.
    (shown.lab.folder / "no_python.py").write_text("import dali_lab\n\ndef (:\n")
    shown.command("dali-lab:open-program", path="no_python.py")
    shown.page.locator(".Toastify__toast").filter(has_text="no_python.py").filter(has_text="line 3").wait_for()
    assert not (shown.lab.folder / "no_python.dali.json").exists()


@pytest.fixture
def settings(shown: Document) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Writes the settings of pipelines and loads the page anew; in the end they are as they were."""

    def write(values: dict[str, Any]) -> None:
        sent = shown.page.evaluate(
            """async ([url, body]) => {
              const token = document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? '';
              return (await fetch(url, { method: 'PUT', body, headers: { 'X-XSRFToken': token } })).status;
            }""",
            [f"{shown.lab.address}/lab/api/settings/dali-lab:plugin", json.dumps({"raw": json.dumps(values)})],
        )
        assert sent == 204
        shown.page.goto(f"{shown.lab.address}/lab/workspaces/tests?reset")
        shown.page.wait_for_selector("#jp-MainLogo")

    yield write
    write({})


def in_front(lab: Lab) -> list[str]:
    """The document that each saved workspace shows in front; those that are being written are left out."""
    found = []
    for file in (lab.place / "workspaces").glob("*"):
        with suppress(ValueError):
            layout = json.loads(file.read_text())["data"].get("layout-restorer:data", {})
            found.append(layout.get("main", {}).get("current", ""))
    return found


def test_menus_settings_themes_and_the_notebook(shown: Document, settings: Callable[[dict[str, Any]], None]) -> None:
    settings({"palette": False, "samples": 2})
    shown.open("note.dali.json", picture_text())
    assert shown.find('[data-testid="palette"]').count() == 0, "the settings say that it is hidden"
    shown.wait(lambda: shown.find('img[data-node="decode"]').count() == 2, "the settings say two samples")
    shown.menu("Pipeline", "Palette")
    shown.find('[data-testid="palette"]').wait_for()

    # Changed settings apply to open documents, too.
    shown.command("settingeditor:open", query="DALI pipelines")
    samples = shown.page.locator('input[id$="dali-lab:plugin_samples"]')
    samples.fill("3")
    samples.blur()
    shown.command("docmanager:open", path="note.dali.json")
    shown.wait(lambda: shown.find('img[data-node="decode"]').count() == 3, "the settings have no effect")

    shown.command("apputils:change-theme", theme="JupyterLab Dark")
    shown.find(f'{EDITOR}[data-theme="dark"]').wait_for()
    shown.command("apputils:change-theme", theme="JupyterLab Light")
    shown.find(f'{EDITOR}[data-theme="light"]').wait_for()

    # The menu of a file in the browser has both; the layout comes back after a reload.
    item = shown.page.locator('.jp-DirListing-item:has-text("note.dali.json")').first
    item.click(button="right")
    labels = shown.page.locator(".lm-Menu .lm-Menu-itemLabel")
    both = {"Open in Notebook", "Copy as Python"}
    shown.wait(lambda: both <= set(labels.all_inner_texts()), "the menu of a file lacks something")
    shown.page.keyboard.press("Escape")
    shown.wait(lambda: "dali-lab:note.dali.json" in in_front(shown.lab), "the workspace was not saved")
    shown.page.goto(f"{shown.lab.address}/lab/workspaces/tests")
    shown.page.wait_for_selector("#jp-MainLogo")
    shown.wait(lambda: shown.ask("(widget) => widget?.context?.path") == "note.dali.json", "it does not come back")
    shown.ready()

    item.click(button="right")
    shown.page.locator('.lm-Menu-itemLabel:text-is("Open in Notebook")').click()
    cell = shown.page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
    shown.wait(lambda: cell.count() and "dali_lab.edit" in cell.inner_text(), "no cell loads the graph")
    assert '"note.dali.json"' in cell.inner_text()
    # It runs in the document's kernel, where both have their widgets.
    wait_for_kernel(shown.tab)
    run_cell(shown.tab, 0).locator('img[data-node="decode"]').first.wait_for()


def test_side_panels_give_way_beside_the_text(shown: Document) -> None:
    shown.open("narrow.dali.json", small_text())
    palette, inspector = shown.find('[data-testid="palette"]'), shown.find('[data-testid="inspector"]')
    palette.wait_for()
    inspector.wait_for()
    shown.command("dali-lab:open-text")
    palette.wait_for(state="detached")
    shown.wait(lambda: shown.find(".react-flow").first.bounding_box()["width"] > 300, "there is no room for the canvas")
    # A graph that was shown whole stays so in less room.
    shown.wait(lambda: inside(shown.node("value"), shown.find(".react-flow").first), "the graph is out of sight")
    # A panel opened in spite of that is shown; once there is room the others come back.
    shown.choose("value")
    shown.page.keyboard.press("Enter")
    inspector.wait_for()
    shown.page.evaluate(
        """() => [...window.jupyterapp.shell.widgets('main')]
          .find(({ node }) => node.querySelector('.jp-FileEditor')).dispose()"""
    )
    palette.wait_for()


def inside(part: Any, whole: Any) -> bool:
    """Whether an element is seen wholly in another."""
    a, b = part.bounding_box(), whole.bounding_box()
    across = b["x"] <= a["x"] and a["x"] + a["width"] <= b["x"] + b["width"]
    return bool(across and b["y"] <= a["y"] and a["y"] + a["height"] <= b["y"] + b["height"])
