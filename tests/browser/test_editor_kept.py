"""No work is lost: undo survives a reload, and a graph that another one replaces is kept with its undo."""

from __future__ import annotations

from tests.browser.conftest import App, Tab
from tests.browser.test_editor import on_canvas, select, steady
from tests.browser.test_panel_app import node_names


def test_undo_survives_a_reload_and_unsaved_graphs_are_kept(tab: Tab, app: App) -> None:
    page = tab.page
    select(tab, "brightness_contrast")
    page.keyboard.press("Delete")
    steady(tab, lambda: "brightness_contrast" not in node_names(tab), "the node is not deleted")
    tab.idle()
    page.reload()
    tab.ready()
    assert "brightness_contrast" not in node_names(tab)
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
