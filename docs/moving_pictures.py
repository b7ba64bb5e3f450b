"""Makes the pictures of the first pages: ``python docs/moving_pictures.py [editor] [gallery] [steps]``.

Every frame waits until the page is at rest, so that they are the same on a slow machine.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.hosts.app_server import AppServer
from dali_lab.studio.session import Session

SIZE = (1440, 900)
SHOWN = (1200, 750)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
POINTER = """
if (window === window.top) document.addEventListener('DOMContentLoaded', () => {
  const arrow = document.createElement('div');
  arrow.style.cssText = 'position:fixed;z-index:99999;pointer-events:none;left:-99px';
  arrow.innerHTML = `<svg width="22" height="28" viewBox="0 0 22 28">
    <path d="M2 2v20l5-5 3.5 8 3.5-1.5L10.500 15.500H18z" fill="#111" stroke="#fff" stroke-width="1.600"/></svg>`;
  document.body.append(arrow);
  window.pointAt = (x, y) => Object.assign(arrow.style, { left: `${x}px`, top: `${y}px` });
  addEventListener('pointermove', (event) => window.pointAt(event.clientX, event.clientY), true);
});
"""


class Recording:
    """Frames of a page, each with the milliseconds for which it is shown.

    A page is at rest when there is an element that `still` selects, and no answer for `quiet` milliseconds.
    """

    def __init__(self, page: Any, still: str, quiet: int = 0) -> None:
        self.page = page
        self._still = still
        self._quiet = quiet
        self._at = (SIZE[0] / 2, SIZE[1] / 2)
        self._frames: list[tuple[Image.Image, int]] = []

    def take(self, shown: int = 80) -> None:
        """Add what is there once the page is at rest; a frame that is the one before is that one for longer."""
        self.page.wait_for_selector(self._still)
        self.page.wait_for_timeout(self._quiet)
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)
        if self._frames and self._frames[-1][0].tobytes() == frame.tobytes():
            shown += self._frames.pop()[1]
        self._frames.append((frame, shown))

    def move(self, x: float, y: float, steps: int = 6, shown: int = 50, drawn: bool = False) -> None:
        """Move the pointer, or only its picture, slower at both ends."""
        (x0, y0), self._at = self._at, (x, y)
        for step in range(1, steps + 1):
            part = step / steps
            part = part * part * (3 - 2 * part)
            x1, y1 = x0 + (x - x0) * part, y0 + (y - y0) * part
            if drawn:
                self.page.evaluate("([x, y]) => window.pointAt(x, y)", [x1, y1])
            else:
                self.page.mouse.move(x1, y1)
            self.take(shown)

    def move_to(self, place: Any, across: float = 0.5, steps: int = 6, shown: int = 50) -> None:
        """Move the pointer onto an element."""
        box = place.bounding_box()
        self.move(box["x"] + box["width"] * across, box["y"] + box["height"] / 2, steps, shown)

    def click(self, place: Any, shown: int = 600) -> None:
        self.move_to(place)
        place.click()
        self.take(shown)

    def save_last(self, file: Path) -> None:
        """Write the last frame by itself."""
        self._frames[-1][0].save(file, quality=80, method=6)

    def save(self, file: Path) -> None:
        frames, times = zip(*self._frames, strict=True)
        frames[0].save(
            file,
            save_all=True,
            append_images=frames[1:],
            duration=times,
            loop=0,
            quality=72,
            method=4,
            minimize_size=True,
        )
        size = file.stat().st_size
        sys.stdout.write(f"{file.name}: {len(frames)} frames, {sum(times) / 1000:.1f} s, {size / 1024:.0f} KiB\n")


def opened(page: Any, server: AppServer) -> Recording:
    """The editor with a node selected."""
    page.goto(server.address)
    root = '[data-testid="dali-editor"]'
    page.wait_for_selector(f'{root}[data-ready="true"]')
    page.wait_for_selector("img[data-node='normalize']")
    still = (
        f'{root}[data-preview="idle"]:not([data-pending="true"])[data-settled="true"]:not(:has(.canvas[data-moving]))'
    )
    film = Recording(page, still)
    film.take(1200)
    film.click(page.locator('[data-node-id="brightness_contrast"] .card-title').first, 700)
    return film


def steps(page: Any, server: AppServer) -> None:
    """What ten minutes in the editor show: a node, the dice beside an argument, a sub-graph opened in place."""
    folder = Path(__file__).resolve().parent / "start"
    film = opened(page, server)
    film.save_last(folder / "look.webp")
    film.click(page.locator('[data-testid="inspector"] [data-argument="contrast"] [data-action="random"]').first)
    film.save_last(folder / "random.webp")
    page.get_by_role("menuitem").first.click()
    film.click(page.locator('[data-node-id="rotate"] .card-title').first)
    page.keyboard.down("Shift")
    film.click(page.locator('[data-node-id="brightness_contrast"] .card-title').first)
    page.keyboard.up("Shift")
    page.keyboard.press("ControlOrMeta+Shift+U")
    page.locator('[data-node-id="augment"] [data-action="open-subgraph"]').click()
    page.locator('[data-node-id="brightness_contrast"]').wait_for()
    page.locator('[data-command="fit"]').first.click()
    film.move_to(page.locator('[data-testid="status"]'))
    film.save_last(folder / "subgraph.webp")


def editor(page: Any, server: AppServer) -> Recording:
    """A slider, an operator that is dropped on a wire, the next batch."""
    film = opened(page, server)
    slider = page.locator('[data-testid="inspector"] [data-argument="brightness"] [role="slider"]').first
    film.move_to(slider, 0.5)
    page.mouse.down()
    for across in (0.25, 0.75, 0.55):
        film.move_to(slider, across, 8, 70)
    page.mouse.up()
    film.take(500)
    search = page.locator('[data-testid="palette"] input').first
    film.click(search, 200)
    for letter in "blur":
        page.keyboard.type(letter)
        film.take(110)
    film.take(400)
    entry = page.locator('[data-testid="palette-entry"][data-op="gaussian_blur"]').first
    wire = page.locator('[data-testid="edge"][data-source="decode:0"] path').first
    x, y = wire.evaluate(
        """(path) => {
          const at = path.getPointAtLength(path.getTotalLength() / 2), matrix = path.getScreenCTM();
          return [at.x * matrix.a + matrix.e, at.y * matrix.d + matrix.f];
        }"""
    )
    film.move_to(entry)
    film.move(x, y, 10, 60, drawn=True)
    pane = page.locator(".react-flow__pane").first
    corner = pane.bounding_box()
    entry.drag_to(pane, target_position={"x": x - corner["x"], "y": y - corner["y"]}, force=True)
    page.mouse.move(x, y + 160)
    page.wait_for_selector("img[data-node='gaussian_blur']")
    film.take(2500)
    return film


def gallery(page: Any, server: AppServer) -> Recording:
    """From the wall to two entries, and their controls."""
    page.goto(server.link("gallery"))
    page.wait_for_selector('[data-testid="gallery-tile"][data-entry="water"] img')
    page.wait_for_load_state("networkidle")
    film = Recording(page, '[data-testid="gallery"]', quiet=500)
    film.take(1500)
    for name, argument, places in (("hue", "hue", (0.85, 0.2, 0.6)), ("gaussian-blur", "sigma", (0.7, 0.2))):
        film.click(page.get_by_test_id("gallery-search"), 100)
        page.keyboard.press("Control+A")
        for letter in name:
            page.keyboard.type(letter)
            film.take(110)
        film.click(page.locator(f'[data-testid="gallery-tile"][data-entry="{name}"] .tile-open'), 900)
        page.locator('[data-testid="gallery-entry"] img[alt="after"]').first.wait_for()
        film.take(600)
        control = page.locator(
            f'[data-testid="gallery-controls"] [data-argument="{argument}"] input[type="range"]'
        ).first
        film.move_to(control)
        page.mouse.down()
        for across in places:
            film.move_to(control, across, 8, 80)
        page.mouse.up()
        film.take(900)
        page.keyboard.press("Escape")
        film.take(500)
    return film


def main() -> None:
    """Record what the arguments name, or all."""
    films: dict[str, Callable[[Any, AppServer], Recording | None]] = {
        "editor": editor,
        "gallery": gallery,
        "steps": steps,
    }
    os.chdir(place := tempfile.mkdtemp())
    session = Session(first_pipeline(photographs()), root=Path(place))
    server = AppServer(session, port=0)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in sys.argv[1:] or films:
            page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            page.set_default_timeout(300_000)
            page.add_init_script(POINTER)
            if film := films[name](page, server):
                film.save(Path(__file__).with_name(f"{name}.webp").resolve())
        browser.close()
    server.close()
    session.close()


if __name__ == "__main__":
    main()
