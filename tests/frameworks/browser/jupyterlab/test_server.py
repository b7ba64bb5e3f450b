"""A server that stops and returns, in a page of its own: the last file here, since all kernels end with the server."""

from __future__ import annotations

from typing import Any

from tests.frameworks.browser.jupyterlab.document import EDITOR, Document, page_of, picture_text
from tests.frameworks.browser.lab import Lab, is_ours


def test_server_goes_away_and_returns(lab: Lab, browser: Any) -> None:
    with page_of(lab, browser) as tab:
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
