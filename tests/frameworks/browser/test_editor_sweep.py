"""A sweep goes through any number, and through two of them as a contact sheet."""

from __future__ import annotations

from typing import Any

from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_editor import select, steady


def bottom(what: Any) -> float:
    box = what.bounding_box()
    return float(box["y"] + box["height"])


def test_a_blur_is_swept_by_sigma_and_two_arguments_make_a_sheet(tab: Tab, app: App) -> None:
    page, document = tab.page, app.session.store.document
    blur = {"op": "gaussian_blur", "device": "cpu", "inputs": ["decode"], "arguments": {"sigma": 3.7}}
    tab.show(app, {**document, "nodes": {**document["nodes"], "blur": blur}})
    page.wait_for_selector('img[data-node="blur"]')
    select(tab, "blur")
    tray = page.get_by_test_id("tray")
    tray.locator('[data-mode="sweep"]').click()
    sheet = page.get_by_test_id("sweep")
    choice = page.get_by_label("Argument to sweep", exact=True)
    choice.wait_for()
    assert choice.input_value() == "sigma"
    tab.wait(lambda: sheet.locator("img").count() == 7, "there are no pictures for values of sigma")
    last = sheet.locator("img").last.bounding_box()
    box = tray.bounding_box()
    assert last["x"] + last["width"] <= box["x"] + box["width"], "not all values are seen at once"
    # Two arguments of another node.
    select(tab, "brightness_contrast")
    tray.locator('[data-mode="sweep"]').click()
    choice.select_option("brightness")
    page.get_by_label("Second argument to sweep").select_option("contrast")
    tab.wait(lambda: sheet.locator("img").count() == 20, "the contact sheet is not whole")
    # All rows are reached by the wheel.
    sheet.locator("button").first.hover()
    page.mouse.wheel(0, 2000)
    low = sheet.locator("button").last
    tab.wait(lambda: bottom(low) <= bottom(tray) + 1, "the last row of the sheet cannot be scrolled into sight")
    before = app.session.store.document["nodes"]["brightness_contrast"]["arguments"]
    sheet.locator("button").last.click()

    def taken() -> bool:
        now = app.session.store.document["nodes"]["brightness_contrast"]["arguments"]
        return bool(now["brightness"] != before["brightness"] and now["contrast"] != before["contrast"])

    steady(tab, taken, "a click does not take both values")
    # The sheet is made anew, and the button that was pressed keeps the keys.
    steady(
        tab,
        lambda: sheet.locator("img").count() == 20 and sheet.locator("button:focus").count() == 1,
        "the pressed button loses the keys",
    )
    page.keyboard.press("Control+z")
    steady(
        tab,
        lambda: app.session.store.document["nodes"]["brightness_contrast"]["arguments"] == before,
        "undo is not one step",
    )
    steady(tab, lambda: sheet.locator("button:focus").count() == 1, "the pressed button loses the keys by undoing")


def test_the_strength_of_random_turns_is_swept_in_the_pictures_that_they_make(tab: Tab, app: App) -> None:
    page = tab.page
    select(tab, "angle")
    page.get_by_test_id("tray").locator('[data-mode="sweep"]').click()
    sheet = page.get_by_test_id("sweep")
    tab.wait(lambda: sheet.locator("img").count() == 7, "there are no pictures for widths of the range")
    captions = sheet.locator("figcaption").all_inner_texts()
    assert captions[3] == "-25, 25"
    assert [each.split(", ")[0].lstrip("-") for each in captions] == [each.split(", ")[1] for each in captions]
    sheet.locator("button").first.click()
    low, high = (float(end) for end in captions[0].split(", "))

    def taken() -> bool:
        return bool(app.session.store.document["nodes"]["angle"]["arguments"]["range"] == [low, high])

    steady(tab, taken, "a click does not take the range")
