"""The first way through the app: pictures at every node, compose, undo, be refused, save, open, export."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab.studio.document.store import Sample
from tests.frameworks.browser.conftest import PATIENCE, App, Tab

NODES = ["reader", "decode", "resize", "rotate", "brightness_contrast", "normalize"]


def drag(page: Any, start: Any, end: Any) -> None:
    """Drag with the mouse in steps, as a hand does."""
    a, b = start.bounding_box(), end.bounding_box()
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    x, y = b["x"] + b["width"] / 2, b["y"] + b["height"] / 2
    page.mouse.move((a["x"] + x) / 2, (a["y"] + y) / 2, steps=4)
    page.mouse.move(x, y, steps=6)
    page.mouse.up()


def close_up(tab: Tab, name: str) -> Any:
    """Select a node and zoom to it, so that its ports and controls can be met."""
    tab.fit()
    tab.choose(name)
    tab.page.keyboard.press("Shift+F")
    tab.still()
    return tab.node(name)


def port(tab: Tab, node: str, name: str) -> Any:
    return tab.page.locator(f'[data-node-id="{node}"] [data-port="{name}"]').first


def add_from_palette(tab: Tab, op: str, x: float, y: float) -> str:
    """Drag an operator from the palette onto the canvas; the name of the new node."""
    before = set(node_names(tab))
    search = tab.page.get_by_test_id("palette-search")
    search.fill(op)
    entry = tab.page.locator(f'[data-testid="palette-entry"][data-op="{op}"]').first
    canvas = tab.page.locator(".react-flow__pane").first
    box = canvas.bounding_box()
    entry.drag_to(canvas, target_position={"x": box["width"] * x, "y": box["height"] * y})
    tab.wait(lambda: set(node_names(tab)) - before, "the palette gives no node")
    search.fill("")
    (name,) = set(node_names(tab)) - before
    return name


def node_names(tab: Tab) -> list[str]:
    names: list[str] = tab.page.locator("[data-node-id][data-op]").evaluate_all(
        "all => all.map((node) => node.dataset.nodeId)"
    )
    return names


def test_pictures_at_every_node(tab: Tab) -> None:
    for name in NODES:
        tab.wait_for_pixels(name, lambda pixels: np.std(pixels) > 10)
        tab.page.locator(f'[data-node-id="{name}"][data-state="ok"]').first.wait_for()
    assert tab.page.locator('img[data-node="decode"]').count() >= 1
    assert tab.page.title() == "DALI Lab"


PAGE = """
import panel as pn
import dali_lab
from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.formats.json import graph_file as json_file

editor = dali_lab.edit(json_file.from_document(first_pipeline(photographs())), height=420)
server = pn.serve(lambda: pn.Row(editor), port=0, address="127.0.0.1", show=False, verbose=False, start=False)
server.start()
print(server.port, flush=True)
server.io_loop.start()
"""


def test_the_editor_of_a_notebook_is_a_part_of_a_panel_page(browser: Any) -> None:
    server = subprocess.Popen([sys.executable, "-c", PAGE], stdout=subprocess.PIPE, text=True)
    context = browser.new_context()
    tab = Tab(context.new_page())
    try:
        assert server.stdout is not None
        tab.page.goto(f"http://127.0.0.1:{int(server.stdout.readline())}/")
        tab.wait_for_pixels("normalize", lambda pixels: np.std(pixels) > 10)
        tab.still()
        tab.choose("rotate")
        tab.page.keyboard.press("Control+d")
        tab.page.locator('[data-node-id="rotate_2"][data-state="ok"] img').first.wait_for()
        assert tab.hosts == {"127.0.0.1"}
        assert not [problem for problem in tab.problems if "favicon" not in problem]
    finally:
        context.close()
        server.kill()
        server.communicate()


def test_slider_moves_pixels_and_undo_brings_them_back(tab: Tab) -> None:
    close_up(tab, "brightness_contrast")
    before = tab.wait_for_pixels("brightness_contrast", bool)
    slider = tab.page.locator('[data-testid="inspector"] [data-argument="brightness"] [role="slider"]').first
    box = slider.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    tab.page.mouse.down()
    for step in range(1, 9):
        tab.page.mouse.move(box["x"] + box["width"] * (0.5 - 0.05 * step), box["y"] + box["height"] / 2)
        tab.page.wait_for_timeout(20)
    tab.page.mouse.up()
    after = tab.wait_for_pixels("brightness_contrast", lambda pixels: np.mean(pixels) < np.mean(before) - 5)
    assert np.mean(after) < np.mean(before)
    decoded = tab.wait_for_pixels("decode", bool)
    tab.page.locator('[data-command="undo"]').click()
    tab.wait_for_pixels("brightness_contrast", lambda pixels: pixels == before)
    assert tab.pixels("decode") == decoded
    undo = tab.page.locator('[data-command="undo"]')
    tab.wait(undo.is_disabled, "one gesture is more than one step")


def test_operator_from_the_palette_connected(tab: Tab, app: App) -> None:
    name = add_from_palette(tab, "flip", 0.5, 0.85)
    tab.fit()
    drag(tab.page, port(tab, "decode", "out:0"), port(tab, name, "in:0"))
    tab.page.wait_for_selector(
        f'[data-testid="edge"][data-source="decode:0"][data-target="{name}:in:0"]', state="attached"
    )
    flipped = tab.wait_for_pixels(name, bool)
    plain = tab.wait_for_pixels("decode", bool)
    width = int(tab.page.locator(f'img[data-node="{name}"]').first.evaluate("image => image.naturalWidth"))
    left = np.array(plain).reshape(-1, width, 4)[..., :3].astype(int)
    right = np.array(flipped).reshape(-1, width, 4)[:, ::-1, :3].astype(int)
    assert np.abs(left - right).mean() < 6
    tab.wait(lambda: app.session.store.document["nodes"][name].get("inputs") == ["decode"], "the session has no link")
    tab.page.locator('[data-command="undo"]').click()
    tab.page.locator('[data-command="undo"]').click()
    tab.wait(lambda: name not in node_names(tab), "undo did not take the node back")
    tab.idle()
    assert name not in app.session.store.document["nodes"]


def test_wrong_connection_is_refused_with_its_reason(tab: Tab, app: App) -> None:
    name = add_from_palette(tab, "flip", 0.5, 0.85)
    tab.fit()
    drag(tab.page, port(tab, "reader", "out:0"), port(tab, name, "in:0"))
    # In one step: it goes by itself after a while.
    tab.page.locator('[role="alert"]').filter(has_text=re.compile("decod", re.IGNORECASE)).first.wait_for()
    tab.idle()
    assert not app.session.store.document["nodes"][name].get("inputs")


@pytest.mark.own_app
def test_save_reopen_and_export(tab: Tab, app: App, tmp_path: Path) -> None:
    tab.page.locator('[data-command="save"]').click()
    dialog = tab.page.locator('[role="dialog"][data-dialog="save"]')
    dialog.get_by_label("File name").fill("mine.dali.json")
    dialog.locator('[data-action="save"]').click()
    dialog.wait_for(state="detached")
    saved = json.loads((tmp_path / "mine.dali.json").read_text())
    assert list(saved["nodes"]) == [*NODES[:3], "angle", *NODES[3:]]
    tab.page.locator('[data-command="new"]').click()
    tab.page.wait_for_selector('[data-testid="empty-canvas"]')
    tab.page.locator('[data-command="open"]').first.click()
    dialog = tab.page.locator('[role="dialog"][data-dialog="open"]')
    dialog.get_by_role("tab", name="File").click()
    dialog.locator(f'[data-path="{tmp_path / "mine.dali.json"}"]').click()
    dialog.wait_for(state="detached")
    tab.wait_for_pixels("normalize", bool)
    assert app.session.store.title == "mine"
    tab.page.locator('[data-command="export"]').click()
    text = tab.page.get_by_test_id("export-text")
    text.filter(has_text="brightness_contrast").filter(has_text="dali").wait_for()
    # The report as a page and as a picture, each opens as the graph again.
    for name, chosen in (("report.html", "report"), ("report.png", "report-picture")):
        with tab.page.expect_download() as download:
            tab.page.get_by_test_id("export-file").select_option(chosen)
        download.value.save_as(tmp_path / name)
    tab.page.keyboard.press("Escape")
    tab.page.locator('[data-command="new"]').click()
    tab.page.wait_for_selector('[data-testid="empty-canvas"]')
    tab.page.locator('[data-command="open"]').first.click()
    dialog.get_by_role("tab", name="File").click()
    dialog.locator(f'[data-path="{tmp_path / "report.html"}"]').click()
    dialog.wait_for(state="detached")
    tab.wait_for_pixels("normalize", bool)
    assert app.session.store.title == "report"
    tab.page.locator('[data-command="new"]').click()
    tab.page.wait_for_selector('[data-testid="empty-canvas"]')
    tab.page.locator('[data-command="open"]').first.click()
    dialog.get_by_role("tab", name="Code or this computer").click()
    tab.page.get_by_test_id("upload").set_input_files(tmp_path / "report.png")
    dialog.wait_for(state="detached")
    tab.wait_for_pixels("normalize", bool)


def test_bad_folder_says_so_at_the_node_and_the_rest_stays(tab: Tab, app: App) -> None:
    nodes = app.session.store.document["nodes"]
    reader = {**nodes["reader"], "arguments": {"file_root": "/no/such/folder"}}
    broken = {**app.session.store.document, "nodes": {**nodes, "reader": reader}}
    tab.show(app, broken)
    tab.page.wait_for_selector('[data-node-id="reader"][data-state="error"]', state="attached")
    close_up(tab, "reader")
    tab.page.get_by_test_id("node-error").filter(has_text="/no/such/folder").first.wait_for()
    tab.wait(lambda: len(node_names(tab)) == 7, "the rest does not stay")


@pytest.mark.own_app
def test_two_tabs_see_each_other(open_tab: Callable[[], Tab]) -> None:
    one, two = open_tab(), open_tab()
    name = add_from_palette(one, "flip", 0.5, 0.85)
    two.page.wait_for_selector(f'[data-node-id="{name}"]', state="attached")
    one.page.close()
    add_from_palette(two, "crop", 0.3, 0.85)
    two.idle()
    two.problems.extend(one.problems)


@pytest.mark.own_app
def test_a_connection_that_breaks_comes_back(browser: Any, app: App) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    sockets: list[tuple[Any, Any]] = []
    broken: list[bool] = []

    def connect(page: Any) -> None:
        if broken:
            page.close(code=4000, reason="still broken")
        else:
            sockets.append((page, page.connect_to_server()))

    context.route_web_socket(re.compile("/socket"), connect)
    tab = Tab(context.new_page())
    tab.page.goto(app.address)
    tab.ready()
    before = add_from_palette(tab, "flip", 0.5, 0.85)
    tab.idle()
    ((page, server),) = sockets
    broken.append(True)
    server.close()
    page.close(code=4000, reason="broken")
    tab.page.locator('[data-testid="dali-editor"][data-connection="disconnected"]').wait_for()
    meanwhile = add_from_palette(tab, "erase", 0.8, 0.85)
    broken.clear()
    tab.wait(lambda: len(sockets) > 1, "it does not connect again")
    tab.page.locator('[data-testid="dali-editor"][data-connection="connected"]').wait_for()
    tab.ready()
    # Edits made during the break are in both tabs, and so are the undo steps.
    assert {before, meanwhile} <= set(node_names(tab))
    tab.wait(lambda: meanwhile in app.session.store.document["nodes"], "what was made meanwhile is not sent")
    for name in (meanwhile, before):
        tab.page.locator('[data-command="undo"]').click()
        tab.wait(lambda name=name: name not in app.session.store.document["nodes"], "undo is lost")
    tab.page.locator('[data-command="step"]').click()
    tab.idle()
    context.close()


def test_reload_keeps_what_was_made(tab: Tab) -> None:
    name = add_from_palette(tab, "flip", 0.5, 0.85)
    tab.idle()
    tab.page.reload()
    tab.ready()
    tab.wait(lambda: name in node_names(tab), "the node is lost")


def test_next_batch_shows_other_pictures(tab: Tab) -> None:
    before = tab.wait_for_pixels("decode", bool)
    tab.page.locator('[data-command="step"]').click()
    tab.wait_for_pixels("decode", lambda pixels: pixels != before)
    tab.page.locator('[data-command="step-back"]').click()
    tab.wait_for_pixels("decode", lambda pixels: pixels == before)


def test_run_shows_images_per_second(tab: Tab) -> None:
    tab.page.locator('[data-command="run"]').click()
    tab.page.get_by_test_id("rate").filter(has_text=re.compile(r"\d")).wait_for()


def test_names_and_notes_with_markup_are_text(tab: Tab, app: App) -> None:
    document = app.session.store.document
    evil = '<img src=x onerror="window.hacked=1">'
    nodes = {**document["nodes"], evil: {"op": "flip", "device": "cpu", "inputs": ["decode"]}}
    view = {**document["view"], "notes": [{"id": "n", "text": evil, "x": 0, "y": 500, "w": 200, "h": 80}]}
    tab.show(app, {**document, "nodes": nodes, "view": view})
    tab.wait(lambda: evil in node_names(tab), "the node is not there")
    tab.page.locator(".react-flow__node-note").first.wait_for()
    tab.still()
    # A folded card has its ports measured again.
    folded = {**view["nodes"], evil: {"x": 0, "y": 700, "collapsed": True}}
    tab.show(app, {**document, "nodes": nodes, "view": {**view, "nodes": folded}})
    # A picture that is none says so at once, and in turn: one that was there before has said it, too.
    tab.page.evaluate(
        "new Promise((done) => Object.assign(new Image(), { onerror: done, src: 'data:image/png,none' }))"
    )
    assert tab.page.evaluate("window.hacked") is None


@pytest.mark.own_app
def test_escape_stops_an_opening_that_takes_long(own_app: App, open_tab: Callable[[], Tab]) -> None:
    begun, go, answered = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Any:
        begun.set()
        assert go.wait(PATIENCE)
        return own_app.first

    own_app.session.samples["slow"] = Sample("slow", "Slow", "Takes its time", slow)
    tab = open_tab()
    page, store = tab.page, own_app.session.store
    before = store.title
    page.keyboard.press("Control+o")
    tab.dialog("open").locator('[data-sample-name="slow"]').click()
    assert begun.wait(PATIENCE)
    page.keyboard.press("Escape")
    page.locator('[data-dialog="open"]').wait_for(state="detached")
    # Nothing that comes later closes another dialog or replaces the graph.
    page.keyboard.press("Control+k")
    commands = tab.dialog("commands")
    go.set()
    own_app.session.do(answered.set)
    assert answered.wait(PATIENCE)
    tab.idle()
    assert commands.is_visible()
    assert store.title == before
