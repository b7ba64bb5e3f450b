"""The editor in another language: every text that it has of its own is translated."""

from __future__ import annotations

import queue
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dali_lab.gallery.samples import photographs
from dali_lab.studio.catalogue import catalogue
from dali_lab.studio.document.store import UNTITLED
from dali_lab.studio.session import Session
from tests.frameworks.browser.conftest import PATIENCE, App, Tab
from tests.frameworks.browser.test_panel_app import close_up

pytestmark = pytest.mark.own_app

# Every text becomes one in letters that English has not; names, numbers and places for values stay.
CATALOGUE = """
window.daliLabMessages = new Proxy({}, {
  get: (_, text) => typeof text === 'string'
    ? text.replace(/(%\\d|%%)|[A-Za-z]/g, (letter, place) => place ?? (letter < 'a' ? 'Ж' : 'ж')) : undefined,
});
"""

# Texts, and attributes that are shown or spoken, of elements that can be seen.
SHOWN = """
() => {
  const found = [];
  const visit = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) visit(element.shadowRoot);
      if (['STYLE', 'SCRIPT', 'CODE', 'PRE', 'KBD', 'TITLE'].includes(element.tagName)) continue;
      if (!element.closest('.dali-lab-editor') && element.getRootNode() === document) continue;
      if (!element.checkVisibility()) continue;
      for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
        if (element.getAttribute(name)) found.push(...element.getAttribute(name).split('\\n'));
      for (const child of element.childNodes) if (child.nodeType === 3) found.push(child.data);
    }
  };
  visit(document);
  return found;
}
"""
FIGURES = re.compile(
    r"[-–+−×·:,;./()\[\]?“”→←↑↓⌘⇧…%\d\s]"
    r"|\b(?:float|int|uint)\d+\b|\bbool\b|\b[NDFHWC]{1,5}\b|\b(?:ms|kB|MB|GB|s|CPU|GPU|DALI|Lab|µs|px|k)\b"
    r"|\b(?:Ctrl|Alt|Shift|Tab|Esc|Enter|Space|Del|Backspace|Delete|Home|F\d+|Arrow\w+|[A-Z])\b"
)


@pytest.fixture
def tab(browser: Any, app: App) -> Iterator[Tab]:
    """A tab in a language of its own."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.add_init_script(CATALOGUE)
    tab = Tab(context.new_page())
    tab.page.goto(app.address)
    tab.ready()
    yield tab
    context.close()
    assert not tab.problems


def strings(value: Any) -> Iterator[str]:
    """All strings of JSON data, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def said_by(session: Session) -> Any:
    """A session's response to `hello`: samples, forms of export, device."""
    said: queue.Queue[Any] = queue.Queue()
    port = session.attach(lambda message, buffers: said.put(message))
    session.receive(port, {"kind": "request", "id": "test-1", "method": "hello", "params": {"protocol": 1}})
    while (answer := said.get(timeout=PATIENCE)).get("id") != "test-1":
        pass
    session.detach(port)
    return answer["result"]


def test_no_english_is_left(tab: Tab, app: App) -> None:
    page, store = tab.page, app.session.store
    files = [name for path in photographs().rglob("*") for name in (path.name, path.parent.name)]
    data = [msgspec.to_builtins(catalogue()), store.document, said_by(app.session), files, [UNTITLED]]
    texts = {text.strip() for value in data for text in strings(value)}
    texts |= {text.replace("`", "") for text in texts}  # lists show summaries without marks
    # Texts of the session about itself, files and its samples are not the editor's.
    known = texts | {part.strip() for text in texts for part in re.split(r"\n\s*\n|\n|`+", text)}
    names = sorted({text for text in texts if re.fullmatch(r"[\w.]+", text)}, key=len, reverse=True)
    of_data = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")

    def english() -> set[str]:
        tab.idle()
        left = set()
        for shown in page.evaluate(SHOWN):
            text = " ".join(shown.split())
            if not text or shown.strip() in known or text in known or re.search("[Жж]", text):
                continue
            if text.partition(": ")[2] in known:
                continue
            parts = [part for part in re.split(r" · |: |, ", text) if part not in known]
            if any(FIGURES.sub("", of_data.sub("", part)) for part in parts):
                left.add(text)
        return left

    left = english()
    close_up(tab, "rotate")
    left |= english()
    for name in ("output", "help"):
        page.get_by_test_id("inspector").get_by_role("tab").nth(1 if name == "output" else 2).click()
        left |= english()
    for mode in ("compare", "follow", "sweep", "versions"):
        page.get_by_test_id("tray").locator(f'[data-mode="{mode}"]').click()
        left |= english()
    tab.still()
    tab.node("rotate").click(button="right", position={"x": 12, "y": 8})
    page.get_by_role("menu").wait_for()
    left |= english()
    page.keyboard.press("Escape")
    for command in ("open", "export", "shortcuts", "commands", "history"):
        page.locator(f'[data-command="{command}"]').first.click()
        tab.dialog(command)
        left |= english()
        page.keyboard.press("Escape")
    page.locator('[data-command="new"]').click()
    page.get_by_test_id("empty-canvas").wait_for()
    left |= english()
    assert sorted(left) == []
