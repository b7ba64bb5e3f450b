"""The editor asks before a session uses a folder outside its roots or runs a program, and goes on once it may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions
from tests.frameworks.browser.conftest import App, Tab
from tests.unit.studio.conftest import document

pytestmark = pytest.mark.own_app


def test_a_folder_outside_is_asked_for(app: App, open_tab: Callable[[], Tab], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "cats").mkdir(parents=True)
    cv2.imwrite(str(outside / "cats" / "0.png"), np.full((32, 32, 3), 200, np.uint8))
    tab = open_tab()
    store = app.session.store
    store.permissions = Permissions(Roots([tmp_path / "nothing"]))
    app.session.evaluator._roots = store.permissions.roots
    tab.show(app, document(outside))
    error = tab.node("reader").get_by_test_id("node-error")
    error.wait_for()
    error.locator('[data-action="ask-permission"]').click()
    question = tab.dialog("permission")
    assert question.get_by_test_id("permission-text").inner_text().strip() == str(outside)
    question.locator('[data-action="refuse"]').click()
    question.wait_for(state="detached")
    assert error.is_visible(), "the person said no"
    error.locator('[data-action="ask-permission"]').click()
    tab.dialog("permission").locator('[data-action="allow"]').click()
    tab.page.wait_for_selector('img[data-node="decode"]')
    assert not tab.problems


def test_programs_are_run_only_after_consent(tab: Tab, app: App, tmp_path: Path) -> None:
    page = tab.page
    program = tmp_path / "train.py"
    program.write_text(
        "from dali_lab import fn, pipeline_def\n"
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
        "@pipeline_def(batch_size=2, num_threads=1)\n"
        "def training(folder):\n"
        "    image, label = fn.readers.file(file_root=folder, name='files')\n"
        "    for _ in range(2):\n"
        "        image = fn.decoders.image(image) if _ == 0 else fn.flip(image)\n"
        "    return image, label\n"
    )
    page.locator('[data-command="open"]').first.click()
    dialog = page.locator('[role="dialog"][data-dialog="open"]')
    dialog.get_by_role("tab", name="File").click()
    dialog.locator(f'[data-path="{program}"]').click()
    choice = page.locator('[role="dialog"][data-dialog="program"]')
    choice.wait_for()
    start = choice.locator('[data-action="open-program"]')
    assert start.is_disabled() and not (tmp_path / "ran").exists()
    choice.get_by_label("folder").fill(str(tmp_path))
    assert start.is_disabled(), "it would run without consent"
    consent = choice.get_by_test_id("consent")
    consent.check()
    assert choice.get_by_test_id("program-text").inner_text().strip() == program.read_text().strip()
    program.write_text(program.read_text() + "# one more line\n")
    start.click()
    choice.get_by_text("one more line").wait_for()
    assert start.is_disabled() and not consent.is_checked(), "the person agreed to another program"
    assert not (tmp_path / "ran").exists()
    consent.check()
    start.click()
    choice.wait_for(state="detached")
    tab.wait(lambda: "files" in app.session.store.document["nodes"], "the graph is not there")
    assert (tmp_path / "ran").exists()
