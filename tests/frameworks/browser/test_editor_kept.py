"""No work is lost: undo survives a reload, a replaced graph is kept with its undo, and files go on elsewhere."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.folders import listing
from dali_lab.studio.protocol.documents import Listing
from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_editor import on_canvas, select, steady
from tests.frameworks.browser.test_panel_app import node_names

pytestmark = pytest.mark.own_app


def moments(tab: Tab) -> list[list[str]]:
    """Picture and time of each step in the history."""
    tab.page.locator('[data-command="history"]').first.click()
    found: list[list[str]] = (
        tab.dialog("history")
        .locator('[role="option"]')
        .evaluate_all(
            "all => all.map(step => [step.querySelector('img')?.src ?? '', step.querySelector('time')?.textContent])"
        )
    )
    tab.page.keyboard.press("Escape")
    return found


def test_undo_survives_a_reload_and_unsaved_graphs_are_kept(tab: Tab, app: App) -> None:
    page = tab.page
    select(tab, "brightness_contrast")
    page.keyboard.press("Delete")
    steady(tab, lambda: "brightness_contrast" not in node_names(tab), "the node is not deleted")
    tab.idle()
    steps = moments(tab)
    assert len(steps) == 2
    assert all(picture and time for picture, time in steps)
    page.reload()
    tab.ready()
    assert "brightness_contrast" not in node_names(tab)
    assert moments(tab) == steps
    on_canvas(tab)
    page.keyboard.press("Control+z")
    steady(tab, lambda: "brightness_contrast" in node_names(tab), "there is no undo after a reload")
    page.keyboard.press("Control+Shift+z")
    steady(tab, lambda: "brightness_contrast" not in node_names(tab), "there is no redo after a reload")
    tab.idle()
    # Another graph comes; the unsaved one is kept under Open, also after a reload, with its undo.
    page.locator('[data-command="new"]').first.click()
    page.get_by_test_id("empty-canvas").wait_for()
    page.get_by_role("button", name="Back to it").wait_for()
    page.reload()
    page.get_by_test_id("empty-canvas").wait_for()
    page.locator('[data-command="open"]').first.click()
    tab.dialog("open").locator('[data-kept="Photographs"]').click()
    page.locator('[data-node-id="rotate"]').wait_for()
    tab.ready()
    on_canvas(tab)
    page.keyboard.press("Control+z")
    steady(tab, lambda: "brightness_contrast" in node_names(tab), "the kept graph has lost its undo")


def test_a_chosen_folder_beside_the_file_is_saved_by_its_short_path(
    tab: Tab, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(path: Path, kinds: tuple[str, ...]) -> Listing:
        time.sleep(0.3)  # a folder may be chosen before its files are shown
        return listing(path, kinds)

    monkeypatch.setattr("dali_lab.studio.requests.document.listing", slowly)
    page = tab.page
    shutil.copytree(photographs() / "food", tmp_path / "holidays" / "food")
    page.locator('[data-node-id="reader"] [data-argument="file_root"] button').first.click()
    dialog = page.get_by_role("dialog")
    path = dialog.get_by_label("Path of a folder or file")
    tab.wait(lambda: path.input_value() != "", "the folder is not listed")
    path.fill(str(tmp_path / "holidays"))
    path.press("Enter")
    dialog.locator('[data-path$="/food"]').wait_for()
    dialog.get_by_role("button", name="Working folder").click()
    dialog.locator('[data-path$="/holidays"]').click()
    dialog.get_by_role("button", name="Choose this folder").click()
    reader = tab.node("reader").locator('[data-argument="file_root"]')
    tab.wait(lambda: "holidays" in reader.inner_html(), "the node does not show the end of the path")
    tab.still()
    page.keyboard.press("Control+s")
    name = tab.dialog("save").get_by_label("File name")
    name.fill(str(tmp_path / "mine"))  # a whole path is one wherever the browser of folders is
    name.press("Enter")
    file = tmp_path / "mine.dali.json"
    tab.wait(file.exists, "the graph is not saved")
    assert json.loads(file.read_text())["nodes"]["reader"]["arguments"]["file_root"] == "./holidays"
    page.locator('[data-command="export"]').first.click()
    export = tab.dialog("export")
    text = export.get_by_test_id("export-text")
    tab.wait(lambda: "holidays" in text.inner_text(), "there is no program")
    assert str(tmp_path) not in text.inner_text()
    export.get_by_role("tab", name="Graph file").click()
    with page.expect_download() as download:
        export.locator('[data-action="download"]').click()  # at once: it is the form that was asked for
    assert download.value.suggested_filename == "mine.dali.json"
