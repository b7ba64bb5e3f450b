"""The editor in a cell of Notebook 7, which is another application than JupyterLab over the same parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.frameworks.browser.conftest import Tab
from tests.frameworks.browser.lab import serving
from tests.frameworks.browser.notebooks import (
    ASK,
    DEFINE,
    duplicate_the_resize,
    run_cell,
    wait_for_kernel,
    write_notebook,
)

PREVIEW = 'preview = dali_lab.preview(pipe, node="resize")\npreview'
NOT_OURS = "reading 'schema'"
"""An error that Notebook 7.6 reports on every page, also without this extension."""


def test_what_is_edited_in_a_cell_is_in_the_next(tmp_path: Path, browser: Any) -> None:
    with serving(tmp_path, "notebook") as notebook:
        write_notebook(notebook.folder / "story.ipynb", [DEFINE, ASK, PREVIEW])
        context = browser.new_context(viewport={"width": 1500, "height": 1400})
        tab = Tab(context.new_page())
        tab.page.goto(f"{notebook.address}/notebooks/story.ipynb")
        wait_for_kernel(tab)
        run_cell(tab, 0).locator('[data-testid="dali-editor"][data-ready="true"]').wait_for()
        tab.page.wait_for_selector('img[data-node="resize"]')
        tab.idle()
        duplicate_the_resize(tab)
        run_cell(tab, 1).locator("text=resize_2").wait_for()

        # Arrow keys move the slider of a preview, and choose no other cell.
        handle = run_cell(tab, 2).locator(".noUi-handle")
        handle.focus()
        for key, batch in (("ArrowRight", "2"), ("ArrowUp", "3"), ("ArrowLeft", "2")):
            tab.page.keyboard.press(key)
            tab.wait(lambda: handle.get_attribute("aria-valuetext") == batch, "the slider does not hear its keys")  # noqa: B023
        tab.page.locator(".jp-Cell").nth(2).and_(tab.page.locator(".jp-mod-active")).wait_for()
        context.close()
    assert not [problem for problem in tab.problems if NOT_OURS not in problem and "favicon" not in problem]
    assert tab.hosts <= {"127.0.0.1"}
