"""Room on the canvas: nodes in sight and apart, text that can be read, panels that fold away and are remembered."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_editor import on_canvas, select, steady
from tests.frameworks.browser.test_panel_app import node_names

TEXT_SIZES = """(editor) => {
  const sizes = [];
  const scale = (element) => element.getBoundingClientRect().width / element.offsetWidth;
  for (const card of editor.querySelectorAll('.card')) {
    const zoom = scale(card);
    const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const shown = text.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!text.data.trim() || !shown || text.parentElement.closest('option, title')) continue;
      sizes.push([parseFloat(getComputedStyle(text.parentElement).fontSize) * zoom, text.data]);
    }
  }
  return sizes;
}"""


CUT = """(editor) => [...editor.querySelectorAll('.card *')]
  .filter((each) => each.children.length === 0 && each.textContent.trim() && each.tagName !== 'OPTION')
  .filter((each) => {
    for (let box = each; !box.classList.contains('card'); box = box.parentElement)
      if (box.clientWidth && box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== 'visible')
        return true;
    return false;
  })
  .map((each) => each.textContent)"""
"""Texts in nodes that are not seen whole."""


CUT_BELOW = """(editor) => {
  const inside = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1
    && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  return ['.tray-head', '.status'].flatMap((part) => {
    const head = editor.querySelector(part), room = head.getBoundingClientRect();
    return [...head.querySelectorAll('button, .status > span')].filter((each) => {
      const box = each.getBoundingClientRect();
      const seen = box.width > 0 && box.top < room.bottom - 1;
      return seen && (!inside(box, room) || each.scrollWidth > each.clientWidth + 1);
    }).map((each) => each.textContent || each.title);
  });
}"""
"""Buttons above the tray, and texts below it, that are seen in part."""


def boxes(tab: Tab) -> dict[str, dict[str, float]]:
    return {name: tab.node(name).bounding_box() for name in node_names(tab)}


def covered(found: dict[str, dict[str, float]]) -> list[tuple[str, str]]:
    def meet(a: dict[str, float], b: dict[str, float]) -> bool:
        across = a["x"] < b["x"] + b["width"] - 1 and b["x"] < a["x"] + a["width"] - 1
        return across and a["y"] < b["y"] + b["height"] - 1 and b["y"] < a["y"] + a["height"] - 1

    return [(a, b) for a, b in combinations(found, 2) if meet(found[a], found[b])]


def in_sight(tab: Tab, name: str) -> bool:
    canvas, box = tab.page.locator(".canvas").bounding_box(), tab.node(name).bounding_box()
    return bool(
        box["x"] >= canvas["x"]
        and box["y"] >= canvas["y"]
        and box["x"] + box["width"] <= canvas["x"] + canvas["width"]
        and box["y"] + box["height"] <= canvas["y"] + canvas["height"]
    )


def chain(document: Any, count: int) -> dict[str, Any]:
    """The sample photographs through so many nodes in all, none of them placed."""
    reader, decode = document["nodes"]["reader"], document["nodes"]["decode"]
    nodes = {"reader": reader, "decode": decode}
    for number in range(count - 2):
        nodes[f"rotate_{number}"] = {
            "op": "rotate",
            "device": "cpu",
            "inputs": [list(nodes)[-1]],
            "arguments": {"angle": 10 * number + 5, "keep_size": True},
        }
    view = {"nodes": {}, "notes": [], "groups": []}
    return {**document, "nodes": nodes, "outputs": [list(nodes)[-1]], "view": view}


def test_nodes_land_in_sight_and_beside_others(tab: Tab, app: App) -> None:
    page = tab.page
    tab.fit()
    canvas = page.locator(".canvas").bounding_box()
    # A double click in the corner.
    page.mouse.dblclick(canvas["x"] + canvas["width"] - 6, canvas["y"] + canvas["height"] - 6)
    page.get_by_test_id("quick-search").wait_for()
    page.keyboard.type("flip")
    page.keyboard.press("Enter")
    page.wait_for_selector('[data-node-id="flip"]')
    tab.still()
    steady(tab, lambda: in_sight(tab, "flip"), "a node that was placed in the corner is out of sight")
    # Dropped upon another node.
    tab.fit()
    target = tab.node("resize").bounding_box()
    entry = page.locator('.palette [data-op="crop"]').first
    entry.drag_to(
        page.locator(".canvas"),
        target_position={
            "x": target["x"] - canvas["x"] + target["width"] / 2,
            "y": target["y"] - canvas["y"] + target["height"] - 30,
        },
    )
    page.wait_for_selector('[data-node-id="crop"]')
    tab.still()
    steady(tab, lambda: not covered(boxes(tab)), "a node that was dropped lies on another")
    steady(tab, lambda: in_sight(tab, "crop"), "a node that was dropped is out of sight")
    # A copy: where the view moves to show it, the minimap gives way to the nodes.
    tab.choose("resize")
    page.keyboard.press("Control+d")
    tab.still()
    overview = page.locator(".react-flow__minimap")
    if overview.count():
        assert not [pair for pair in covered({**boxes(tab), "": overview.bounding_box()}) if "" in pair]
    page.keyboard.press("Control+z")
    tab.still()
    # A recipe of the gallery, by the keyboard.
    before = set(node_names(tab))
    page.locator(".palette input").first.fill("cutout")
    page.get_by_test_id("palette-recipe").first.focus()
    page.keyboard.press("Enter")
    fresh = steady(tab, lambda: set(node_names(tab)) - before, "the recipe does not come")
    tab.still()
    steady(tab, lambda: not covered(boxes(tab)), "the nodes of a recipe lie on others")
    steady(tab, lambda: any(in_sight(tab, name) for name in fresh), "the nodes of a recipe are out of sight")
    page.locator(".palette input").first.fill("")
    # All nodes in groups, arranged.
    select(tab, "resize", "rotate")
    page.keyboard.press("Control+g")
    page.keyboard.press("Enter")
    on_canvas(tab)
    page.keyboard.press("l")
    tab.still()
    steady(tab, lambda: not covered(boxes(tab)), "nodes lie on each other after they were arranged")
    frame = page.locator(".react-flow__node-frame").first.bounding_box()
    others = {name: box for name, box in boxes(tab).items() if name not in ("resize", "rotate")}
    assert not [pair for pair in covered({**others, "a frame": frame}) if "a frame" in pair]


@pytest.mark.parametrize("size", [(1440, 900), (1920, 1080)])
def test_ten_nodes_are_wrapped_into_rows_and_can_be_read(tab: Tab, app: App, size: tuple[int, int]) -> None:
    page = tab.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    tab.fit()
    page.mouse.move(1, 1)
    steady(tab, lambda: tab.page.get_by_test_id("dali-editor").evaluate(CUT) == [], "texts in nodes are cut")
    tab.show(app, chain(app.session.store.document, 10))
    page.wait_for_selector('img[data-node="rotate_7"]')
    on_canvas(tab)
    page.keyboard.press("l")
    tab.still()
    rows = {round(box["y"]) for box in boxes(tab).values()}
    assert 1 < len(rows) < 5
    assert not covered(boxes(tab))
    assert all(in_sight(tab, name) for name in node_names(tab))
    page.mouse.move(1, 1)
    found = page.locator('[data-testid="dali-editor"]').evaluate(TEXT_SIZES)
    assert len(found) > 20
    assert not [each for each in found if each[0] < 11]
    # Pictures take the room there is.
    picture = page.locator('[data-node-id="decode"] .thumb').first.bounding_box()
    assert picture["width"] > (65 if size[0] < 1500 else 80)
    # The minimap is there for what is out of sight, and covers nothing that is seen whole.
    assert page.locator(".react-flow__minimap").count() == 0
    for _ in range(4):
        page.keyboard.press("+")
    page.locator(".react-flow__minimap").wait_for()


def test_a_graph_that_is_shown_whole_stays_so_as_its_cards_grow(tab: Tab, app: App) -> None:
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    tab.fit()
    # A sub-graph's card is as high as its pictures make it.
    select(tab, "rotate")
    tab.choose("brightness_contrast", more=True)
    tab.page.keyboard.press("Control+Shift+u")
    tab.wait(lambda: "rotate" not in node_names(tab), "there is no sub-graph")
    tab.still()
    whole = lambda: all(in_sight(tab, name) for name in node_names(tab))  # noqa: E731
    steady(tab, whole, "a card has grown out of sight")


def test_a_graph_that_is_seen_whole_stays_so_beside_another_after_edits(tab: Tab, app: App) -> None:
    page = tab.page
    page.set_viewport_size({"width": 1440, "height": 900})
    tab.fit()
    on_canvas(tab)
    select(tab, "rotate")
    page.keyboard.press("Delete")
    tab.wait(lambda: "rotate" not in node_names(tab), "the node stays")
    page.keyboard.press("Control+z")
    tab.wait(lambda: "rotate" in node_names(tab), "the node does not come back")
    tab.still()
    page.set_viewport_size({"width": 720, "height": 700})
    whole = lambda: all(in_sight(tab, name) for name in node_names(tab))  # noqa: E731
    steady(tab, whole, "nodes are out of sight in the smaller room")


def test_the_canvas_alone_and_nodes_as_pictures_are_remembered(tab: Tab, app: App) -> None:
    page = tab.page
    on_canvas(tab)
    page.keyboard.press("z")
    page.locator(".palette").wait_for(state="detached")
    page.locator(".inspector").wait_for(state="detached")
    tab.still()
    canvas, tray = page.locator(".canvas").bounding_box(), page.get_by_test_id("tray").bounding_box()
    assert tray["x"] >= canvas["x"] + canvas["width"] - 1
    assert canvas["height"] > 800
    page.reload()
    tab.ready()
    assert page.locator(".palette").count() == 0
    on_canvas(tab)
    page.keyboard.press("z")
    page.locator(".palette").wait_for()
    page.locator(".inspector").wait_for()
    # Picture and name alone, and back: what has grown pushes others away.
    tab.still()
    on_canvas(tab)
    page.keyboard.press("Shift+H")
    tab.wait(lambda: page.locator(".card.collapsed").count() == 7, "nodes are not reduced")
    page.keyboard.press("l")
    tab.still()
    page.keyboard.press("Shift+H")
    tab.wait(lambda: page.locator(".card.collapsed").count() == 0, "nodes do not open again")
    steady(tab, lambda: not covered(boxes(tab)), "nodes that have grown lie on others")
    # A quarter of the window, or 200 %: every tool, and all of the tray's views, are within reach.
    page.set_viewport_size({"width": 720, "height": 450})
    outside = """(editor) => [...editor.querySelectorAll('.toolbar button, .tray-head button')]
      .filter((each) => {
        const { left, right, bottom } = each.getBoundingClientRect();
        return each.checkVisibility() && (left < 0 || right > innerWidth || bottom > innerHeight);
      })
      .map((each) => each.title)"""
    steady(tab, lambda: page.get_by_test_id("dali-editor").evaluate(outside) == [], "tools are out of sight")
    room = page.locator(".canvas").bounding_box()
    assert room["height"] > 180


def test_tools_are_in_one_row_and_what_has_no_room_in_a_menu(tab: Tab, app: App) -> None:
    page = tab.page
    toolbar = page.get_by_role("toolbar")
    tools = """(bar) => [...bar.querySelectorAll('[data-command]')].filter((each) => each.checkVisibility())
      .map((each) => each.dataset.command)"""
    cut = "(bar) => bar.scrollWidth > bar.clientWidth || bar.clientHeight > 44"
    page.set_viewport_size({"width": 1440, "height": 700})
    tab.still()
    wide = set(toolbar.evaluate(tools))
    for width in (1280, 1017, 1000, 930, 810, 780, 650, 630, 504):
        page.set_viewport_size({"width": width, "height": 320})
        steady(tab, lambda: not toolbar.evaluate(cut), f"the tools take more than a row at {width}")
        found = set(toolbar.evaluate(tools))
        assert {"open", "save", "undo", "redo", "fit", "run"} <= found
        more = toolbar.locator('[data-action="more-tools"]')
        assert more.is_visible() == (width <= 1016)
        if more.is_visible():
            more.click()
            menu = page.get_by_role("menu")
            menu.wait_for()
            box = menu.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= 320
            items = set(menu.locator("[data-item]").evaluate_all("(all) => all.map((each) => each.dataset.item)"))
            seed = {"seed-new", "seed-pin"} if "pipeline" in items else set()
            assert wide <= found | items | seed
            assert not found & items
            page.keyboard.press("Escape")
    toolbar.locator('[data-action="more-tools"]').click()
    page.get_by_role("menuitem", name="History").click()
    tab.dialog("history")


@pytest.mark.parametrize("width", [1440, 720, 400])
def test_nothing_is_cut_above_and_below_the_tray(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.still()
    if not tab.page.locator(".tray-head").count():
        tab.page.locator('[data-command="tray"]').first.click()
    tab.page.locator(".tray-head").wait_for()
    editor = tab.page.get_by_test_id("dali-editor")
    tab.wait(lambda: editor.evaluate(CUT_BELOW) == [], f"cut: {editor.evaluate(CUT_BELOW)}")
    tabs = tab.page.locator(".tray-head [role=radio]")
    assert tabs.count() >= 6
    assert all(each.bounding_box()["x"] + each.bounding_box()["width"] <= width for each in tabs.all())
