"""The editor asks before a session uses a folder outside its roots, and goes on once the person allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions
from tests.browser.conftest import App, Tab
from tests.unit.studio.conftest import document


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
