"""Errors go when what they speak of has gone, and runs take the outputs that exports take."""

from __future__ import annotations

from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_editor import on_canvas, steady


def test_an_error_of_a_run_goes_with_the_next_run_and_stays_on_its_page(tab: Tab, app: App) -> None:
    page, document = tab.page, app.session.store.document
    reader = document["nodes"]["reader"]
    broken = {**reader, "arguments": {**reader["arguments"], "file_root": "/there/is/none"}}
    tab.show(app, {**document, "nodes": {**document["nodes"], "reader": broken}})
    page.get_by_test_id("node-error").first.wait_for()
    run = page.locator('[data-command="run"]').first
    error = page.locator(".notice.error")
    run.click()
    error.wait_for()
    # Not over a dialog, and not into the gallery.
    page.locator('[data-command="export"]').first.click()
    tab.dialog("export")
    error.wait_for(state="detached")
    page.keyboard.press("Escape")
    run.click()
    error.wait_for()
    # The cause is mended: the next run clears the error.
    app.session.edit({"nodes": {"reader": reader}})
    page.get_by_test_id("node-error").first.wait_for(state="detached")
    tab.idle()
    run.click()
    error.wait_for(state="detached")
    page.locator('[data-command="stop"]:disabled').first.wait_for()
    assert error.count() == 0


def test_a_graph_without_marked_outputs_runs_to_its_last_nodes(tab: Tab, app: App) -> None:
    page = tab.page
    tab.show(app, {**app.session.store.document, "outputs": []})
    page.wait_for_selector('img[data-node="normalize"]')
    tab.still()
    on_canvas(tab)
    page.keyboard.press("Control+Enter")
    notice = page.locator(".notice").filter(has_text="the last nodes are returned: normalize")
    notice.wait_for()
    assert page.locator(".notice.error").count() == 0
    steady(tab, lambda: page.locator(".status").inner_text().find("/s") >= 0, "the run has no speed")
