"""The way through JupyterLab: a file on the canvas, its kernel, its text, its commands, and what goes wrong."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dali_lab.studio.documents import written
from dali_lab.studio.sample_pictures import sample_pictures
from dali_lab.studio.starts import first_pipeline
from tests.browser.conftest import Tab
from tests.browser.lab import Lab, serving

READY = '[data-testid="dali-editor"][data-ready="true"]'


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def open_file(lab: Lab, browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Tab]]:
    """Opens a file in a page of its own; in the end nothing may have gone wrong in it or asked another host."""
    context = browser.new_context(viewport={"width": 1500, "height": 950})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(20_000)
    tabs: list[Tab] = []

    def make(name: str, text: str | None = None, *, ready: bool = True, mode: int = 0o644) -> Tab:
        if text is not None:
            (lab.folder / name).write_text(text)
            (lab.folder / name).chmod(mode)
        tab = lab.open(context, name, workspace=request.node.name)
        tabs.append(tab)
        if ready:
            tab.page.wait_for_selector(READY)
        return tab

    yield make
    context.close()
    for tab in tabs:
        assert not [problem for problem in tab.problems if "favicon" not in problem]
        assert tab.hosts <= {"127.0.0.1"}


def graph_text() -> str:
    return written(first_pipeline(sample_pictures()))


def small_text() -> str:
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 4, "num_threads": 1, "device_id": None, "seed": 7, "prefetch_queue_depth": 2},
        "nodes": {"value": {"op": "random.uniform", "device": "cpu", "inputs": [], "arguments": {}, "connections": {}}},
        "outputs": ["value"],
        "view": {"nodes": {"value": {"x": 0, "y": 0}}, "notes": [], "groups": []},
    }
    return written(document)


def wait_for(tab: Tab, wanted: Callable[[], Any], what: str) -> Any:
    for _ in range(200):
        found = wanted()
        if found:
            return found
        tab.page.wait_for_timeout(50)
    raise AssertionError(what)


def command(tab: Tab, name: str, **arguments: Any) -> None:
    tab.page.evaluate("([name, given]) => window.jupyterapp.commands.execute(name, given)", [name, arguments])


def dirty(tab: Tab) -> bool:
    return bool(tab.page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty"))


def test_file_opens_on_the_canvas_with_pictures_and_is_saved(open_file: Any, lab: Lab) -> None:
    tab = open_file("cats.dali.json", graph_text())
    # A kernel that meets these operators for the first time compiles them.
    tab.page.wait_for_selector('img[data-node="normalize"]', timeout=90_000)
    tab.wait_for_pixels("normalize", bool)
    assert not dirty(tab), "to open a file is no change"
    assert (lab.folder / "cats.dali.json").read_text() == graph_text()
    for name in ("run", "stop", "step", "undo", "fit", "export", "kernelName"):
        assert tab.page.locator(f'.jp-Toolbar [data-jp-item-name="{name}"]').count() == 1, name

    # A change marks the file; undo takes it back; save writes it.
    seed = tab.page.get_by_label("Seed")
    seed.fill("7")
    seed.press("Enter")
    wait_for(tab, lambda: dirty(tab), "the file is not marked")
    tab.page.locator('[data-jp-item-name="undo"] >> visible=true').first.click()
    wait_for(tab, lambda: seed.input_value() == "42", "undo did not bring the seed back")
    seed.fill("9")
    seed.press("Enter")
    tab.page.locator(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    tab.page.keyboard.press("Control+s")
    wait_for(tab, lambda: not dirty(tab), "the file is still marked")
    saved = json.loads((lab.folder / "cats.dali.json").read_text())
    assert saved["pipeline"]["seed"] == 9

    # The next batch shows other pictures.
    tab.idle()
    before = tab.wait_for_pixels("decode", bool)
    tab.page.locator('[data-jp-item-name="step"] >> visible=true').first.click()
    tab.wait_for_pixels("decode", lambda pixels: pixels != before)

    # The program is on the clipboard.
    command(tab, "dali-lab:copy-python")
    text = wait_for(tab, lambda: tab.page.evaluate("navigator.clipboard.readText()"), "nothing was copied")
    assert "pipeline_def" in text and "brightness_contrast" in text


def test_kernel_dies_graph_stays_and_work_goes_on(open_file: Any) -> None:
    tab = open_file("dies.dali.json", small_text())
    tab.idle()
    tab.page.evaluate(
        """async () => {
          const context = window.jupyterapp.shell.currentWidget.context.sessionContext;
          window.kernelOfTest = context.session.kernel;
          context.session.kernel.requestExecute({ code: 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)' });
        }"""
    )
    alert = tab.page.locator('[role="alert"]:has-text("The graph is kept")')
    alert.first.wait_for(timeout=30_000)
    assert tab.node("value").count() == 1
    tab.page.wait_for_selector('[data-testid="dali-editor"][data-connection="connected"]')
    tab.idle()
    assert tab.node("value").get_attribute("data-state") == "ok"


def test_text_that_is_no_graph_says_so_in_place(open_file: Any, lab: Lab) -> None:
    tab = open_file("broken.dali.json", '{"nodes": ', ready=False)
    bar = tab.page.locator('.dali-document-bar[data-bar="text"]')
    bar.wait_for()
    assert "not JSON" in bar.inner_text()
    bar.get_by_role("button", name="Open as text").click()
    tab.page.wait_for_selector(".jp-FileEditor")
    assert (lab.folder / "broken.dali.json").read_text() == '{"nodes": '
    # The text is mended beside it: the canvas appears.
    tab.page.locator(".jp-FileEditor .cm-content").fill(small_text())
    tab.page.wait_for_selector(READY)
    assert tab.node("value").count() == 1


def test_newer_version_is_left_alone(open_file: Any, lab: Lab) -> None:
    text = small_text().replace('"version": 1', '"version": 99')
    tab = open_file("newer.dali.json", text, ready=False)
    bar = tab.page.locator('.dali-document-bar[data-bar="text"]')
    bar.wait_for()
    assert "newer version" in bar.inner_text()
    assert (lab.folder / "newer.dali.json").read_text() == text


def test_file_changed_by_another_program_is_shown_after_revert(open_file: Any, lab: Lab) -> None:
    tab = open_file("other.dali.json", small_text())
    time.sleep(0.05)
    (lab.folder / "other.dali.json").write_text(small_text().replace('"value"', '"renamed"'))
    tab.page.evaluate("window.jupyterapp.shell.currentWidget.context.revert()")
    wait_for(tab, lambda: tab.node("renamed").count() == 1, "the new text is not on the canvas")
    assert not dirty(tab)


def test_launcher_makes_a_pipeline_and_a_folder_makes_a_reader(open_file: Any, lab: Lab) -> None:
    pictures = lab.folder / "pictures"
    if not pictures.exists():
        pictures.symlink_to(sample_pictures(), target_is_directory=True)
    tab = open_file("", ready=False)
    tab.page.locator(".jp-LauncherCard", has_text="DALI Pipeline").click()
    tab.page.wait_for_selector(READY)
    tab.page.wait_for_selector('[data-testid="empty-canvas"]')
    folder = tab.page.locator('.jp-DirListing-item:has-text("pictures")').first.bounding_box()
    canvas = tab.page.locator(".dali-document-canvas").bounding_box()
    tab.page.mouse.move(folder["x"] + 60, folder["y"] + folder["height"] / 2)
    tab.page.mouse.down()
    tab.page.mouse.move(canvas["x"] + 300, canvas["y"] + 200, steps=8)
    tab.page.mouse.move(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2, steps=5)
    tab.page.mouse.up()
    wait_for(tab, lambda: tab.node("reader").count() == 1, "there is no reader")
    tab.wait_for_pixels("reader", bool)
    wait_for(tab, lambda: dirty(tab), "the new file is not marked")
    tab.page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    wait_for(tab, lambda: not dirty(tab), "the new file was not saved")
    saved = json.loads(next(lab.folder.glob("untitled*.dali.json")).read_text())
    assert saved["nodes"]["reader"]["arguments"]["file_root"] == "pictures"


def test_dark_theme_reaches_the_canvas(open_file: Any) -> None:
    tab = open_file("dark.dali.json", small_text())
    command(tab, "apputils:change-theme", theme="JupyterLab Dark")
    tab.page.wait_for_selector('[data-testid="dali-editor"][data-theme="dark"]')
    command(tab, "apputils:change-theme", theme="JupyterLab Light")
    tab.page.wait_for_selector('[data-testid="dali-editor"][data-theme="light"]')


def test_open_in_notebook_and_reload(open_file: Any) -> None:
    tab = open_file("note.dali.json", small_text())
    command(tab, "dali-lab:open-in-notebook")
    cell = tab.page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
    wait_for(tab, lambda: cell.count() and "dali_lab.edit" in cell.inner_text(), "no cell loads the graph")
    assert '"note.dali.json"' in cell.inner_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
def test_read_only_file_cannot_be_changed(open_file: Any) -> None:
    tab = open_file("fixed.dali.json", small_text(), mode=0o444)
    assert tab.page.get_by_label("Seed").is_disabled()
