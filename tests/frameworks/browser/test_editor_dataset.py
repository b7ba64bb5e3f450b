"""The dataset view by mouse: labels, search, samples that are pinned; and the ways into files and the gallery."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.starts import first_pipeline
from tests.frameworks.browser.conftest import App, Tab
from tests.frameworks.browser.test_panel_app import node_names


def test_samples_are_found_in_the_dataset_and_pinned(tab: Tab) -> None:
    page = tab.page
    page.locator('[data-command="dataset"]').first.click()
    dialog = tab.dialog("dataset")
    dialog.locator(".dataset-tile img").first.wait_for()
    dialog.get_by_role("button", name="sky").click()
    tab.wait(lambda: dialog.get_by_test_id("dataset-facts").inner_text() == "3 of 13 samples", "no filter by label")
    tab.wait(lambda: dialog.locator(".dataset-tile img").count() == 3, "no pictures of the label")
    dialog.locator(".dataset-tile").nth(0).click()
    dialog.locator(".dataset-tile").nth(2).click(modifiers=["Shift"])
    dialog.get_by_test_id("pin").click()
    first = page.locator('.tray [data-sample="0"] figcaption')
    tab.wait(lambda: "hubble_deep_field.jpg" in first.text_content(), "the chosen samples are not shown")
    page.get_by_test_id("unpin").click()
    tab.wait(lambda: "chelsea.jpg" in first.text_content(), "the samples do not come in turn again")


@pytest.mark.own_app
def test_a_damaged_picture_is_found_by_its_whole_name(tab: Tab, app: App, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "cats and hedgehogs"
    folder.mkdir(parents=True)
    Image.effect_noise((90, 60), 50).convert("RGB").save(folder / "all of the hedgehogs.jpg")
    picture = (folder / "all of the hedgehogs.jpg").read_bytes()
    (folder / "cut off.jpg").write_bytes(picture[: len(picture) // 2])
    tab.show(app, first_pipeline(folder.parent))
    caption = tab.page.locator('.tray [data-sample="0"] figcaption')
    ends = "(each) => each.querySelector('.file-name > :last-child').getBoundingClientRect().right"
    assert caption.evaluate(ends) <= caption.evaluate("(each) => each.getBoundingClientRect().right")
    tab.page.locator('[data-command="dataset"]').click()
    dialog = tab.dialog("dataset")
    dialog.get_by_label("Damaged only").check()
    name = dialog.locator(".dataset-tile.damaged .file-name")
    name.wait_for()
    assert name.inner_text().replace("\n", "") == "cut off.jpg"
    assert "Truncated JPEG" in dialog.locator(".dataset-tile.damaged").inner_text()


def test_a_probe_says_whether_augmentations_help(tab: Tab) -> None:
    page = tab.page
    page.locator('[data-command="probe"]').first.click()
    dialog = tab.dialog("probe")
    dialog.get_by_label("Seeds").select_option("1")
    dialog.get_by_label("Epochs").select_option("4")
    dialog.get_by_test_id("start-probe").click()
    dialog.get_by_test_id("probe-progress").wait_for()
    dialog.get_by_role("button", name="Go on in the background").click()
    page.get_by_test_id("status-probe").or_(page.get_by_role("button", name="Show the curves")).first.wait_for()
    # Its fields are disabled meanwhile, and keys belong to it all the same.
    page.locator('[data-command="probe"]').first.click()
    dialog.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.locator('[data-command="probe"]').first.click()
    tab.wait(lambda: "One seed cannot tell" in dialog.get_by_test_id("probe-outcome").inner_text(), "no outcome")
    assert dialog.get_by_test_id("probe-curves").locator("polyline.seed").count() == 2


def test_a_path_is_typed_and_a_gallery_entry_opened(tab: Tab) -> None:
    page = tab.page
    page.locator('[data-command="open"]').first.click()
    dialog = tab.dialog("open")
    dialog.get_by_role("tab", name="Files").click()
    path = dialog.get_by_label("Path of a folder or file")
    tab.wait(lambda: path.input_value() != "", "the folder is not listed")
    path.fill(str(photographs() / "food"))
    path.press("Enter")
    dialog.get_by_role("option", name="coffee.jpg").or_(dialog.get_by_text("Nothing here.")).first.wait_for()
    dialog.get_by_role("tab", name="Samples and gallery").click()
    dialog.get_by_label("Search the gallery").fill("posterize")
    dialog.locator('[data-gallery-name="posterize"]').click()
    tab.wait(lambda: "decoded" in node_names(tab), "the entry is not opened")
