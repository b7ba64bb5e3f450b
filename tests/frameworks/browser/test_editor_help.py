"""The help of an operator leads to its page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dali_lab.model.documentation import operator_page
from dali_lab.studio import catalogue
from dali_lab.studio.server import pages as addresses
from tests.frameworks.browser.conftest import Tab

pytestmark = pytest.mark.own_app


@pytest.fixture(autouse=True)
def pages(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the app looks for the documentation in."""
    folder = tmp_path_factory.mktemp("pages")
    for module in (catalogue, addresses):
        monkeypatch.setattr(module, "pages_folder", lambda: folder)
    return folder


def help_of(tab: Tab, node: str) -> Any:
    tab.fit()
    tab.choose(node)
    inspector = tab.page.get_by_test_id("inspector")
    inspector.get_by_role("tab", name="Help").click()
    return inspector


def test_the_command_is_named_until_the_documentation_is_built(pages: Path, tab: Tab) -> None:
    shown = help_of(tab, "rotate")
    shown.get_by_text("dali-lab docs rotate").wait_for()
    page = pages / operator_page("rotate")
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html><title>rotate</title><h1>The page of rotate</h1>")
    tab.page.reload()
    link = help_of(tab, "rotate").get_by_test_id("help-page")
    with tab.page.context.expect_page() as opened:
        link.click()
    opened.value.get_by_text("The page of rotate").wait_for()
