"""A sub-graph in JupyterLab: made, named, opened, edited, left, undone, saved, opened again and exported."""

from __future__ import annotations

import json
from typing import Any

from tests.frameworks.browser.jupyterlab.document import Document, picture_text


def groups(shown: Document) -> list[Any]:
    """The groups of the graph on the canvas."""
    found: list[Any] = shown.ask("(widget) => widget.content.handle.getDocument().view.groups")
    return found


def test_a_group_is_made_left_and_undone_by_keyboard(shown: Document) -> None:
    shown.open("keyboard.dali.json", picture_text("flip", resize=RESIZE, flip=FLIP))
    shown.choose("resize")
    shown.page.keyboard.press("Shift+]")
    shown.find('[data-node-id="flip"][data-selected="true"]').first.wait_for()
    shown.page.keyboard.press("Control+g")
    shown.find('input[aria-label="Title of the group"]').wait_for()
    shown.page.keyboard.type("Shape")
    shown.page.keyboard.press("Enter")
    shown.wait(lambda: [each["title"] for each in groups(shown)] == ["Shape"], "the group has another title")
    assert set(groups(shown)[0]["nodes"]) == {"resize", "flip"}

    # H shows it as one node and opens it again; what is inside goes on working.
    card = shown.find(".react-flow__node-subgraph")
    shown.page.keyboard.press("h")
    card.filter(has_text="Shape").wait_for()
    shown.node("resize").wait_for(state="detached")
    card.locator('img[data-node="flip"]').first.wait_for()
    shown.page.keyboard.press("h")
    shown.node("resize").wait_for()
    card.wait_for(state="detached")
    for _ in range(2):
        shown.page.keyboard.press("Control+z")
    shown.page.keyboard.press("Control+z")
    shown.wait(lambda: groups(shown)[0]["title"] != "Shape", "the title is not undone")
    shown.page.keyboard.press("Control+z")
    shown.wait(lambda: not groups(shown), "the group is not undone")


def test_a_group_is_opened_edited_saved_and_exported(shown: Document) -> None:
    name = "mouse.dali.json"
    document = json.loads(picture_text("flip", resize=RESIZE, flip=FLIP))
    shown.open(name, json.dumps(document))
    shown.choose("resize")
    shown.choose("flip", more=True)
    shown.node("flip").click(position={"x": 40, "y": 8}, button="right")
    shown.find('[role="menu"] [data-item="group"]').click()
    shown.find('input[aria-label="Title of the group"]').press("Enter")
    shown.still()
    title = shown.find(".group-title")
    title.click(button="right")
    shown.find('[role="menu"] [data-item="collapse"]').click()
    card = shown.find(".react-flow__node-subgraph")
    card.wait_for()

    # Opened by its button, edited inside, and left again.
    card.locator('[data-action="expand"]').click()
    shown.choose("resize")
    shown.set_argument("resize", "size", [48, 32])
    shown.idle()
    shown.wait(lambda: "32 × 48" in shown.node("resize").inner_text(), "the pictures have another size")
    shown.still()
    title.click(button="right")
    shown.find('[role="menu"] [data-item="collapse"]').click()
    card.wait_for()
    shown.still()

    # Saved and opened again it is one node still; the program has all that is in it.
    shown.page.keyboard.press("Control+s")
    shown.wait(lambda: not shown.dirty() and '"collapsed": true' in shown.text(name), "it is not saved")
    saved = json.loads(shown.text(name))
    assert saved["nodes"]["resize"]["arguments"]["size"] == [48, 32]
    assert [(set(each["nodes"]), each["collapsed"]) for each in saved["view"]["groups"]] == [({"resize", "flip"}, True)]
    shown.ask("(widget) => widget.close()")
    shown.wait(lambda: shown.find(".dali-document").count() == 0, "it is not closed")
    shown.open(name)
    card.locator('img[data-node="flip"]').first.wait_for()
    shown.node("resize").wait_for(state="detached")
    assert not shown.dirty()
    shown.command("dali-lab:copy-python")
    copied = lambda: shown.page.evaluate("navigator.clipboard.readText()")  # noqa: E731
    shown.wait(lambda: "fn.resize(" in copied() and "fn.flip(" in copied(), "the program lacks what is in the group")


RESIZE = {"op": "resize", "inputs": ["decode"], "arguments": {"size": [64, 64]}}
FLIP = {"op": "flip", "inputs": ["resize"]}
