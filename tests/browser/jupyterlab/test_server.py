"""A server that stops and returns; it has a page of its own, since the kernels of all documents end with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.jupyterlab.document import EDITOR, Document, in_a_page, picture_text
from tests.browser.lab import is_ours


def test_server_goes_away_and_returns(tmp_path: Path, browser: Any) -> None:
    with in_a_page(tmp_path, browser) as (lab, tab):
        shown = Document(tab, lab)
        shown.open("away.dali.json", picture_text(), alone=True)
        lab.stop()
        shown.bar("kernel").filter(has_text="server cannot be reached").wait_for()
        shown.page.locator(".jp-Dialog button").last.click()
        shown.set_argument("decode", "output_type", "GRAY")
        lab.start()
        shown.find(f'{EDITOR}[data-connection="connected"]').wait_for()
        shown.idle()
        shown.wait(lambda: "× 1" in shown.node("decode").inner_text(), "what was changed meanwhile is not shown")
    # The browser itself speaks of each request that found no server.
    assert not [each for each in tab.problems if is_ours(each) and "ERR_CONNECTION_REFUSED" not in each]
    assert tab.hosts <= {"127.0.0.1"}
