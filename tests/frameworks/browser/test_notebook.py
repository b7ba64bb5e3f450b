"""The editor, batches and previews in a notebook: a change in one cell is in the pipeline in the next."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dali_lab.studio.bundle import BUNDLE
from dali_lab.studio.hosts.widget import _LOADER
from tests.frameworks.browser.conftest import PATIENCE, Tab
from tests.frameworks.browser.lab import Lab, is_ours
from tests.frameworks.browser.notebooks import (
    ASK,
    DEFINE,
    duplicate_the_resize,
    run_cell,
    wait_for_kernel,
    write_notebook,
)

CELLS = [
    DEFINE,
    ASK,
    "images, labels = pictures().run()\ndali_lab.show(images, labels=labels)",
    'dali_lab.preview(pictures(), node="decode", samples=2)',
]


@pytest.fixture
def tab(jupyterlab: Lab, browser: Any) -> Iterator[Tab]:
    write_notebook(jupyterlab.folder / "story.ipynb", CELLS)
    context = browser.new_context(viewport={"width": 1500, "height": 1400})
    found = jupyterlab.open(context, "story.ipynb", workspace="story")
    yield found
    context.close()
    assert not [problem for problem in found.problems if is_ours(problem)]
    assert found.hosts <= {"127.0.0.1"}


SHOWN_STILL = """() => document.querySelector('.jp-OutputArea-output img[alt="The graph"]')?.naturalWidth > 100"""
TRUST = [sys.executable, "-c", "from nbformat.sign import TrustNotebookApp as App; App.launch_instance()"]
CONVERT = [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout"]


SILENT_WIDGET = """async () => {
  const listeners = new Set();
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60"></svg>';
  const model = {
    get: (name) => ({ height: 300, theme: 'light', picture: svg, _version: '1' })[name],
    on: (name, listener) => { if (name === 'msg:custom') listeners.add(listener); },
    off: (name, listener) => { listeners.delete(listener); },
    send: (content) => { window.asked = content; },
  };
  window.answer = async (content, address) => {
    const buffers = address ? [new DataView(await (await fetch(address)).arrayBuffer())] : [];
    [...listeners].forEach((listener) => listener(content, buffers));
  };
  const { default: { render } } = await import('/loader.js');
  void render({ model, el: document.getElementById('cell') });
}"""
"""The widget as a page shows it that was made of a notebook, with the state of the widget and no kernel."""


def save(tab: Tab, read: Any) -> Any:
    """Save the notebook that is shown; what is in the file then."""
    # One save at a time: those that overtake each other leave a notebook that nobody has signed.
    tab.page.evaluate("window.jupyterapp.commands.execute('docmanager:save').then(() => null)")
    return read()


def drawn(notebook: Any, name: str, picture: str) -> Any:
    """The notebook, if the graph of its first cell has a node of this name, and its last a picture of this address."""
    graph, *_, batch = (
        "".join(text for each in cell["outputs"] for text in pictures(each)) for cell in notebook["cells"]
    )
    return name in graph and picture in batch and notebook


def pictures(output: Any) -> list[str]:
    """The drawing and the HTML of an output."""
    data = output.get("data", {})
    return ["".join(data.get(kind, "")) for kind in ("image/svg+xml", "text/html")]


def test_editor_batches_and_previews_in_cells(tab: Tab, jupyterlab: Lab) -> None:
    lab = jupyterlab
    wait_for_kernel(tab)
    shown = run_cell(tab, 0)
    shown.locator('[data-testid="dali-editor"][data-ready="true"]').wait_for()
    tab.page.wait_for_selector('img[data-node="resize"]')
    tab.idle()

    # An edit on the canvas is in the next cell.
    duplicate_the_resize(tab)
    text = run_cell(tab, 1)
    text.locator("text=resize_2").wait_for()

    pictures = run_cell(tab, 2)
    pictures.locator("img").nth(3).wait_for()
    preview = run_cell(tab, 3)
    preview.locator("img").nth(1).wait_for()
    handle = preview.locator(".noUi-handle")
    first = preview.locator("img").first.get_attribute("src")
    handle.focus()
    tab.page.keyboard.press("ArrowRight")
    second = tab.wait(
        lambda: (now := preview.locator("img").first.get_attribute("src")) != first and now, "it shows no other batch"
    )

    # The saved notebook has a picture of the graph as it is now, for where no kernel runs.
    story = lambda: json.loads((lab.folder / "story.ipynb").read_text())  # noqa: E731
    saved = tab.wait(lambda: drawn(save(tab, story), "resize_2", second), "the last state was not saved")
    assert "application/vnd.jupyter.widget-view+json" in saved["cells"][0]["outputs"][0]["data"]
    still_there = shown.locator('[data-testid="dali-editor"][data-ready="true"]')
    tab.wait(lambda: still_there.count() == 1, "the editor is no longer there")

    # Loaded again beside its kernel, the editor comes back.
    tab.page.reload()
    wait_for_kernel(tab)
    tab.page.locator('[data-testid="dali-editor"][data-ready="true"]').wait_for()

    # Where the kernel is restarted, the editor says what brings it back.
    tab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel().then(() => null)")
    tab.page.get_by_test_id("status").filter(has_text="Run the cell again").wait_for()

    # One that is not trusted shows the picture, and so does one that is.
    saved["metadata"]["kernelspec"] = {"name": "gone", "display_name": "Gone", "language": "python"}
    for trusted in (False, True):
        (lab.folder / "gone.ipynb").write_text(json.dumps(saved))
        if trusted:
            subprocess.run([*TRUST, lab.folder / "gone.ipynb"], check=True, capture_output=True, env=lab.environment)
        opened = lab.open(tab.page.context, "gone.ipynb", workspace=f"gone-{trusted}")
        opened.page.wait_for_function(SHOWN_STILL)
        story_shown = opened.page.locator(".jp-Notebook")
        opened.wait(lambda: "Loading" not in story_shown.inner_text(), "a widget waits for its kernel")  # noqa: B023
        # The preview shows the batch that was chosen last.
        batch = opened.page.locator(".jp-CodeCell").nth(3).locator("img").first
        batch.scroll_into_view_if_needed()
        opened.wait(lambda: batch.get_attribute("src") == second, "the preview shows another batch")  # noqa: B023
        assert opened.hosts <= {"127.0.0.1"}
        opened.page.close()

    # Without the extension, as an HTML page.
    page = subprocess.run([*CONVERT, lab.folder / "gone.ipynb"], check=True, capture_output=True).stdout
    assert b'<img alt="The graph"' in page or b"<svg" in page


def test_a_widget_that_nobody_answers_is_a_picture(browser: Any) -> None:
    page = browser.new_context().new_page()
    page.set_default_timeout(1000 * PATIENCE)
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    scripts = {"http://page.test/editor.js": BUNDLE.read_text(), "http://page.test/loader.js": _LOADER}
    page.route("**/*.js", lambda route: route.fulfill(body=scripts[route.request.url], content_type="text/javascript"))
    page.route(
        "http://page.test/",
        lambda route: route.fulfill(
            body="<div style=display:flex><div id=cell></div><p>Beside</p></div>", content_type="text/html"
        ),
    )
    page.goto("http://page.test/")
    page.evaluate(SILENT_WIDGET)
    page.wait_for_function("document.querySelector('#cell img[alt=\"The graph\"]')?.naturalWidth === 300")
    # The kernel sends the editor; the picture stays until its session answers, too.
    assert page.evaluate("window.asked") == {"editor": "1"}
    page.evaluate("window.answer({ editor: '1' }, '/editor.js')")
    page.locator(".dali-lab-still img").wait_for()
    assert page.locator("#cell").bounding_box()["width"] > 600, "in a row of widgets it takes the room there is"
    page.evaluate("window.answer({ kind: 'event', event: 'nothing', params: {} })")
    page.locator(".dali-lab-still").wait_for(state="detached")
    assert hosts == {"page.test"}
    page.context.close()
