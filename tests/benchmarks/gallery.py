"""Response times of the gallery: the wall from its pictures, and an entry's picture after a control has moved.

Run it as ``python -m tests.benchmarks.gallery [--browser]``; it reports and asserts nothing.
"""

from __future__ import annotations

import argparse
import queue
import time
from typing import Any

from dali_lab.studio.session import Session
from tests.benchmarks.editor import percentiles
from tests.frameworks.browser.conftest import CHROMIUM

Json = dict[str, Any]
STEPS = 60
CONTROLS = (
    ("brightness", "brightness", "brightness", 0.2, 2.5),
    ("gaussian-blur", "gaussian_blur", "sigma", 0.5, 8.0),
    ("rotate-grow", "rotate", "angle", -170.0, 170.0),
    ("clahe", "clahe", "clip_limit", 1.0, 10.0),
    ("recipe-dino", "mirror", "probability", 0.0, 1.0),
)


def over_the_session() -> None:
    """From a request to its answer, pictures of four samples included."""
    session = Session()
    answers: queue.Queue[Json] = queue.Queue()
    port = session.attach(lambda message, buffers: answers.put(message))

    def ask(method: str, **params: Any) -> tuple[Json, float]:
        began = time.perf_counter()
        session.receive(port, {"kind": "request", "id": "b-1", "method": method, "params": params})
        message = answers.get()
        return message["result"], time.perf_counter() - began

    found, seconds = ask("gallery.list")
    names = [entry["name"] for entry in found["entries"]]
    _, more = ask("gallery.tiles", names=names, cached=True)
    print(f"wall of {len(names)} entries over the session: {seconds + more:.2f} s")
    for name, node, argument, low, high in CONTROLS:
        times = []
        for step in range(STEPS + 2):
            value = low + (high - low) * ((step * 37) % STEPS) / STEPS
            _, seconds = ask(
                "gallery.draw", name=name, variants=[{"overrides": {node: {argument: value}}}], samples=4, size=448
            )
            times.append(seconds)
        percentiles(f"session: {name}, {argument}", times[2:])
    session.close()


def in_the_browser() -> None:
    """From the opening of the page to the pictures of the wall; from a key on a slider to the new picture."""
    from playwright.sync_api import sync_playwright

    from dali_lab.studio.hosts.app_server import AppServer
    from dali_lab.studio.hosts.application import start_session

    session = start_session()
    server = AppServer(session, port=0)
    try:
        with sync_playwright() as driver:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
            for attempt in range(3):
                page = browser.new_page(viewport={"width": 1600, "height": 1000})
                began = time.perf_counter()
                page.goto(server.link("gallery"))
                page.wait_for_function(_WALL)
                print(f"page {attempt + 1}: wall with all its pictures after {time.perf_counter() - began:.2f} s")
                if attempt < 2:
                    page.close()
            page.locator('[data-entry="gaussian-blur"] .tile-open').click()
            page.wait_for_selector('[data-testid="gallery-split"] img[alt="after"]')
            page.wait_for_timeout(1500)
            slider = page.locator('[data-testid="gallery-controls"] [data-argument="sigma"] input')
            slider.focus()
            times = []
            for step in range(STEPS // 2):
                times.append(page.evaluate(_MOVE, 0.5 + 7 * ((step * 37) % 30) / 30) / 1000)
                page.wait_for_timeout(250)
            percentiles("browser: slider to picture, gaussian-blur", times)
            browser.close()
    finally:
        server.close()
        session.close()


_FIND = """
const find = (root, selector) => {
  const here = [...root.querySelectorAll(selector)];
  for (const element of root.querySelectorAll('*'))
    if (element.shadowRoot) here.push(...find(element.shadowRoot, selector));
  return here;
};
"""
_WALL = f"""() => {{ {_FIND}
  const tiles = find(document, '[data-testid="gallery-tile"]');
  const images = find(document, '[data-testid="gallery-tile"] img');
  return tiles.length > 50 && images.length >= 2 * tiles.length - 4;
}}"""
_MOVE = f"""(value) => new Promise((resolve) => {{ {_FIND}
  const slider = find(document, '[data-testid="gallery-controls"] [data-argument="sigma"] input')[0];
  const image = find(document, '[data-testid="gallery-split"] img[alt="after"]')[0];
  const before = image.src;
  const began = performance.now();
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(slider, String(value));
  slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
  const look = () => (image.src !== before && image.complete
    ? image.decode().then(() => resolve(performance.now() - began))
    : requestAnimationFrame(look));
  look();
}})"""


def main() -> None:
    """Report all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", action="store_true", help="drive the page in Chromium, too")
    options = parser.parse_args()
    over_the_session()
    if options.browser:
        in_the_browser()


if __name__ == "__main__":
    main()
