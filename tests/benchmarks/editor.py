"""How fast the editor answers: slider to new pictures, over the session and in the browser, and the app's start.

Run it as ``python -m tests.benchmarks.editor [--browser] [--start]``; it reports and asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dali_lab.studio.sample_pictures import sample_pictures
from dali_lab.studio.session import Session
from dali_lab.studio.starts import first_pipeline

Json = dict[str, Any]
STEPS = 200


def percentiles(name: str, times: list[float]) -> None:
    """Print median and 95th percentile in milliseconds."""
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"{name:<52} median {1000 * statistics.median(times):7.1f} ms   95 % {1000 * last:7.1f} ms")


def over_the_session(node: str, argument: str, low: float, high: float, samples: int) -> None:
    """From the edit to the end of the preview that follows it, pictures of all samples included."""
    document = first_pipeline(sample_pictures())
    session = Session(document)
    messages: queue.Queue[Json] = queue.Queue()
    port = session.attach(lambda message, buffers: messages.put(message))
    numbers = iter(range(1, 1 << 30))

    def preview(run: int) -> None:
        focus = [{"node": node, "output": 0}]
        params = {"run": run, "samples": samples, "thumb": 112, "focus": focus, "focus_size": 256}
        session.receive(port, {"kind": "request", "id": f"b-{next(numbers)}", "method": "preview", "params": params})
        while True:
            message = messages.get()
            if message.get("event") == "preview.done" and message["params"]["run"] == run:
                return

    preview(1)
    times = []
    for step in range(STEPS):
        value = low + (high - low) * ((step * 37) % STEPS) / STEPS
        entry = session.store.document["nodes"][node]
        changed = {**entry, "arguments": {**entry["arguments"], argument: value}}
        began = time.perf_counter()
        edit = {"changes": {"nodes": {node: changed}}}
        session.receive(port, {"kind": "request", "id": f"b-{next(numbers)}", "method": "edit", "params": edit})
        preview(step + 2)
        times.append(time.perf_counter() - began)
    percentiles(f"session: {node}.{argument}, {samples} pictures", times)
    session.close()


def in_the_browser() -> None:
    """From the pointer's move on a slider to the new picture at the last node, as the page has it."""
    from playwright.sync_api import sync_playwright

    from dali_lab.studio.panel_app import AppServer

    session = Session(first_pipeline(sample_pictures()))
    session.warm()
    server = AppServer(session, port=0)
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(server.address)
        page.wait_for_selector("img[data-node='normalize']")
        page.keyboard.press("8")
        page.locator('[data-node-id="brightness_contrast"]').first.click(position={"x": 12, "y": 8})
        page.wait_for_timeout(1500)
        slider = page.locator('[data-testid="inspector"] [data-argument="brightness"] [role="slider"]').first
        box = slider.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        page.evaluate(
            """() => {
              const find = (root) => {
                const here = root.querySelector('img[data-node="normalize"]');
                if (here) return here;
                for (const element of root.querySelectorAll('*')) {
                  const inside = element.shadowRoot && find(element.shadowRoot);
                  if (inside) return inside;
                }
                return null;
              };
              window.source = () => { const image = find(document); return image && image.complete && image.src; };
              window.changed = (before) => new Promise((resolve) => {
                const ends = performance.now() + 5000;
                const look = () => {
                  const now = performance.now();
                  const found = window.source() && window.source() !== before;
                  return found || now > ends ? resolve(now) : requestAnimationFrame(look);
                };
                look();
              });
              document.addEventListener('pointermove', () => { window.moved = performance.now(); }, true);
            }"""
        )
        page.mouse.move(box["x"] + box["width"] * 0.3, y)
        page.mouse.down()
        # The first move only tells a drag from a click.
        page.mouse.move(box["x"] + box["width"] * 0.32, y, steps=3)
        page.wait_for_timeout(800)
        times = []
        for step in range(60):
            before = page.evaluate("window.source()")
            page.mouse.move(box["x"] + box["width"] * (0.3 + 0.4 * ((step * 37) % 60) / 60), y)
            arrived = page.evaluate("(before) => window.changed(before).then((at) => at - window.moved)", before)
            times.append(arrived / 1000)
            page.wait_for_timeout(30)
        page.mouse.up()
        browser.close()
    percentiles("browser: brightness to the last node, 8 pictures", times)
    server.close()
    session.close()


def start_of_the_app(cold: bool) -> None:
    """From the command to the first pictures and to those of the last node; caches of a first run or a later one."""
    from playwright.sync_api import sync_playwright

    cache = tempfile.mkdtemp() if cold else None
    environment = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
    environment.pop("NUMBA_CACHE_DIR", None)
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        began = time.perf_counter()
        command = [sys.executable, "-m", "dali_lab", "app", "--no-browser"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path(__file__).parents[2]
        )
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            served = time.perf_counter() - began
            page.goto(found[0])
            page.wait_for_selector("img[data-node]", timeout=120_000)
            first = time.perf_counter() - began
            page.wait_for_selector("img[data-node='normalize']", timeout=120_000)
            every = time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(20)
            browser.close()
            if cache:
                shutil.rmtree(cache, ignore_errors=True)
    kind = "cold" if cold else "warm"
    print(f"{'start, caches ' + kind:<52} address {served:5.1f} s   first pictures {first:5.1f} s   all {every:5.1f} s")


def main() -> None:
    """Report what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", action="store_true", help="measure in Chromium too")
    parser.add_argument("--start", action="store_true", help="measure the app's start, caches cold and warm")
    options = parser.parse_args()
    for samples in (4, 8):
        over_the_session("brightness_contrast", "brightness", 0.2, 2.0, samples)
        over_the_session("rotate", "fill_value", 0, 255, samples)
        over_the_session("resize", "resize_shorter", 200, 400, samples)
    if options.browser:
        in_the_browser()
    if options.start:
        start_of_the_app(cold=False)
        start_of_the_app(cold=True)


if __name__ == "__main__":
    main()
