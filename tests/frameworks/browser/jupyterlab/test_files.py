"""A file on the canvas: its pictures, its text, its name, and its errors."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.graph_document import written
from dali_lab.studio.document.starts import first_pipeline
from tests.frameworks.browser.conftest import PATIENCE
from tests.frameworks.browser.jupyterlab.document import READY, Document, small_text


def test_file_opens_on_the_canvas_with_pictures_and_is_saved(shown: Document) -> None:
    document = first_pipeline(photographs())
    document["view"]["nodes"] = {name: {"x": 400 * index, "y": 0} for index, name in enumerate(document["nodes"])}
    text = written(document)
    shown.open("cats.dali.json", text, ready=False, alone=True)
    # A kernel that meets these operators for the first time compiles them.
    shown.find('img[data-node="normalize"]').first.wait_for()
    shown.still()
    assert not shown.dirty(), "to open a file is no change"
    assert shown.text("cats.dali.json") == text
    for name in ("run", "stop", "step", "undo", "fit", "export", "seed", "kernelName", "kernelStatus"):
        item = shown.find(f'.jp-Toolbar [data-jp-item-name="{name}"]')
        shown.wait(lambda: item.count() == 1, name)  # noqa: B023

    # A change marks the file; undo takes it back; Ctrl+S writes it, and nothing but the line of what changed.
    seed = shown.page.get_by_label("Seed")
    seed.fill("7")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.find('[data-jp-item-name="undo"] >> visible=true').first.click()
    shown.wait(lambda: seed.input_value() == "42", "undo did not bring the seed back")
    seed.fill("9")
    seed.press("Enter")
    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    shown.page.keyboard.press("Control+s")
    shown.wait(lambda: '"seed": 9' in shown.text("cats.dali.json"), "the file is not written")
    shown.wait(lambda: not shown.dirty(), "the file is still marked")
    before, after = text.splitlines(), shown.text("cats.dali.json").splitlines()
    assert [line for line in before if line not in after] == [line for line in before if '"seed": 42' in line]

    # The next batch shows other pictures; the program goes to the clipboard.
    shown.idle()
    source = shown.find('img[data-node="decode"]').first
    first = source.get_attribute("src")
    shown.find('[data-jp-item-name="step"] >> visible=true').first.click()
    shown.wait(lambda: source.get_attribute("src") != first, "the next batch shows the same pictures")
    shown.command("dali-lab:copy-python")
    copied = lambda: shown.page.evaluate("navigator.clipboard.readText()")  # noqa: E731
    shown.wait(lambda: "pipeline_def" in (text := copied()) and "brightness_contrast" in text, "nothing was copied")


def test_text_that_is_no_graph_says_so_in_place(shown: Document) -> None:
    shown.open("broken.dali.json", '{"nodes": ', ready=False)
    bar = shown.bar("text")
    bar.filter(has_text="not JSON").wait_for()
    assert shown.text("broken.dali.json") == '{"nodes": '
    bar.get_by_role("button", name="Open as text").click()
    # The text is mended beside it: the canvas appears.
    text = shown.page.locator(".jp-FileEditor .cm-content")
    text.filter(has_text='{"nodes": ').wait_for()
    text.fill(small_text())
    shown.page.locator(READY).wait_for()
    shown.page.locator('[data-node-id="value"]').first.wait_for()


def test_newer_version_is_left_alone(shown: Document) -> None:
    text = small_text().replace('"version": 1', '"version": 99')
    shown.open("newer.dali.json", text, ready=False)
    shown.bar("text").filter(has_text="newer version").wait_for()
    assert shown.text("newer.dali.json") == text


def test_file_changed_by_another_program(shown: Document) -> None:
    shown.open("other.dali.json", small_text())
    other = shown.lab.folder / "other.dali.json"
    other.write_text(small_text().replace('"value"', '"renamed"'))
    # The server tells files apart by the second.
    os.utime(other, (time.time() + 5, time.time() + 5))
    seed = shown.page.get_by_label("Seed")
    seed.fill("5")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.page.evaluate("void window.jupyterapp.commands.execute('docmanager:save')")
    shown.page.locator('.jp-Dialog button:has-text("Revert")').click()
    shown.wait(lambda: shown.node("renamed").count() == 1, "the new text is not on the canvas")
    shown.wait(lambda: seed.input_value() == "7", "the old seed is shown")
    shown.wait(lambda: not shown.dirty(), "what was read is marked as changed")


def test_text_and_canvas_edited_at_once_keep_both(shown: Document) -> None:
    shown.open("both.dali.json", small_text())
    edit = """(widget) => {
      const { handle } = widget.content, graph = handle.getDocument(), { model } = widget.context;
      handle.setDocument({ ...graph, pipeline: { ...graph.pipeline, seed: 11 } });
      model.fromString(model.toString().replace('"op": "random.uniform"', '"op": "random.normal"'));
    }"""
    shown.ask(edit)
    done = """(widget) => {
      const text = widget.context.model.toString(), graph = widget.content.handle.getDocument();
      return text.includes('random.normal') && text.includes('"seed": 11')
        && graph.pipeline.seed === 11 && graph.nodes.value.op === 'random.normal';
    }"""
    shown.wait(lambda: shown.ask(done), "one of two edits was lost")


def test_rename_autosave_save_as_and_read_only(shown: Document) -> None:
    shown.open("before.dali.json", small_text())
    rename = "([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to).then(() => null)"
    shown.page.evaluate(rename, ["before.dali.json", "after.dali.json"])
    title = "(widget) => widget.content.handle?.editor.session.get().title"
    shown.wait(lambda: shown.ask(title) == "after", "the new name did not arrive")

    # Autosave writes what was changed, without a word.
    seed = shown.page.get_by_label("Seed")
    seed.fill("12")
    seed.press("Enter")
    shown.wait(shown.dirty, "the file is not marked")
    shown.command("docmanager:toggle-autosave")
    shown.wait(lambda: '"seed": 12' in shown.text("after.dali.json"), "it was not saved by itself")
    shown.command("docmanager:toggle-autosave")

    shown.find(".react-flow__pane").first.click(position={"x": 20, "y": 20})
    shown.page.keyboard.press("Control+Shift+s")
    shown.page.locator(".jp-Dialog input").fill("third.dali.json")
    shown.page.locator(".jp-Dialog .jp-mod-accept").click()
    third = shown.lab.folder / "third.dali.json"
    shown.wait(lambda: third.exists() and seed_in(third.read_text()) == 12, "it was not saved under the new name")
    shown.ready()

    def fixed(route: Any) -> None:
        response = route.fetch(timeout=1000 * PATIENCE)
        route.fulfill(response=response, json={**response.json(), "writable": False})

    shown.page.route("**/api/contents/fixed.dali.json*", fixed)
    shown.open("fixed.dali.json", small_text())
    shown.wait(shown.page.get_by_label("Seed").last.is_disabled, "the seed can be changed")
    shown.choose("value")
    shown.page.keyboard.press("Delete")
    shown.page.locator('[role="alert"]:has-text("read-only")').first.wait_for()
    assert shown.node("value").count() == 1 and not shown.dirty()

    # Another program writes the file: loaded anew, it is what the canvas shows.
    (shown.lab.folder / "fixed.dali.json").write_text(small_text(other={"op": "random.normal"}))
    shown.command("docmanager:reload")
    shown.node("other").wait_for()
    shown.still()
    assert shown.page.get_by_label("Seed").last.is_disabled() and not shown.dirty()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
def test_file_without_permission_is_read_only(shown: Document) -> None:
    (shown.lab.folder / "locked.dali.json").write_text(small_text())
    (shown.lab.folder / "locked.dali.json").chmod(0o444)
    shown.open("locked.dali.json")
    shown.wait(shown.page.get_by_label("Seed").last.is_disabled, "the seed can be changed")


def seed_in(text: str) -> int | None:
    """The seed in a graph's text; `None` while it is not written whole."""
    try:
        seed: int = json.loads(text)["pipeline"]["seed"]
    except ValueError:
        return None
    return seed
