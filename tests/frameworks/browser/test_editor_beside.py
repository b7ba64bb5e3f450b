"""Two graphs beside each other in the app: both live, over the same samples, with their differences marked."""

from __future__ import annotations

from tests.frameworks.browser.conftest import STILL, App, Tab


def test_a_second_graph_beside_the_first(tab: Tab, app: App) -> None:
    page = tab.page
    pane = page.locator('[data-pane="beside"]')

    def differing() -> list[str]:
        return [page.get_by_test_id("differing").nth(each).inner_text() for each in range(2)]

    page.locator('[data-command="beside"]').click()
    pane.locator(f'[data-testid="dali-editor"][data-ready="true"]{STILL}').wait_for()
    tab.wait(lambda: differing() == ["the same graph as beside"] * 2, "the copy is another graph")
    # An edit of one changes neither the other nor its pictures.
    pane.locator('[data-node-id="brightness_contrast"]').click(position={"x": 12, "y": 8})
    page.locator('[data-node-id="brightness_contrast"][data-selected="true"]').nth(1).wait_for()  # in both
    page.keyboard.press("b")  # bypassed
    pane.locator('[data-node-id="brightness_contrast"] .chip.differs').wait_for()
    page.locator('[data-node-id="brightness_contrast"] .chip.differs').nth(1).wait_for()
    assert differing() == ["1 node differs from beside"] * 2
    assert "bypass" not in app.session.store.document["view"]["nodes"].get("brightness_contrast", {})
    # The next batch is that of both.
    page.locator('[data-command="step"]').first.click()
    tab.wait(
        lambda: [page.get_by_test_id("iteration").nth(each).inner_text() for each in range(2)] == ["batch 2"] * 2,
        "the other shows another batch",
    )
    # Closed and opened again, it is as it was left.
    page.locator('[data-command="beside"]').first.click()
    pane.wait_for(state="detached")
    tab.still()
    page.keyboard.press("Shift+B")
    pane.locator('[data-node-id="brightness_contrast"] .chip.differs').wait_for()
