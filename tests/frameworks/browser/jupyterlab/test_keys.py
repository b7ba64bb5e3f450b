"""Keys: JupyterLab's settings apply on the canvas; keys that the canvas does not use go to JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.frameworks.browser.jupyterlab.document import EDITOR, Document, small_text

SHORTCUTS = "@jupyterlab/shortcuts-extension:shortcuts"
PLACE = ".dali-document .dali-lab-editor"
SET = """([plugin, name, value]) => {
  const { service } = window.jupyterapp.pluginRegistry._plugins.get('@jupyterlab/apputils-extension:settings');
  return service.set(plugin, name, value);
}"""
"""Changes a setting, as the settings editor does."""


@pytest.fixture
def keys(shown: Document) -> Iterator[Document]:
    """A document with the keyboard on its canvas; in the end the keys are those of the beginning."""
    shown.open("keys.dali.json", small_text())
    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    yield shown
    shown.page.evaluate(SET, [SHORTCUTS, "shortcuts", []])


def bind(shown: Document, **bindings: tuple[str | None, str]) -> None:
    """Give commands other keys in the settings: for each, the keys that go and those that come."""
    taken = [
        {"command": f"dali-lab:{name}", "keys": [old], "selector": PLACE, "disabled": True}
        for name, (old, _) in bindings.items()
        if old is not None
    ]
    given = [
        {"command": f"dali-lab:{name}", "keys": new.split(", "), "selector": PLACE}
        for name, (_, new) in bindings.items()
    ]
    shown.page.evaluate(SET, [SHORTCUTS, "shortcuts", [*taken, *given]])


def hint(shown: Document, item: str) -> str:
    """The keys that the canvas' own menu says."""
    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20}, button="right")
    menu = shown.find('[role="menu"]')
    menu.wait_for()
    found: str = " ".join(menu.locator(f'[data-item="{item}"] kbd').all_inner_texts())
    shown.page.keyboard.press("Escape")
    menu.wait_for(state="detached")
    return found


def test_keys_changed_in_the_settings_reach_the_canvas(keys: Document) -> None:
    count = lambda: keys.find("[data-node-id]").count()  # noqa: E731
    assert [hint(keys, name) for name in ("fit", "arrange", "select-all")] == ["F", "L", "Ctrl+A"]
    bind(keys, **{"arrange": ("L", "J"), "select-all": ("Accel A", "Accel Shift U"), "duplicate": (None, "Accel I, J")})
    keys.wait(lambda: hint(keys, "arrange") == "J", "the canvas has other keys than the settings")
    keys.wait(lambda: hint(keys, "select-all") == "Ctrl+Shift+U", "only one of the keys is another")

    keys.page.keyboard.press("Control+a")
    selected = lambda: keys.ask("(widget) => widget.content.handle.editor.selection.get().nodes.size")  # noqa: E731
    assert not selected()
    keys.page.keyboard.press("Control+Shift+U")
    keys.wait(lambda: selected() == 1, "the new keys do nothing")
    # Several strokes, one after the other.
    keys.page.keyboard.press("Control+i")
    keys.page.keyboard.press("j")
    keys.wait(lambda: count() == 2, "two strokes did nothing")
    keys.page.keyboard.press("Control+z")
    keys.wait(lambda: count() == 1, "a key that nobody changed did nothing")

    # JupyterLab's menu says the same keys, and the list of shortcuts too.
    keys.menu("Pipeline")
    said = lambda name: keys.page.locator(f'.lm-Menu-item[data-command="dali-lab:{name}"] .lm-Menu-itemShortcut')  # noqa: E731
    assert [said(name).inner_text() for name in ("fit", "zoom-in", "export")] == ["F", "Ctrl+=", "Ctrl+E"]
    keys.page.keyboard.press("Escape")
    keys.command("dali-lab:shortcuts")
    arrange = keys.find('[role="dialog"] div:has(> dt:text-is("Arrange")) kbd')
    keys.wait(lambda: arrange.all_inner_texts() == ["J"], "the list has other keys")


def test_what_the_canvas_does_not_take_is_jupyterlabs(keys: Document) -> None:
    collapsed = "() => window.jupyterapp.shell.leftCollapsed"
    before = keys.page.evaluate(collapsed)
    keys.page.keyboard.press("Control+b")
    keys.wait(lambda: keys.page.evaluate(collapsed) != before, "the side bar does not hear its keys")
    keys.page.keyboard.press("Control+b")
    keys.wait(lambda: keys.page.evaluate(collapsed) == before, "the side bar does not hear its keys")

    # In a field of the editor, too; what is written there is the field's.
    search = keys.find('[data-testid="palette"] input').first
    search.click()
    keys.page.keyboard.type("fbh")
    keys.wait(lambda: search.input_value() == "fbh", "the field does not get what is written")
    keys.page.keyboard.press("Control+b")
    keys.wait(lambda: keys.page.evaluate(collapsed) != before, "a field keeps keys for itself")
    keys.page.keyboard.press("Control+b")
    keys.wait(lambda: keys.page.evaluate(collapsed) == before, "a field keeps keys for itself")


def test_menus_say_what_applies_and_what_is_on(keys: Document) -> None:
    def item(menu: list[str], name: str) -> Any:
        keys.menu(*menu)
        return keys.page.locator(f'.lm-Menu-item[data-command="{name}"]')

    def classes(menu: list[str], name: str) -> set[str]:
        found = set((item(menu, name).get_attribute("class") or "").split()) & {"lm-mod-disabled", "lm-mod-toggled"}
        keys.page.keyboard.press("Escape")
        keys.page.keyboard.press("Escape")
        return found

    assert classes(["Pipeline"], "dali-lab:stop") == {"lm-mod-disabled"}
    assert classes(["Pipeline"], "dali-lab:toggle-tray") == {"lm-mod-toggled"}
    keys.command("dali-lab:toggle-tray")
    assert classes(["Pipeline"], "dali-lab:toggle-tray") == set()
    keys.command("dali-lab:toggle-tray")
    nodes = ["Pipeline", "Selected Nodes"]
    assert classes(nodes, "dali-lab:bypass") == {"lm-mod-disabled"}
    keys.ask("(widget) => widget.content.handle.editor.select(['value'])")
    assert classes(nodes, "dali-lab:disable") == set()
    keys.command("dali-lab:disable")
    assert classes(nodes, "dali-lab:disable") == {"lm-mod-toggled"}
    keys.idle()

    # The menu has each command that restarts a kernel once.
    keys.menu("Kernel")
    shown = keys.page.locator(".lm-Menu .lm-Menu-itemLabel:visible")
    shown.first.wait_for()
    labels = shown.all_inner_texts()
    assert labels.count("Restart Kernel…") == 1
    keys.page.keyboard.press("Escape")
    keys.find(f"{EDITOR}").first.wait_for()
