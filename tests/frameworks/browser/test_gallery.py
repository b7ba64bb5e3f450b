"""The gallery in the browser: the wall, an entry under its controls, comparing, a surprise, the static site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dali_lab.gallery import Gallery, load_gallery
from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.graph_document import written
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.gallery.site import build_site
from dali_lab.studio.session import Session
from tests.frameworks.browser.conftest import PATIENCE, WINDOW, App, Kept, Tab, lent
from tests.frameworks.browser.lab import Lab, is_ours


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """One server for all of them; each test finds the first pipeline in it."""
    from dali_lab.studio.hosts.app_server import AppServer

    place = tmp_path_factory.mktemp("app")
    session = Session(first_pipeline(photographs()), root=place)
    server = AppServer(session, port=0)
    yield App(session, server)
    server.close()
    session.close()


@pytest.fixture(scope="module")
def kept_wall(app: App, browser: Any) -> Iterator[Kept]:
    """A tab at the gallery's own address."""
    context = browser.new_context(viewport=WINDOW)
    context.grant_permissions(["clipboard-read", "clipboard-write"])

    def make() -> Tab:
        tab = Tab(context.new_page())
        tab.page.goto(app.server.link("gallery"))
        return tab

    yield Kept(make)
    context.close()


@pytest.fixture
def wall(request: pytest.FixtureRequest, app: App, kept_wall: Kept) -> Iterator[Tab]:
    """That tab, as where the page is loaded; in the end it may have seen no error and no other host."""
    app.session.replace(first_pipeline(photographs()))
    with lent(kept_wall, request.session) as tab:
        tab.page.wait_for_selector('[data-testid="gallery-tile"] img')
        yield tab
        assert tab.hosts <= {"127.0.0.1"}


def open_entry(tab: Tab, name: str) -> Any:
    tab.page.locator(f'[data-testid="gallery-tile"][data-entry="{name}"] .tile-open').click()
    return tab.page.locator(f'[data-testid="gallery-entry"][data-entry="{name}"]')


def picture(tab: Tab, selector: str) -> list[int]:
    """The pixels of the first picture under a selector, as the browser has decoded them; empty while it has not."""
    pixels: list[int] = tab.page.locator(selector).first.evaluate(
        """(image) => {
          if (!image.complete || !image.naturalWidth) return [];
          const canvas = document.createElement('canvas');
          canvas.width = 48; canvas.height = 36;
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0, 48, 36);
          return Array.from(context.getImageData(0, 0, 48, 36).data);
        }"""
    )
    return pixels


def entries(found: Any) -> list[str]:
    names: list[str] = found.evaluate_all("all => all.map((each) => each.dataset.entry)")
    return names


def wait_for(tab: Tab, what: Callable[[], bool]) -> None:
    tab.wait(what, "it did not become so")


def test_the_wall_with_families_tags_and_search(wall: Tab) -> None:
    page = wall.page
    tiles = page.locator('[data-testid="gallery-tile"]')
    wait_for(wall, lambda: tiles.count() >= 100)
    wait_for(wall, lambda: page.locator('[data-testid="gallery-tile"] img').count() >= 2 * tiles.count() - 4)
    page.locator('[data-family="noise"]').click()
    wait_for(wall, lambda: tiles.count() == 5)
    page.locator('[data-tag="random"]').click()
    wait_for(wall, lambda: entries(tiles) == ["noise-gaussian-random"])
    page.locator('[data-tag="random"]').click()
    page.locator('[data-family="noise"]').click()
    page.get_by_test_id("gallery-search").fill("boxes detection")
    wait_for(wall, lambda: tiles.count() < 10)
    wait_for(wall, lambda: {"recipe-ssd-crop", "recipe-detection-flip"} <= set(entries(tiles)))
    page.get_by_test_id("gallery-search").fill("qqwzx xkjqv")
    page.get_by_text("Show everything").click()
    wait_for(wall, lambda: tiles.count() >= 100)


def test_a_control_moves_the_picture_and_the_code_and_it_goes_to_the_editor(wall: Tab, app: App) -> None:
    page = wall.page
    entry = open_entry(wall, "brightness")
    after = '[data-testid="gallery-split"] img[alt="after"]'
    page.wait_for_selector(after)
    wait_for(wall, lambda: bool(picture(wall, after)))
    before = sum(picture(wall, after))
    slider = page.locator('[data-testid="gallery-controls"] [data-argument="brightness"] input')
    slider.focus()
    slider.press("Home")
    wait_for(wall, lambda: 0 < sum(picture(wall, after)) < 0.8 * before)
    code = page.get_by_test_id("gallery-code")
    wait_for(wall, lambda: "brightness=0.2" in code.inner_text())
    entry.locator('[data-action="copy"]').click()
    wait_for(wall, lambda: "brightness=0.2" in page.evaluate("navigator.clipboard.readText()"))
    page.locator('[data-action="measure"]').click()
    wait_for(wall, lambda: page.locator(".cost-row").count() == 2)
    wait_for(wall, lambda: page.get_by_test_id("gallery-range").locator("img").count() == 7)
    page.get_by_test_id("gallery-graph").wait_for()
    page.locator('[data-action="open-in-editor"]').click()
    page.wait_for_selector('[data-node-id="brightness"]')
    wait_for(wall, lambda: page.get_by_test_id("gallery").count() == 0)
    opened = app.session.store.document["nodes"]["brightness"]["arguments"]
    assert opened["brightness"] == pytest.approx(0.2)
    assert app.session.store.title == "Brightness"


def test_random_draws_differ_and_boxes_are_drawn(wall: Tab) -> None:
    page = wall.page
    open_entry(wall, "recipe-detection-flip")
    page.wait_for_selector('[data-testid="gallery-draws"] img')
    wait_for(wall, lambda: page.locator('[data-testid="gallery-draws"] img').count() == 8)
    frame = '[data-testid="gallery-draws"] .frame:nth-child({}) img'
    draws = lambda: [tuple(picture(wall, frame.format(index))) for index in range(1, 5)]  # noqa: E731
    wait_for(wall, lambda: all(draws()))
    assert len(set(draws())) > 1
    boxes = page.locator('[data-testid="gallery-pair"] [data-overlay="boxes"] rect')
    wait_for(wall, lambda: boxes.count() >= 4)
    first = '[data-testid="gallery-pair"] img[alt="before"]'
    before = wall.wait(lambda: picture(wall, first), "there is no picture")
    page.locator('[data-action="next-picture"]').click()
    wait_for(wall, lambda: picture(wall, first) not in ([], before))
    wait_for(wall, lambda: boxes.count() >= 4)
    page.keyboard.press("Escape")
    page.wait_for_selector('[data-testid="gallery-wall"]')

    # A search that begins over an entry goes on over the wall.
    open_entry(wall, "brightness").wait_for()
    page.get_by_test_id("gallery-search").click()
    page.keyboard.type("blur")
    page.wait_for_selector('[data-testid="gallery-wall"]')
    assert page.get_by_test_id("gallery-search").input_value() == "blur"


def test_an_augmentation_goes_into_the_graph_at_hand(wall: Tab, app: App) -> None:
    page = wall.page
    page.locator('[data-action="to-editor"]').click()
    wall.ready()
    wall.choose("rotate")
    before = dict(app.session.store.document["nodes"])
    page.locator('[data-command="gallery"]').click()
    open_entry(wall, "hsv")
    page.locator('[data-action="insert"]').click()
    page.wait_for_selector('[data-node-id="hsv"]')
    wait_for(wall, lambda: "hsv" in app.session.store.document["nodes"])
    nodes = app.session.store.document["nodes"]
    assert set(nodes) - set(before) == {"hsv", "hue", "saturation", "value"}
    assert nodes["hsv"]["inputs"] == ["rotate"]
    assert nodes["brightness_contrast"]["inputs"] == ["hsv"]
    wall.idle()
    wait_for(wall, lambda: wall.node("normalize").get_attribute("data-state") == "ok")
    page.locator('[data-command="undo"]').click()
    wait_for(wall, lambda: set(app.session.store.document["nodes"]) == set(before))


def test_compare_and_surprise(wall: Tab, app: App) -> None:
    page = wall.page
    for name in ("hue", "gaussian-blur"):
        page.locator(f'[data-testid="gallery-tile"][data-entry="{name}"] [data-action="compare"]').click()
    page.locator('[data-action="to-compare"]').click()
    rows = page.locator('[data-testid="compare-row"]')
    wait_for(wall, lambda: entries(rows) == ["hue", "gaussian-blur"])
    wait_for(wall, lambda: page.locator(".compare-grid img").count() == 12)
    page.locator('[data-action="to-surprise"]').click()
    page.wait_for_selector('[data-testid="gallery-surprise"] .strip img')
    seed = page.get_by_test_id("gallery-surprise").get_attribute("data-seed")
    page.locator('[data-action="surprise"]').click()
    wait_for(wall, lambda: page.get_by_test_id("gallery-surprise").get_attribute("data-seed") != seed)
    page.locator('[data-testid="gallery-surprise"] [data-action="open-in-editor"]').click()
    page.wait_for_selector('[data-node-id="photo"]')
    wall.still()
    assert page.locator('[data-testid="node-error"]').count() == 0


def test_other_pictures(wall: Tab, app: App) -> None:
    import cv2
    import numpy as np

    mine = Path(app.session.store.root) / "mine"
    mine.mkdir()
    assert cv2.imwrite(str(mine / "a.png"), np.full((90, 120, 3), (0, 255, 0), np.uint8))
    page = wall.page
    open_entry(wall, "invert")
    page.wait_for_selector('[data-testid="gallery-split"] img[alt="before"]')
    page.locator('[data-action="my-pictures"]').click()
    page.get_by_label("Folder of pictures").fill(str(mine.parent / "nowhere"))
    page.get_by_role("button", name="Use", exact=True).click()
    page.wait_for_selector('[role="alert"]')
    page.get_by_label("Folder of pictures").fill(str(mine))
    page.get_by_role("button", name="Use", exact=True).click()
    shown = '[data-testid="gallery-split"] img[alt="after"]'
    # Green inverted is magenta.
    wait_for(wall, lambda: (found := picture(wall, shown)) != [] and found[0] > 200 > 60 > found[1] and found[2] > 200)


def test_the_site_works_from_the_file_system(browser: Any, tmp_path: Path) -> None:
    every = load_gallery()
    names = ("brightness", "rotate", "recipe-segmentation", "spectrogram")
    build_site(Gallery({name: every[name] for name in names}), tmp_path / "site")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    requests: list[str] = []
    problems: list[str] = []
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.on("request", lambda request: requests.append(request.url))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: message.type == "error" and problems.append(message.text))
    page.goto((tmp_path / "site" / "index.html").as_uri())
    tiles = "[...document.querySelectorAll('.tile')].filter((each) => each.checkVisibility())"
    shown = f"(count) => {tiles}.length === count"
    page.wait_for_function(shown, arg=4)
    page.locator("#search").fill("angle")
    page.wait_for_function(shown, arg=1)
    page.locator(".tile:visible").click()
    page.locator("h1", has_text="Rotation").wait_for()
    page.wait_for_load_state()
    page.wait_for_function("[...document.querySelectorAll('img')].every((image) => image.naturalWidth > 0)")
    page.locator("ul a", has_text="fn.rotate").click()
    page.locator("h1", has_text="fn.rotate").wait_for()
    page.wait_for_load_state()
    context.close()
    assert not problems
    assert all(url.startswith(("file://", "data:")) for url in requests)


def test_the_panel_in_jupyterlab(browser: Any, jupyterlab: Lab) -> None:
    graphs = lambda: {path.name for path in jupyterlab.folder.glob("*.dali.json")}  # noqa: E731
    (jupyterlab.folder / "mine.dali.json").write_text(written(first_pipeline(photographs())))
    before = graphs()
    context = browser.new_context(viewport={"width": 1500, "height": 950})
    tab = jupyterlab.open(context, "mine.dali.json", workspace="gallery")
    page = tab.page
    page.wait_for_selector('[data-testid="dali-editor"][data-ready="true"]')
    page.evaluate("window.jupyterapp.commands.execute('dali-lab:gallery')")
    page.wait_for_selector('[data-testid="gallery-tile"] img')
    open_entry(tab, "hsv")
    page.wait_for_selector('[data-testid="gallery-draws"] img')
    page.locator('[data-action="insert"]').click()
    page.wait_for_selector('[data-node-id="hsv"]')
    page.evaluate("window.jupyterapp.commands.execute('dali-lab:gallery')")
    page.locator('[data-testid="gallery-entry"] [data-action="open-in-editor"]').click()
    page.wait_for_selector(
        '.lm-DockPanel-widget:not(.lm-mod-hidden) [data-testid="dali-editor"] [data-node-id="photo"]'
    )
    wait_for(tab, lambda: len(graphs() - before) == 1)
    context.close()
    assert not [problem for problem in tab.problems if is_ours(problem)]
    assert tab.hosts <= {"127.0.0.1"}
