"""The editor, batches and previews in a notebook: what is changed in one cell is in the pipeline in the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Tab
from tests.browser.lab import Lab, serving
from tests.browser.notebooks import ASK, DEFINE, duplicate_the_resize, run_cell, wait_for_kernel, write_notebook

CELLS = [
    DEFINE,
    ASK,
    "images, labels = pictures().run()\ndali_lab.show(images, labels=labels)",
    'dali_lab.preview(pictures(), node="decode", samples=2)',
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving(tmp_path_factory.mktemp("notebook")) as found:
        yield found


@pytest.fixture
def tab(lab: Lab, browser: Any) -> Iterator[Tab]:
    write_notebook(lab.folder / "story.ipynb", CELLS)
    context = browser.new_context(viewport={"width": 1500, "height": 1400})
    context.set_default_timeout(60_000)
    found = lab.open(context, "story.ipynb", workspace="story")
    yield found
    context.close()
    assert not [problem for problem in found.problems if "favicon" not in problem]
    assert found.hosts <= {"127.0.0.1"}


def test_editor_batches_and_previews_in_cells(tab: Tab, lab: Lab) -> None:
    wait_for_kernel(tab)
    shown = run_cell(tab, 0)
    shown.locator('[data-testid="dali-editor"][data-ready="true"]').wait_for(timeout=60_000)
    tab.page.wait_for_selector('img[data-node="resize"]', timeout=60_000)
    tab.idle()

    # What is changed in the editor is in the next cell.
    duplicate_the_resize(tab)
    text = run_cell(tab, 1)
    text.locator("text=resize_2").wait_for()
    assert "size" in text.inner_text()

    pictures = run_cell(tab, 2)
    pictures.locator("img").nth(3).wait_for(timeout=60_000)
    preview = run_cell(tab, 3)
    preview.locator("img").nth(1).wait_for(timeout=60_000)
    assert preview.locator(".noUi-handle, input[type=range]").count() >= 1

    # The saved notebook has a picture of the graph for where no kernel runs.
    tab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    story = lambda: json.loads((lab.folder / "story.ipynb").read_text())  # noqa: E731
    saved = tab.wait(lambda: (found := story())["cells"][0]["outputs"] and found, "it was not saved")
    data = saved["cells"][0]["outputs"][0]["data"]
    assert "<svg" in "".join(data["image/svg+xml"])
    assert "application/vnd.jupyter.widget-view+json" in data

    # One that is not trusted shows the picture too.
    saved["metadata"]["kernelspec"] = {"name": "gone", "display_name": "Gone", "language": "python"}
    (lab.folder / "gone.ipynb").write_text(json.dumps(saved))
    opened = lab.open(tab.page.context, "gone.ipynb", workspace="gone")
    opened.page.wait_for_function(
        """() => document.querySelector('.jp-OutputArea-output img[alt="The graph"]')?.naturalWidth > 100"""
    )
