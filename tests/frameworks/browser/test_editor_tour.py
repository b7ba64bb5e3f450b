"""The tour does its gestures in the graph, and links pass through points."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.browser.conftest import App, Tab, in_a_row

MIDDLE = """() => {
  const find = (root) => {
    const here = root.querySelector('[data-testid="edge"][data-target^="normalize:in"] path');
    if (here) return here;
    for (const element of root.querySelectorAll('*')) {
      const inside = element.shadowRoot && find(element.shadowRoot);
      if (inside) return inside;
    }
    return null;
  };
  const path = find(document);
  const { x, y } = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
  return [x, y];
}"""


@pytest.fixture
def first_document(kept_app: App) -> dict[str, Any]:
    """In one row, so that no node lies on the middle of a link, however the window would have them wrapped."""
    return in_a_row(kept_app.first)


@pytest.mark.own_app
def test_the_tour_is_offered_once_and_each_step_can_be_shown_or_done(tab: Tab, app: App) -> None:
    page = tab.page

    def document() -> Any:
        return app.session.store.document

    def step(name: str) -> Any:
        card = page.locator(f'[data-testid="tour"][data-step="{name}"]')
        card.wait_for()
        return card.locator('[data-action="show"]')

    page.get_by_test_id("tour-offer").get_by_role("button", name="Take the tour").click()
    assert page.get_by_test_id("tour-offer").count() == 0
    # A number can be dragged however far away the graph is: the inspector shows it.
    page.get_by_test_id("inspector").get_by_role("spinbutton").or_(
        page.get_by_test_id("inspector").get_by_role("slider")
    ).first.wait_for()
    step("slider").click()
    step("insert").click()
    step("random").click()
    step("batch")
    tab.idle()
    assert document()["nodes"]["normalize"]["inputs"] == ["gaussian_blur"]
    assert document()["nodes"]["brightness_contrast"]["connections"]
    # The person's own actions count as well.
    page.locator('[data-command="step"]').first.click()
    step("undo")
    page.keyboard.press("ControlOrMeta+z")
    step("export").click()
    tab.dialog("export")
    assert page.get_by_test_id("tour").count() == 0
    page.keyboard.press("Escape")
    page.reload()
    tab.ready()
    assert page.get_by_test_id("tour-offer").count() == 0


def test_a_link_passes_through_points(tab: Tab, app: App) -> None:
    page = tab.page

    def route() -> Any:
        return app.session.store.document["view"]["nodes"]["normalize"].get("routes")

    tab.fit()
    page.mouse.dblclick(*page.evaluate(MIDDLE))
    point = page.get_by_test_id("route-point")
    point.wait_for()
    tab.idle()
    (first,) = route()["in:0"]
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=3)
    page.mouse.up()
    tab.idle()
    (second,) = route()["in:0"]
    assert second[1] > first[1] + 30
    page.keyboard.press("ControlOrMeta+z")
    tab.idle()
    assert route() == {"in:0": [first]}
    point.focus()
    page.keyboard.press("Delete")
    point.wait_for(state="detached")
    tab.idle()
    assert route() is None
