"""Sub-graphs: made of nodes, used again, opened and edited in place, exported as a function."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_panel_app import node_names

pytestmark = pytest.mark.own_app


def test_a_sub_graph_is_made_used_again_opened_and_exported(tab: Tab, app: App) -> None:
    page = tab.page

    def document() -> Any:
        return app.session.store.document

    before, pixels = document(), tab.wait_for_pixels("normalize", bool)
    tab.choose("rotate")
    tab.choose("brightness_contrast", more=True)
    page.keyboard.press("ControlOrMeta+Shift+U")
    tab.node("augment").wait_for()
    tab.still()
    assert sorted(node_names(tab)) == ["angle", "augment", "decode", "normalize", "reader", "resize"]
    # It has its own arguments and picture, and nothing after it has changed.
    assert tab.wait_for_pixels("normalize", bool) == pixels and tab.wait_for_pixels("augment", bool)
    assert tab.node("augment").locator('[data-argument="brightness"]').count() == 1
    # Another use, from the palette.
    tab.choose("resize")
    page.locator('[data-testid="palette"] [data-op="subgraph.augment"]').first.dblclick()
    tab.node("augment_2").wait_for()
    tab.still()
    assert document()["nodes"]["augment_2"]["inputs"] == ["resize"]
    # Opened in place, what is changed inside changes all uses.
    second = tab.wait_for_pixels("augment_2", bool)
    tab.fit()
    tab.node("augment").locator('[data-action="open-subgraph"]').click()
    tab.node("brightness_contrast").wait_for()
    tab.still()
    tab.choose("rotate")
    page.locator('[data-testid="palette-search"]').fill("flip")
    page.locator('[data-testid="palette"] [data-op="flip"]').first.dblclick()
    tab.node("flip").wait_for()
    tab.still()
    (group,) = document()["view"]["groups"]
    assert group["nodes"] == ["rotate", "brightness_contrast", "flip"]
    tab.choose("flip")
    page.keyboard.press("u")
    tab.node("augment").wait_for()
    tab.still()
    assert list(document()["subgraphs"]["augment"]["nodes"]) == ["rotate", "brightness_contrast", "flip"]
    assert document()["subgraphs"]["augment"]["outputs"] == ["brightness_contrast", "flip"]
    assert tab.wait_for_pixels("augment_2", bool) == second  # a branch beside the first output
    # The program has it as a function.
    page.get_by_role("button", name="Export").first.click()
    program = tab.dialog("export").get_by_test_id("export-text")
    tab.wait(lambda: "@subgraph\ndef augment(" in program.inner_text(), "the program has no function")
    page.keyboard.press("Escape")
    # Saved in the gallery, the palette finds it, with its picture.
    tab.choose("augment")
    page.locator('[data-action="save-to-gallery"]').click()
    page.locator('[data-testid="palette-search"]').fill("augment")
    recipe = page.locator('[data-testid="palette-recipe"][data-entry="augment"]')
    recipe.locator("img").wait_for()
    recipe.drag_to(page.locator(".react-flow__pane"), target_position={"x": 30, "y": 420})
    tab.node("augment_3").wait_for()
    tab.still()
    assert document()["nodes"]["augment_3"]["op"] == "subgraph.augment"  # the definition that is here already
    assert list(document()["subgraphs"]) == ["augment"]
    # Every step is one of undo.
    while document()["nodes"] != before["nodes"]:
        page.keyboard.press("ControlOrMeta+z")
        tab.idle()
    assert "subgraphs" not in document()
