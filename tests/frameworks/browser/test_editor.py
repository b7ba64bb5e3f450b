"""The editor's features: each by mouse or by keyboard, and no serious finding of axe-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.browser.conftest import App, Tab, in_a_row
from tests.frameworks.browser.test_panel_app import close_up, node_names, port

AXE = Path(__file__).parents[3] / "extension" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def first_document(kept_app: App) -> dict[str, Any]:
    """Gestures between neighbours: the nodes begin in one row."""
    return in_a_row(kept_app.first)


def edges(app: App) -> set[tuple[str, str]]:
    nodes = app.session.store.document["nodes"]
    return {(edge, name) for name, node in nodes.items() for edge in node.get("inputs") or () if edge}


def steady(tab: Tab, wanted: Any, what: str) -> Any:
    return tab.wait(wanted, what)


def on_canvas(tab: Tab) -> None:
    """Give the canvas the keys, with nothing selected."""
    tab.page.locator(".react-flow__pane").first.click(position={"x": 8, "y": 8})


def select(tab: Tab, *names: str) -> None:
    tab.fit()
    for index, name in enumerate(names):
        tab.choose(name, more=index > 0)


def look_up(tab: Tab, text: str) -> None:
    """Look for a command or a node by its name, and take the first that is found."""
    tab.page.keyboard.press("Control+k")
    dialog = tab.dialog("commands")
    tab.page.keyboard.type(text)
    tab.page.keyboard.press("Enter")
    dialog.wait_for(state="detached")


def test_add_connect_replace_and_find_by_keyboard(tab: Tab, app: App) -> None:
    page, document = tab.page, app.session.store
    on_canvas(tab)
    page.keyboard.press("Tab")
    search = page.get_by_test_id("quick-search")
    search.wait_for()
    page.keyboard.type("gaussian_blur")
    page.keyboard.press("Enter")
    steady(tab, lambda: "gaussian_blur" in document.document["nodes"], "Tab adds no operator")

    # Ports are linked by name, without the mouse.
    select(tab, "decode")
    page.keyboard.press("c")
    tab.dialog("connect")
    page.keyboard.type("gaussian_blur")
    page.keyboard.press("Enter")
    steady(tab, lambda: ("decode", "gaussian_blur") in edges(app), "no link by keyboard")

    select(tab, "gaussian_blur")
    page.keyboard.press("r")
    search.wait_for()
    page.keyboard.type("flip")
    page.keyboard.press("Enter")
    steady(tab, lambda: ("decode", "flip") in edges(app), "the link was not kept")
    steady(tab, lambda: "gaussian_blur" not in document.document["nodes"], "what was replaced is still there")

    look_up(tab, "brightness_contrast")
    tab.page.wait_for_selector('[data-node-id="brightness_contrast"][data-selected="true"]')
    page.keyboard.press("Alt+ArrowRight")
    tab.page.wait_for_selector('[data-node-id="normalize"][data-selected="true"]')

    # A command is found by what it does, too.
    look_up(tab, "report")
    tab.dialog("export")
    page.keyboard.press("Escape")
    page.locator('[data-dialog="export"]').wait_for(state="detached")

    for key, dialog in (("?", "shortcuts"), ("Control+h", "history")):
        page.keyboard.press(key)
        shown = tab.dialog(dialog)
        if dialog == "history":
            assert shown.locator("time").count() == shown.get_by_role("option").count() > 1
        page.keyboard.press("Escape")
        shown.wait_for(state="detached")
    for _ in range(3):
        page.keyboard.press("Control+z")
    steady(tab, lambda: len(node_names(tab)) == 7, "undo does not take back what was added")
    tab.idle()
    assert set(node_names(tab)) == set(document.document["nodes"])


def test_disabled_nodes_are_grey_and_take_along_what_needs_them(tab: Tab, app: App) -> None:
    page = tab.page
    before = tab.wait_for_pixels("normalize", bool)
    select(tab, "rotate")
    page.keyboard.press("d")
    for name in ("rotate", "normalize"):
        card = page.locator(f'[data-node-id="{name}"][data-state="off"]')
        card.wait_for()
        tab.wait(lambda: card.locator("img").count() == 0, f"{name} has pictures")  # noqa: B023
    told = lambda selector: page.locator(selector).inner_text().strip()  # noqa: E731
    tab.wait(lambda: told('[data-node-id="rotate"] .chip.off') == "disabled", "it is not said to be disabled")
    note = '[data-node-id="normalize"] .card-note'
    tab.wait(lambda: told(note) == "Off: 'rotate' is disabled.", "it is not said why there are no pictures")
    page.locator('[data-node-id="resize"][data-state="ok"] img').first.wait_for()
    # Problems are looked for when there is nothing else to do.
    tab.wait(lambda: told('[data-command="next-problem"]') == "1 warning", "there is no warning")
    assert app.session.store.document["view"]["nodes"]["rotate"]["disabled"] is True

    page.locator('[data-command="run"]').first.click()
    page.get_by_text("is left out: 'rotate' is disabled.").first.wait_for()
    on_canvas(tab)
    page.keyboard.press("Control+z")
    tab.wait_for_pixels("normalize", lambda pixels: pixels == before)

    # The same by the menu of the node.
    tab.still()
    tab.node("rotate").click(position={"x": 12, "y": 8}, button="right")
    page.get_by_role("menuitemcheckbox", name="Disable").click()
    page.locator('[data-node-id="normalize"][data-state="off"]').wait_for()
    page.keyboard.press("Control+z")
    page.locator('[data-node-id="normalize"][data-state="ok"]').wait_for()


def test_a_click_on_one_of_several_selected_nodes_chooses_it(tab: Tab) -> None:
    page = tab.page
    chosen = page.locator('[data-node-id][data-op][data-selected="true"]')
    select(tab, "resize", "rotate", "normalize")
    tab.wait(lambda: chosen.count() == 3, "not all are selected")
    tab.node("rotate").click(position={"x": 12, "y": 8})
    tab.wait(lambda: chosen.count() == 1, "all are still selected")
    assert chosen.get_attribute("data-node-id") == "rotate"
    # So it is where a rectangle chose them, whose frame lies over the nodes.
    tab.still()
    first, last = (tab.node(name).bounding_box() for name in ("resize", "rotate"))
    page.keyboard.down("Shift")
    page.mouse.move(first["x"] - 6, first["y"] - 6)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2, steps=8)
    page.mouse.up()
    page.keyboard.up("Shift")
    tab.wait(lambda: chosen.count() >= 2, "the rectangle selects nothing")
    page.mouse.click(first["x"] + 12, first["y"] + 8)
    tab.wait(lambda: chosen.count() == 1, "all are still selected")
    assert chosen.get_attribute("data-node-id") == "resize"


def test_bypass_groups_notes_alignment_and_problems(tab: Tab, app: App) -> None:
    page, store = tab.page, app.session.store
    view = lambda: store.document["view"]  # noqa: E731
    before = tab.wait_for_pixels("normalize", bool)
    select(tab, "brightness_contrast")
    page.keyboard.press("b")
    steady(tab, lambda: view()["nodes"].get("brightness_contrast", {}).get("bypass"), "not bypassed")
    tab.wait_for_pixels("normalize", lambda pixels: pixels != before)
    page.keyboard.press("b")
    tab.wait_for_pixels("normalize", lambda pixels: pixels == before)

    select(tab, "resize", "rotate")
    page.keyboard.press("Control+g")
    (group,) = steady(tab, lambda: view()["groups"], "no group")
    assert set(group["nodes"]) == {"resize", "rotate"}
    # Folded up it is one node with the ports that cross its border; unpacked all is as before.
    tab.fit()
    page.locator(".group-title").first.click(button="right")
    page.get_by_role("menuitem", name="Show as one node").click()
    page.locator(".react-flow__node-subgraph").wait_for()
    steady(tab, lambda: "rotate" not in node_names(tab), "it is shown beside its group")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    steady(tab, lambda: not view()["groups"], "the group is still there")

    on_canvas(tab)
    page.keyboard.press("n")
    steady(tab, lambda: view()["notes"], "no note")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")

    aligned = ("resize", "rotate", "normalize")
    # Side by side, since nodes above each other are kept apart whatever is asked for.
    places = {name: {"x": 500 * index, "y": 3000 + 90 * index} for index, name in enumerate(aligned)}
    tab.show(app, {**store.document, "view": {**view(), "nodes": {**view()["nodes"], **places}}})
    tab.fit()
    select(tab, *aligned)
    look_up(tab, "Align tops")
    tops = lambda: {view()["nodes"][name]["y"] for name in aligned}  # noqa: E731
    steady(tab, lambda: len(tops()) == 1, "not aligned")
    page.keyboard.press("Control+z")

    on_canvas(tab)
    select(tab, "resize")
    page.keyboard.press("Delete")
    steady(tab, lambda: ("decode", "rotate") in edges(app), "deleting cut the wire")
    page.keyboard.press("Control+z")
    steady(tab, lambda: ("decode", "resize") in edges(app), "undo did not bring it back")

    nodes = store.document["nodes"]
    tab.show(app, {**store.document, "nodes": {**nodes, "rotate": {**nodes["rotate"], "inputs": []}}})
    page.locator('[data-command="next-problem"]').wait_for()
    on_canvas(tab)
    page.keyboard.press("F8")
    page.wait_for_selector('[data-node-id="rotate"][data-selected="true"]')


def test_links_by_mouse(tab: Tab, app: App) -> None:
    page = tab.page
    tab.fit()
    # A link dropped on the canvas offers what fits: after a picture no decoder.
    start = port(tab, "decode", "out:0").bounding_box()
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    pane = page.locator(".react-flow__pane").first
    box = pane.bounding_box()
    page.mouse.move(start["x"] + 60, start["y"] + 60, steps=5)
    page.mouse.move(box["x"] + 60, box["y"] + box["height"] - 30, steps=5)
    page.mouse.up()
    page.get_by_test_id("quick-search").wait_for()
    offered = page.get_by_test_id("search-entry").evaluate_all("all => all.map((each) => each.dataset.choice)")
    assert "flip" in offered and not any(op.startswith(("decoders.", "readers.")) for op in offered)
    page.keyboard.type("flip")
    page.keyboard.press("Enter")
    steady(tab, lambda: ("decode", "flip") in edges(app), "what was chosen is not connected")

    # An operator dropped on a link goes between.
    tab.fit()
    page.get_by_test_id("palette-search").fill("hsv")
    entry = page.locator('[data-testid="palette-entry"][data-op="hsv"]').first
    link = page.locator('[data-testid="edge"][data-source="brightness_contrast:0"] path').first
    middle = link.evaluate(
        """(path) => {
          const at = path.getPointAtLength(path.getTotalLength() / 2), matrix = path.getScreenCTM();
          return [at.x * matrix.a + matrix.e, at.y * matrix.d + matrix.f];
        }"""
    )
    entry.drag_to(pane, target_position={"x": middle[0] - box["x"], "y": middle[1] - box["y"]}, force=True)
    steady(tab, lambda: {("brightness_contrast", "hsv"), ("hsv", "normalize")} <= edges(app), "not put into the link")

    # On hover a link tells what flows through it.
    tab.fit()
    link = page.locator('[data-testid="edge"][data-source="decode:0"][data-target="resize:in:0"] path').first
    x, y = link.evaluate(
        """(path) => {
          const at = path.getPointAtLength(path.getTotalLength() / 2), matrix = path.getScreenCTM();
          return [at.x * matrix.a + matrix.e, at.y * matrix.d + matrix.f];
        }"""
    )
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y, steps=4)
    tip = page.locator(".link-tip")
    tip.filter(has_text="uint8").filter(has_text="HWC").wait_for()
    tab.wait(lambda: tip.locator("svg").count() == 1, "there is no histogram")

    page.mouse.dblclick(box["x"] + 20, box["y"] + box["height"] - 40)
    page.get_by_test_id("quick-search").wait_for()


def test_what_no_other_editor_has(tab: Tab, app: App) -> None:
    page = tab.page
    # The distribution of a random argument, with the values drawn; the seed in use, pinned or drawn.
    row = close_up(tab, "rotate").locator('[data-argument="angle"]')
    row.locator("svg").first.wait_for()
    tab.wait(lambda: row.locator("svg circle, svg line, svg path").count() > 3, "no values are drawn")
    assert page.locator('[aria-label="Seed"], [aria-label="seed"]').first.input_value() == "42"
    close_up(tab, "brightness_contrast")
    tray = page.get_by_test_id("tray")
    tray.locator('[data-mode="sweep"]').click()
    tray.locator("img").nth(4).wait_for()
    tray.locator('[data-mode="follow"]').click()
    steady(tab, lambda: tray.locator("figure.followed").count() >= 5, "not every node is shown")
    tray.locator('[data-mode="compare"]').click()
    tray.locator(".compare img").nth(1).wait_for()
    tab.still()
    tab.choose("brightness_contrast")
    page.keyboard.press("b")
    tray.locator('[data-mode="versions"]').click()
    tray.locator("img").nth(1).wait_for()


def test_boxes_are_drawn_over_their_pictures(tab: Tab, app: App) -> None:
    document = app.session.store.document
    boxes = {"op": "random.uniform", "arguments": {"range": [0.1, 0.9], "shape": [3, 4]}}
    flipped = {"op": "bb_flip", "inputs": ["boxes"], "arguments": {"ltrb": True}}
    paired = {"op": "flip", "inputs": ["decode"]}
    nodes = {**document["nodes"], "boxes": boxes, "bb": flipped, "flip": paired}
    nodes["flip"]["connections"] = {"horizontal": "coin"}
    nodes["coin"] = {"op": "random.coin_flip"}
    nodes["bb"]["connections"] = {"horizontal": "coin"}
    tab.show(app, {**document, "nodes": nodes})
    tab.page.wait_for_selector('img[data-node="flip"]')
    tab.fit()
    tab.choose("flip")
    shapes = tab.page.locator('[data-testid="tray"] [data-overlay="boxes"]').first
    shapes.wait_for()
    tab.wait(lambda: shapes.locator("rect").count() == 3, "not all boxes are drawn")
    tab.page.get_by_test_id("overlays").uncheck()
    over = tab.page.locator('[data-testid="tray"] [data-overlay]')
    tab.wait(lambda: over.count() == 0, "boxes that are switched off are drawn")


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core comes with 'jlpm install' in extension/")
def test_axe_finds_nothing_serious(tab: Tab) -> None:
    page = tab.page
    page.evaluate(AXE.read_text())
    assert not serious(tab)
    close_up(tab, "rotate")
    assert not serious(tab)
    for command in ("open", "export", "shortcuts"):
        page.locator(f'[data-command="{command}"]').first.click()
        assert not serious(tab, tab.dialog(command)), command
        page.keyboard.press("Escape")


def serious(tab: Tab, part: Any = None) -> list[str]:
    """What axe-core finds in the page, or in a part that has come over it: the rest is as it was."""
    tab.at_rest()
    found = (part or tab.page.locator("html")).evaluate("part => axe.run(part, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:4]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
