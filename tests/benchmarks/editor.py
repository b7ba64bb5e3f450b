"""Response times of the editor: slider to new pictures, over the session and in the browser, and the app's start.

Run it as ``python -m tests.benchmarks.editor [--figures] [--browser] [--start]``; it reports and asserts nothing.
``--figures`` measures the four that were promised: a file of ten nodes to its first pictures, a slider to its pictures,
frames while a graph of 300 nodes is panned and zoomed, and the page's memory over 1,000 edits.
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

from dali_lab.gallery.samples import photographs
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.session import Session
from tests.frameworks.browser.conftest import CHROMIUM

Json = dict[str, Any]
STEPS = 200


def percentiles(name: str, times: list[float]) -> None:
    """Print median and 95th percentile in milliseconds."""
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"{name:<52} median {1000 * statistics.median(times):7.1f} ms   95 % {1000 * last:7.1f} ms")


def over_the_session(node: str, argument: str, low: float, high: float, samples: int) -> None:
    """From the edit to the end of the preview that follows it, pictures of all samples included."""
    document = first_pipeline(photographs())
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

    from dali_lab.studio.hosts.app_server import AppServer

    session = Session(first_pipeline(photographs()))
    session.warm()
    server = AppServer(session, port=0)
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(server.address)
        page.wait_for_selector("img[data-node='normalize']")
        page.locator('[data-node-id="brightness_contrast"]').first.click(position={"x": 12, "y": 8})
        page.keyboard.press("8")
        page.wait_for_selector("img[data-node='normalize'][data-sample='7']")
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


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--js-flags=--expose-gc"]


def ten_nodes() -> Json:
    """The first pipeline with three more steps."""
    document = first_pipeline(photographs())
    nodes = dict(document["nodes"])
    last = "brightness_contrast"
    for op in ("flip", "gaussian_blur", "hsv"):
        arguments: Json = {"window_size": 5} if op == "gaussian_blur" else {}
        nodes[op] = {"op": op, "device": "cpu", "inputs": [last], "arguments": arguments, "connections": {}}
        last = op
    nodes["normalize"] = {**nodes["normalize"], "inputs": [last]}
    return {**document, "nodes": nodes}


def many_nodes(count: int) -> Json:
    """Rows of operators over one decoder, all with pictures."""
    document = first_pipeline(photographs())
    nodes = {name: document["nodes"][name] for name in ("reader", "decode", "resize")}
    operators = [
        ("flip", {}),
        ("hsv", {"hue": 20}),
        ("rotate", {"angle": 10}),
        ("brightness_contrast", {"contrast": 1.2}),
    ]
    view: Json = {name: {"x": 260 * index, "y": 0} for index, name in enumerate(nodes)}
    for index in range(count - len(nodes)):
        op, arguments = operators[index % len(operators)]
        row, column = divmod(index, 20)
        name = f"{op}_{index}"
        source = "resize" if column == 0 else list(nodes)[-1]
        nodes[name] = {"op": op, "device": "cpu", "inputs": [source], "arguments": arguments, "connections": {}}
        view[name] = {"x": 780 + 260 * column, "y": 420 * row}
    return {**document, "nodes": nodes, "outputs": ["resize"], "view": {"nodes": view, "notes": [], "groups": []}}


def figures() -> None:
    """The four figures, on the Panel app in Chromium."""
    from playwright.sync_api import sync_playwright

    from dali_lab.studio.hosts.app_server import AppServer

    session = Session(ten_nodes())
    server = AppServer(session, port=0)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(server.address)
        page.wait_for_selector("img[data-node='normalize']", timeout=120_000)
        times = []
        for repeat in range(5):
            page.goto("about:blank")
            # Another size: nothing that this graph needs is remembered, only its kernels are warm.
            document = ten_nodes()
            document["nodes"]["resize"]["arguments"] = {"resize_shorter": 232.0 + 8 * repeat}
            session.replace(document)
            began = time.perf_counter()
            page.goto(server.address)
            page.wait_for_selector("img[data-node='normalize']")
            times.append(time.perf_counter() - began)
        percentiles("ten nodes: page loaded, to the last node's pictures", times)
        _memory(page, session)
        page.close()
        _frames(browser, session, server.address)
        browser.close()
    server.close()
    session.close()


def _memory(page: Any, session: Session) -> None:
    """The page's heap after each hundred of 1,000 edits, each with its previews."""

    def heap() -> float:
        page.evaluate("() => { window.gc(); window.gc(); }")
        page.wait_for_timeout(2500)  # pictures that were replaced live two seconds longer
        page.evaluate("() => window.gc()")
        return float(page.evaluate("() => performance.memory.usedJSHeapSize")) / 1e6

    page.locator('[data-node-id="brightness_contrast"]').first.click(position={"x": 12, "y": 8})
    field = page.locator('[data-testid="inspector"] [data-argument="brightness"] [role="slider"]').first
    field.focus()
    sizes = []
    for step in range(1000):
        if step % 100 == 0:
            sizes.append(heap())
        page.keyboard.press("ArrowRight" if step // 50 % 2 else "ArrowLeft")
        page.wait_for_timeout(12)
    sizes.append(heap())
    print(f"{'memory over 1,000 edits, MB':<52} " + " ".join(f"{size:.1f}" for size in sizes))


def _frames(browser: Any, session: Session, address: str) -> None:
    """Frames a second while a graph of 300 nodes with pictures is panned and zoomed with the mouse."""
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    session.replace(many_nodes(300))
    page.goto(address)
    page.wait_for_selector("img[data-node='resize']", timeout=120_000)
    page.wait_for_selector('[data-testid="dali-editor"][data-preview="idle"]', timeout=240_000)
    page.wait_for_timeout(1500)
    page.evaluate(
        """() => { window.frames_ = []; let last = performance.now();
          const tick = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(tick); };
          requestAnimationFrame(tick); }"""
    )
    box = page.locator(".react-flow__pane").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def measured(name: str, work: Any) -> None:
        page.evaluate("() => { window.frames_ = []; }")
        work()
        frames = [frame / 1000 for frame in page.evaluate("() => window.frames_")][1:]
        rate, slowest = len(frames) / sum(frames), 1000 * max(frames)
        print(f"{'300 nodes, ' + name:<52} {rate:6.1f} frames/s   slowest frame {slowest:5.0f} ms")

    def pan() -> None:
        page.mouse.move(x, y)
        page.keyboard.down("Space")
        page.mouse.down()
        for step in range(90):
            page.mouse.move(x + 300 * ((step % 30) / 30 - 0.5), y + 120 * ((step % 18) / 18 - 0.5))
            page.wait_for_timeout(12)
        page.mouse.up()
        page.keyboard.up("Space")

    def zoom() -> None:
        page.mouse.move(x, y)
        for step in range(60):
            page.mouse.wheel(0, -60 if step < 30 else 60)
            page.wait_for_timeout(16)

    measured("pan, all in view, first time", pan)
    measured("pan, all in view", pan)
    measured("zoom in and out", zoom)
    for _ in range(12):
        page.mouse.wheel(0, -240)
    page.wait_for_timeout(800)
    measured("pan, close up", pan)
    page.close()


def start_of_the_app(cold: bool) -> None:
    """From the command to the first pictures and to those of the last node; caches of a first run or a later one."""
    from playwright.sync_api import sync_playwright

    cache = tempfile.mkdtemp() if cold else None
    environment = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
    for name in ("NUMBA_CACHE_DIR", "DALI_LAB_COMPILE", "PYTHONDONTWRITEBYTECODE"):  # as people start it
        environment.pop(name, None)
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
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
    parser.add_argument("--figures", action="store_true", help="measure what was promised, in Chromium")
    options = parser.parse_args()
    if options.figures:
        figures()
        in_the_browser()
        return
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
