"""Several nodes at once, hidden panels and nodes, and overlays of pictures: by mouse, each with its undo."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.frameworks.browser.conftest import App, Tab, in_a_row
from tests.frameworks.browser.test_editor import AXE, edges, look_up, on_canvas, select, serious, steady
from tests.frameworks.browser.test_panel_app import node_names


@pytest.fixture
def first_document(kept_app: App) -> dict[str, Any]:
    """Gestures between neighbours: the nodes begin in one row."""
    return in_a_row(kept_app.first)


def centre(locator: Any) -> tuple[float, float]:
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_box_of_nodes_is_deleted_by_mouse_and_comes_back(tab: Tab, app: App) -> None:
    page = tab.page
    before = edges(app)
    select(tab, "resize")
    on_canvas(tab)
    tab.still()
    # A box over three nodes, drawn with Shift held.
    boxes = [tab.node(name).bounding_box() for name in ("resize", "rotate", "brightness_contrast")]
    left = min(box["x"] for box in boxes) - 8
    top = min(box["y"] for box in boxes) - 12
    right = max(box["x"] + box["width"] for box in boxes) - 20
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, top + 60, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")
    for name in ("resize", "rotate", "brightness_contrast"):
        page.wait_for_selector(f'[data-node-id="{name}"][data-selected="true"]')
    page.mouse.click(*centre(tab.node("rotate")), button="right")
    page.get_by_role("menuitem", name="Delete").click()
    steady(tab, lambda: ("decode", "normalize") in edges(app), "the wire through the deleted nodes is cut")
    gone = {"resize", "rotate", "brightness_contrast"}
    steady(tab, lambda: not gone & set(node_names(tab)), "deleted nodes are on the canvas")
    page.keyboard.press("Control+z")
    steady(tab, lambda: edges(app) == before, "undo does not bring all of them back")

    # On a node of a selection the menu is about all that is selected.
    select(tab, "rotate", "brightness_contrast")
    tab.node("rotate").click(button="right", position={"x": 12, "y": 8})
    page.get_by_role("menuitem", name="Delete").click()
    steady(tab, lambda: ("resize", "normalize") in edges(app), "only one of two is deleted")
    page.keyboard.press("Control+z")
    steady(tab, lambda: edges(app) == before, "undo does not bring both back")

    # With Space held a drag that begins on a node moves the view, and the node stays where it is in the graph.
    tab.still()
    places = app.session.store.document["view"]
    x, y = centre(tab.node("rotate"))
    page.mouse.move(x, y)
    page.keyboard.down("Space")
    page.wait_for_selector('.canvas[data-hand="true"]')
    page.mouse.down()
    page.mouse.move(x + 60, y + 30, steps=4)
    page.mouse.up()
    page.keyboard.up("Space")
    tab.still()
    assert centre(tab.node("rotate")) == pytest.approx((x + 60, y + 30), abs=2)
    assert app.session.store.document["view"] == places


def test_f8_opens_the_group_that_hides_the_culprit(tab: Tab, app: App) -> None:
    page, store = tab.page, app.session.store
    document = store.document
    nodes = {**document["nodes"], "rotate": {**document["nodes"]["rotate"], "inputs": []}}
    group = {"id": "g", "title": "Turning", "nodes": ["resize", "rotate"], "collapsed": True}
    tab.show(app, {**document, "nodes": nodes, "view": {**document["view"], "groups": [group]}})
    page.locator('[data-group-id="g"]').wait_for()
    page.locator('[data-command="next-problem"]').wait_for()
    steady(tab, lambda: "rotate" not in node_names(tab), "the group does not hide it")
    tab.still()
    on_canvas(tab)
    page.keyboard.press("F8")
    page.wait_for_selector('[data-node-id="rotate"][data-selected="true"]')
    tab.wait(lambda: not store.document["view"]["groups"][0].get("collapsed"), "the group does not open")
    page.keyboard.press("Control+z")
    page.locator('[data-group-id="g"]').wait_for()

    # A node that is looked for by its name is shown, too.
    look_up(tab, "resize")
    page.wait_for_selector('[data-node-id="resize"][data-selected="true"]')


def test_what_crosses_to_the_gpu_is_labelled_beside_the_nodes(tab: Tab, app: App) -> None:
    page, document = tab.page, app.session.store.document
    on_gpu = {name: {**document["nodes"][name], "device": "gpu"} for name in ("resize", "rotate")}
    tab.show(app, {**document, "nodes": {**document["nodes"], **on_gpu}})
    label = page.locator("[data-transfer]").first
    label.wait_for()
    tab.fit()
    label.filter(has_text="GPU").wait_for()

    def is_apart(name: str) -> bool:
        shown, node = label.bounding_box(), tab.node(name).bounding_box()
        return bool(
            shown["x"] + shown["width"] <= node["x"] + 1
            or shown["x"] >= node["x"] + node["width"] - 1
            or shown["y"] + shown["height"] <= node["y"] + 1
            or shown["y"] >= node["y"] + node["height"] - 1
        )

    for name in node_names(tab):
        # It is put where there is room once the nodes have their size.
        tab.wait(lambda: is_apart(name), f"the label lies over {name}")  # noqa: B023


def test_labels_key_points_and_masks_are_drawn_over_their_pictures(tab: Tab, app: App) -> None:
    page, document = tab.page, app.session.store.document
    on_canvas(tab)
    coin = {"op": "random.coin_flip"}
    added = {
        "coin": coin,
        "points": {"op": "random.uniform", "arguments": {"range": [0.2, 0.8], "shape": [5, 2]}},
        "moved": {"op": "coord_flip", "inputs": ["points"], "connections": {"flip_x": "coin"}},
        "flip": {"op": "flip", "inputs": ["decode"], "connections": {"horizontal": "coin"}},
        "grey": {
            "op": "color_space_conversion",
            "inputs": ["decode"],
            "arguments": {"image_type": "RGB", "output_type": "GRAY"},
        },
        "pixel": {"op": "segmentation.random_mask_pixel", "inputs": ["grey"]},
    }
    tab.show(app, {**document, "nodes": {**document["nodes"], **added}})
    page.wait_for_selector('img[data-node="flip"]')
    tab.still()
    page.keyboard.press("Control+k")
    tab.dialog("commands")
    page.keyboard.type("flip")
    page.locator('[data-choice="node-flip"]').click()
    page.wait_for_selector('[data-node-id="flip"][data-selected="true"]')
    tray = page.get_by_test_id("tray")
    points = tray.locator('[data-overlay="points"]').first
    points.wait_for()
    tab.wait(lambda: points.locator("circle").count() == 5, "not all points are drawn")
    tray.locator('[data-overlay="mask"]').first.wait_for()
    # The class of a picture is its folder, told beside it.
    tray.locator("figure").first.filter(has_text="animals").wait_for()
    page.keyboard.press("Delete")
    steady(tab, lambda: "flip" not in app.session.store.document["nodes"], "not deleted")
    page.keyboard.press("Control+z")
    steady(tab, lambda: "flip" in app.session.store.document["nodes"], "undo does not bring it back")


def test_a_switch_of_a_number_shows_its_default_and_writes_a_number(tab: Tab, app: App) -> None:
    document = app.session.store.document
    flip = {"op": "flip", "inputs": ["resize"]}
    tab.show(app, {**document, "nodes": {**document["nodes"], "flip": flip}})
    tab.fit()
    switch = tab.node("flip").locator('[data-argument="horizontal"] [role="switch"]')
    assert switch.get_attribute("aria-checked") == "true"
    mirrored = tab.wait_for_pixels("flip", lambda pixels: pixels != tab.pixels("resize"))
    switch.click()
    tab.wait_for_pixels("flip", lambda pixels: pixels != mirrored)
    assert switch.get_attribute("aria-checked") == "false"
    assert app.session.store.document["nodes"]["flip"]["arguments"] == {"horizontal": 0}


def test_numbers_of_small_cards_are_whole_and_signs_beside_a_name_leave_it_room(tab: Tab) -> None:
    page = tab.page
    on_canvas(tab)
    tab.choose("rotate")
    page.keyboard.press("b")
    chip = tab.node("rotate").locator(".chip.off")
    assert chip.inner_text().strip() == "bypassed"
    viewport = page.locator(".react-flow__viewport").first
    while viewport.evaluate("(each) => new DOMMatrix(getComputedStyle(each).transform).a") > 0.62:
        page.mouse.wheel(0, 40)
        tab.still()
    mean = tab.node("normalize").locator('[data-argument="mean"] .number')
    assert mean.all_inner_texts() == ["123.7", "116.3", "103.5"]
    for number in mean.all():
        assert number.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    title = tab.node("rotate").locator(".card-title")
    assert title.evaluate("(each) => each.scrollWidth <= each.clientWidth")


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core comes with 'jlpm install' in extension/")
def test_axe_finds_nothing_serious_in_menus_and_the_gallery(tab: Tab) -> None:
    page = tab.page
    page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        select(tab, "rotate")
        tab.node("rotate").click(button="right", position={"x": 12, "y": 8})
        page.get_by_role("menu").wait_for()
        assert not serious(tab), f"{theme}: menu"
        page.keyboard.press("Escape")
        for command in ("history", "commands"):
            page.locator(f'[data-command="{command}"]').first.click()
            assert not serious(tab, tab.dialog(command)), f"{theme}: {command}"
            page.keyboard.press("Escape")
        on_canvas(tab)
        page.keyboard.press("Tab")
        search = page.get_by_test_id("quick-search")
        search.wait_for()
        assert not serious(tab, search), f"{theme}: search"
        page.keyboard.press("Escape")
        page.locator('[data-command="theme"]').click()
    page.locator('[data-command="gallery"]').click()
    page.locator(".gallery-side").wait_for()
    page.locator('[data-testid="gallery-tile"] img').first.wait_for()
    assert not serious(tab), "gallery"


def test_groups_arguments_and_places_in_links_without_a_detour(tab: Tab, app: App) -> None:
    page, store = tab.page, app.session.store
    # A new group asks for its title; F2 asks again.
    select(tab, "resize", "rotate")
    page.keyboard.press("Control+g")
    title = page.get_by_role("textbox", name="Title of the group")
    title.wait_for()
    page.keyboard.type("Geometry")
    page.keyboard.press("Enter")
    titles = lambda: [group["title"] for group in store.document["view"]["groups"]]  # noqa: E731
    steady(tab, lambda: titles() == ["Geometry"], "the title is not taken")
    # The frame stays behind its nodes when it is selected.
    tab.still()
    page.locator(".group-title").click()
    page.wait_for_selector(".group.selected")
    steady(tab, lambda: node_on_top(tab, "rotate"), "the frame lies over its nodes")
    page.keyboard.press("F2")
    title.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    steady(tab, lambda: not store.document["view"]["groups"], "undo does not take the group away")

    # Enter goes to the arguments, Esc comes back.
    select(tab, "brightness_contrast")
    page.keyboard.press("Enter")
    page.wait_for_selector('.inspector [data-argument="brightness"] :focus')
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    arguments = lambda: store.document["nodes"]["brightness_contrast"]["arguments"]  # noqa: E731
    steady(tab, lambda: arguments().get("brightness") == 0.5, "the keys do not set the argument")
    page.keyboard.press("Escape")
    page.wait_for_selector(".canvas:focus")

    # Every sample is compared, and a node in a link has room.
    page.get_by_test_id("tray").locator('[data-mode="compare"]').click()
    page.get_by_test_id("tray").locator("figure .compare").nth(3).wait_for()
    compared = page.locator("figure .compare")
    places = lambda: [(box["x"], box["y"]) for box in (each.bounding_box() for each in compared.all())]  # noqa: E731
    steady(tab, lambda: len(set(found := places())) == len(found) >= 4, "samples lie over each other")
    tab.still()
    edge = page.locator('[data-testid="edge"][data-source="decode:0"]').first
    page.get_by_test_id("palette-search").fill("hsv")
    entry = page.locator('[data-testid="palette-entry"][data-op="hsv"]').first
    entry.drag_to(page.locator(".react-flow__pane").first, target_position=middle(tab, edge), force=True)
    steady(tab, lambda: ("hsv", "resize") in edges(app), "not put into the link")
    tab.fit()
    row = [tab.node(name).bounding_box() for name in ("decode", "hsv", "resize", "rotate")]
    assert all(one["x"] + one["width"] < other["x"] for one, other in pairwise(row))


def node_on_top(tab: Tab, name: str) -> bool:
    """Whether a press in the middle of a node meets the node."""
    x, y = centre(tab.node(name))
    return tab.page.locator(".canvas").evaluate(
        "(canvas, [x, y, name]) => canvas.getRootNode().elementFromPoint(x, y)"
        ".closest(`[data-node-id='${name}']`) !== null",
        [x, y, name],
    )


def middle(tab: Tab, edge: Any) -> dict[str, float]:
    """The middle of a link, as seen from the corner of the canvas."""
    x, y = edge.locator("path").first.evaluate(
        """(path) => {
          const at = path.getPointAtLength(path.getTotalLength() / 2), matrix = path.getScreenCTM();
          return [at.x * matrix.a + matrix.e, at.y * matrix.d + matrix.f];
        }"""
    )
    pane = tab.page.locator(".react-flow__pane").first.bounding_box()
    return {"x": x - pane["x"], "y": y - pane["y"]}


HIDE_ON_THE_WAY = """async (editor) => {
  const canvas = editor.querySelector('.canvas');
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, composed: true }));
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const hide = (hidden) => { editor.style.display = hidden ? 'none' : ''; };
  const views = [];
  const look = () => views.push(editor.querySelector('.react-flow__viewport').style.transform);
  // Hidden before the key, before the first step, and on the way.
  hide(true); await drawn(); press('+'); await drawn(); look(); hide(false); await drawn(); look();
  press('+'); hide(true); await drawn(); look(); hide(false); await drawn(); look();
  press('-'); await drawn(); hide(true); await drawn(); look(); hide(false); await drawn(); look();
  hide(true); await drawn(); press('f'); await drawn(); look(); hide(false); await drawn(); look();
  return views;
}"""


def test_a_canvas_that_is_hidden_goes_where_it_was_sent(tab: Tab) -> None:
    # Hidden as by another tab of JupyterLab.
    tab.still()
    on_canvas(tab)
    shown = tab.page.locator(".react-flow__viewport").first.evaluate("(element) => element.style.transform")
    views = tab.page.get_by_test_id("dali-editor").evaluate(HIDE_ON_THE_WAY)
    assert not [view for view in views if "NaN" in view]
    assert views[1] != shown and views[-1] == shown
