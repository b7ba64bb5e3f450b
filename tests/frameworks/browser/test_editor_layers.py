"""Titles of groups and notes lie over links, and names with any character can be linked: by mouse."""

from __future__ import annotations

from typing import Any

from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_editor import edges, steady
from tests.frameworks.browser.test_editor_gestures import centre

GROUPED = ["brightness_contrast", "normalize"]
BELOW = 900
TITLE = "Colours of the pictures"


def in_two_rows(document: dict[str, Any]) -> dict[str, Any]:
    """The link to the second row passes the title of the group that stands there, and a note."""
    rows = [name for name in document["nodes"] if name not in (*GROUPED, "angle")]
    places: dict[str, Any] = {name: {"x": 280 * index, "y": 0} for index, name in enumerate(rows)}
    places |= {name: {"x": 280 * index, "y": BELOW} for index, name in enumerate(GROUPED)}
    # Through the middle of the title, and of the note.
    places["brightness_contrast"]["routes"] = {"in:0": [[620, BELOW - 26], [40, BELOW - 28]]}
    places["angle"] = {"x": 840, "y": BELOW}
    group = {"id": "g", "title": TITLE, "nodes": GROUPED}
    note = {"id": "n", "text": "Warm light", "x": 300, "y": BELOW - 70, "w": 220, "h": 88}
    return {**document, "view": {"nodes": places, "notes": [note], "groups": [group]}}


def over(tab: Tab, link: str, box: dict[str, float]) -> bool:
    """Whether a link passes through a box of the screen."""
    return tab.page.locator(f'[data-testid="edge"][data-target="{link}"] .link-path').evaluate(
        """(path, { x, y, width, height }) => {
          const matrix = path.getScreenCTM(), length = path.getTotalLength();
          return Array.from({ length: 401 }, (_, step) => path.getPointAtLength((length * step) / 400)).some((at) => {
            const [left, top] = [at.x * matrix.a + matrix.e, at.y * matrix.d + matrix.f];
            return left > x && left < x + width && top > y && top < y + height;
          });
        }""",
        box,
    )


def test_a_title_and_a_note_under_a_link_are_pressed_and_dragged(tab: Tab, app: App) -> None:
    page, store = tab.page, app.session.store
    tab.show(app, in_two_rows(app.first))
    tab.fit()
    title, note = page.locator(".group-title"), page.get_by_test_id("note")
    link = "brightness_contrast:in:0"
    assert over(tab, link, title.bounding_box()), "no link passes the title: the test looks at nothing"
    title.click()
    page.wait_for_selector(".group.selected")

    # A drag of the title takes the members along; one more beside them, by one undo.
    def places() -> dict[str, dict[str, float]]:
        nodes = store.document["view"]["nodes"]
        return {name: nodes[name] for name in ("rotate", *GROUPED)}

    before = places()
    x, y = centre(title)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 40, steps=4)
    page.mouse.up()
    steady(tab, lambda: places() != before, "the title cannot be dragged")
    after = places()
    by = [after[name][axis] - before[name][axis] for name in GROUPED for axis in ("x", "y")]
    assert after["rotate"] == before["rotate"]
    assert by[:2] == by[2:] and by[0] > 0 and by[1] > 0
    tab.still()
    frame, head = page.get_by_test_id("group").bounding_box(), title.bounding_box()
    assert frame["x"] < head["x"] and frame["y"] < head["y"] < frame["y"] + 40, "the title left its frame"
    page.keyboard.press("Control+z")
    steady(tab, lambda: places() == before, "one undo does not put the group back")

    # The menu and the new name, where the link is.
    tab.still()
    title.click(button="right")
    page.get_by_role("menu", name="Group").wait_for()
    page.keyboard.press("Escape")
    title.dblclick()
    page.get_by_role("textbox", name="Title of the group").wait_for()
    page.keyboard.type("Light")
    page.keyboard.press("Enter")
    steady(tab, lambda: store.document["view"]["groups"][0]["title"] == "Light", "a double click does not rename")

    tab.still()
    box = note.bounding_box()
    assert over(tab, link, box)
    note.locator("textarea").click()
    page.keyboard.type(", ")
    page.locator(".react-flow__pane").first.click(position={"x": 8, "y": 8})
    steady(tab, lambda: ", " in store.document["view"]["notes"][0]["text"], "a note under a link takes no text")

    # Between them the link is pressed as ever, though the frame of the group begins there.
    at = page.locator(f'[data-testid="edge"][data-target="{link}"] .link-path').evaluate(
        """(path) => {
          const matrix = path.getScreenCTM(), length = path.getTotalLength();
          const points = Array.from({ length: 401 }, (_, step) => path.getPointAtLength((length * step) / 400));
          const beside = points.find(({ x }) => x > 246 && x < 254);
          return [beside.x * matrix.a + matrix.e, beside.y * matrix.d + matrix.f];
        }"""
    )
    page.mouse.click(*at)
    page.wait_for_selector('[data-testid="edge"] .selected, [data-testid="edge"].selected')


def test_names_with_any_character_are_linked_by_mouse(tab: Tab, app: App) -> None:
    page = tab.page
    names = {"decode": 'a "quoted" name', "resize": "back\\slash", "rotate": "100 % [x]"}

    def renamed(edge: str | None) -> str | None:
        return names.get(edge, edge) if edge else edge

    nodes = {
        names.get(name, name): {**node, "inputs": [renamed(edge) for edge in node.get("inputs") or ()]}
        for name, node in app.first["nodes"].items()
    }
    nodes["back\\slash"]["inputs"] = [None]
    places = {name: {"x": 280 * index, "y": 0} for index, name in enumerate(nodes) if name != "angle"}
    view = {"nodes": places | {"angle": {"x": 560, "y": 700}}, "notes": [], "groups": []}
    tab.show(app, {**app.first, "nodes": nodes, "view": view})
    tab.fit()

    def card(name: str) -> Any:
        return page.locator(".card", has=page.locator(f"text={name}")).first

    port = lambda name, which: card(name).locator(f'[data-port="{which}"]').first  # noqa: E731
    for source, target in (('a "quoted" name', "back\\slash"), ("back\\slash", "100 % [x]")):
        page.mouse.move(*centre(port(source, "out:0")))
        page.mouse.down()
        # Near the port, where the nearest one is looked for.
        x, y = centre(port(target, "in:0"))
        page.mouse.move(x - 12, y + 3, steps=6)
        page.mouse.move(x - 6, y + 2)
        page.mouse.up()
        steady(tab, lambda edge=(source, target): edge in edges(app), f"'{source}' is not linked to '{target}'")
    tab.idle()
