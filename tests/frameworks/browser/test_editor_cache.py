"""The cache panel: it names the work that never changes, measures the gain, and is switched on by mouse."""

from __future__ import annotations

import re

from tests.frameworks.browser.conftest import Tab


def test_a_cache_is_measured_and_switched_on(tab: Tab) -> None:
    page = tab.page
    page.locator(".react-flow__pane").click(position={"x": 12, "y": 12})
    panel = page.get_by_test_id("cache-panel")
    panel.get_by_text("give the same in every epoch").wait_for()
    panel.get_by_test_id("measure-cache").click()
    gain = panel.get_by_test_id("cache-gain")
    gain.wait_for(timeout=120_000)
    assert re.fullmatch(r"[\d.]+ [kMG]?B, epochs [\d.]+ times as fast", gain.inner_text())
    page.locator("[data-border]").first.wait_for()
    panel.get_by_role("button", name="Keep in memory").click()
    panel.get_by_text("Their results are kept in memory.").wait_for()
    page.keyboard.press("Control+z")
    panel.get_by_role("button", name="Keep in memory").wait_for()
