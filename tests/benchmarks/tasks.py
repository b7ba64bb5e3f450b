"""Twenty tasks of the editor, done in Chromium by mouse and keyboard, with the number of clicks and keys of each.

Run it as ``python -m tests.benchmarks.tasks``; it prints the table of ``TASKS.md``, beside the counts of three other
tools. A click or a drag is one, a double click two, each key one, with Control and Shift as keys of their own.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.frameworks.browser.conftest import CHROMIUM, FLAGS, PATIENCE, App, Tab

Do = Callable[["Hand"], bool]


class Hand:
    """A person's hand: counts what it does."""

    def __init__(self, tab: Tab, app: App) -> None:
        self.tab, self.app, self.page = tab, app, tab.page
        self.count = 0

    @property
    def nodes(self) -> dict[str, Any]:
        found: dict[str, Any] = self.app.session.store.document["nodes"]
        return found

    def click(self, where: Any, keys: str = "", **options: Any) -> None:
        where = self.page.locator(where).first if isinstance(where, str) else where
        where.click(modifiers=[keys] if keys else [], **options)
        self.count += 2 if keys else 1

    def node(self, name: str, keys: str = "") -> None:
        self.click(self.tab.node(name), keys, position={"x": 12, "y": 8})
        self.page.locator(f'[data-node-id="{name}"][data-selected="true"]').first.wait_for()

    def press(self, keys: str) -> None:
        self.page.keyboard.press(keys)
        self.count += len(keys.split("+"))

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.count += len(text)

    def slide(self, argument: str, share: float) -> None:
        slider = self.page.locator(f'[data-argument="{argument}"] [role="slider"]').first
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] * 0.3, y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] * share, y, steps=5)
        self.page.mouse.up()
        self.count += 1

    def middle(self, link: str) -> tuple[float, float]:
        """Where the middle of a link is in the window."""
        path = self.page.locator(f'[data-testid="edge"][data-source="{link}"] path').first
        x, y = path.evaluate(
            "(path) => { const at = path.getPointAtLength(path.getTotalLength() / 2)"
            ".matrixTransform(path.getScreenCTM()); return [at.x, at.y]; }"
        )
        return x, y

    def link(self, source: str) -> None:
        self.page.mouse.click(*self.middle(source))
        self.count += 1

    def drop(self, what: Any, link: str) -> None:
        point = self.middle(link)
        pane = self.page.locator(".react-flow__pane").first
        box = pane.bounding_box()
        what.drag_to(pane, target_position={"x": point[0] - box["x"], "y": point[1] - box["y"]}, force=True)
        self.count += 1

    def search(self, text: str) -> None:
        self.click('[data-testid="palette-search"]')
        self.write(text)

    def until(self, wanted: Callable[[], Any]) -> bool:
        ends = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < ends, "the task does not end"
            self.page.wait_for_timeout(50)
        return True


def own_folder(hand: Hand) -> bool:
    hand.click('[data-node-id="reader"] [data-argument="file_root"] button')
    dialog = hand.page.locator('[role="dialog"]')
    hand.click(dialog.locator('[data-path$="/food"]'))
    hand.click(dialog.get_by_role("button", name="Choose").or_(dialog.get_by_role("button", name="Use")).first)
    return hand.until(lambda: str(hand.nodes["reader"]["arguments"].get("file_root", "")).endswith("food"))


def insert_blur(hand: Hand) -> bool:
    hand.search("blur")
    hand.drop(hand.page.locator('[data-testid="palette"] [data-op="gaussian_blur"]').first, "rotate:0")
    return hand.until(lambda: hand.nodes["brightness_contrast"]["inputs"] == ["gaussian_blur"])


def stronger(hand: Hand) -> bool:
    before = hand.nodes["brightness_contrast"]["arguments"]["brightness"]
    hand.slide("brightness", 0.7)
    return hand.until(lambda: hand.nodes["brightness_contrast"]["arguments"]["brightness"] != before)


def at_random(hand: Hand) -> bool:
    hand.click('[data-node-id="brightness_contrast"] [data-argument="brightness"] [data-action="random"]')
    hand.click(hand.page.get_by_role("menuitem", name="Uniform, from a range"))
    return hand.until(lambda: "brightness" in hand.nodes["brightness_contrast"].get("connections", {}))


def next_batch(hand: Hand) -> bool:
    hand.click('[data-command="step"]')
    return hand.until(lambda: hand.page.get_by_test_id("iteration").first.inner_text() == "batch 2")


def mode(name: str, shown: str, count: int) -> Do:
    def do(hand: Hand) -> bool:
        hand.node("brightness_contrast")
        hand.click(f'[data-testid="tray"] [data-mode="{name}"]')
        return hand.until(lambda: hand.page.locator(shown).count() >= count)

    return do


def two_arguments(hand: Hand) -> bool:
    hand.node("brightness_contrast")
    hand.click('[data-testid="tray"] [data-mode="sweep"]')
    hand.page.get_by_label("Second argument to sweep").select_option("contrast")
    hand.count += 2
    return hand.until(lambda: hand.page.locator('[data-testid="sweep"] img').count() == 20)


def by_everyday_name(hand: Hand) -> bool:
    hand.search("gray")
    hand.drop(hand.page.locator('[data-testid="palette"] [data-op]').first, "rotate:0")
    return hand.until(lambda: hand.nodes["brightness_contrast"]["inputs"] != ["rotate"])


def recipe(hand: Hand) -> bool:
    hand.search("cutout")
    entry = hand.page.locator('[data-testid="palette-recipe"]').first
    entry.wait_for()
    before = len(hand.nodes)
    hand.drop(entry, "rotate:0")
    return hand.until(lambda: len(hand.nodes) > before)


def with_node(*keys: str, done: Callable[[Hand], Any]) -> Do:
    def do(hand: Hand) -> bool:
        hand.node("brightness_contrast")
        for each in keys:
            hand.press(each)
        return hand.until(lambda: done(hand))

    return do


def sub_graph(hand: Hand) -> bool:
    hand.link("rotate:0")
    hand.press("u")
    return hand.until(lambda: "augment" in hand.nodes)


def pressed(command: str, done: Callable[[Hand], Any]) -> Do:
    def do(hand: Hand) -> bool:
        hand.click(f'[data-command="{command}"]')
        return hand.until(lambda: done(hand))

    return do


def program(hand: Hand) -> bool:
    hand.click('[data-command="export"]')
    text = hand.tab.dialog("export").get_by_test_id("export-text")
    hand.until(lambda: "@pipeline_def" in text.inner_text())
    hand.click('[data-dialog="export"] [data-action="copy"]')
    return True


def of_a_label(hand: Hand) -> bool:
    hand.click('[data-command="dataset"]')
    dialog = hand.tab.dialog("dataset")
    hand.click(dialog.get_by_role("button", name="sky"))
    return hand.until(lambda: dialog.get_by_test_id("dataset-facts").inner_text() == "3 of 13 samples")


def probe(hand: Hand) -> bool:
    hand.click('[data-command="probe"]')
    hand.tab.dialog("probe").get_by_test_id("start-probe").wait_for()
    hand.click('[data-testid="start-probe"]')
    hand.tab.dialog("probe").get_by_test_id("probe-progress").wait_for()
    hand.tab.dialog("probe").get_by_role("button", name="Stop").click()
    return True


@dataclass
class Task:
    """A task, how it is done here, and the counts and gestures of others; `None` where they cannot do it.

    The last count is that of albumentations' explorer for the nearest thing: one transform, one picture.
    """

    title: str
    do: Do
    others: tuple[int | None, int | None, int | None]
    how: str


TASKS = (
    Task(
        "All steps over a folder of one's own",
        own_folder,
        (4, None, None),
        "chaiNNer: Load Images node, chooser, folder, Run. The others take single pictures",
    ),
    Task(
        "Insert a blur between two steps",
        insert_blur,
        (8, 9, None),
        "search, node, two wires; the explorer shows one transform at a time",
    ),
    Task(
        "Change a number and see all pictures",
        stronger,
        (2, 3, 1),
        "slider and Run (F5, Ctrl+Enter); the explorer at once",
    ),
    Task(
        "Another number for each picture, at random",
        at_random,
        (9, None, 1),
        "chaiNNer: a random-number node and its wire; the explorer draws by itself",
    ),
    Task("See the next pictures", next_batch, (3, 4, 3), "choose another file, and Run"),
    Task(
        "Before and after with a slider",
        mode("compare", ".compare .after", 4),
        (6, 12, 0),
        "viewer nodes; the explorer always shows both",
    ),
    Task(
        "Seven strengths at once",
        mode("sweep", '[data-testid="sweep"] img', 7),
        (None, None, None),
        "seven copies by hand",
    ),
    Task("A sheet of two arguments", two_arguments, (None, None, None), "a copy for each pair"),
    Task("Find grayscale by its everyday name and insert it", by_everyday_name, (8, 9, 5), "search, node, wires"),
    Task("A ready recipe into the graph", recipe, (None, 9, None), "ComfyUI: copied out of a template"),
    Task(
        "Leave a step out for a moment",
        with_node(
            "b",
            done=lambda hand: (
                hand.app.session.store.document["view"]["nodes"].get("brightness_contrast", {}).get("bypass")
            ),
        ),
        (3, 3, None),
        "chaiNNer: menu, Disable, wire past it; ComfyUI: Ctrl+B",
    ),
    Task(
        "Delete a step, the wire closes",
        with_node("Delete", done=lambda hand: hand.nodes["normalize"]["inputs"] == ["rotate"]),
        (3, 3, None),
        "and the wire",
    ),
    Task(
        "A copy of a step with its input",
        with_node("Control+d", done=lambda hand: len(hand.nodes) == 8),
        (4, 6, None),
        "chaiNNer: menu, Duplicate, and a wire; ComfyUI: Ctrl+C, Ctrl+Shift+V",
    ),
    Task(
        "One node of two steps, to use again",
        sub_graph,
        (None, 3, None),
        "ComfyUI: a box with Ctrl, the button over it",
    ),
    Task(
        "Tidy the graph up",
        pressed("arrange", lambda hand: True),
        (None, None, None),
        "no such command without extensions",
    ),
    Task("A training program in the clipboard", program, (None, None, 1), "the explorer copies one transform"),
    Task("The pictures of one label", of_a_label, (None, None, None), "no datasets"),
    Task(
        "Images a second of a real run",
        pressed("run", lambda hand: hand.page.get_by_test_id("rate").count()),
        (None, None, None),
        "times of single runs",
    ),
    Task("Does it help? Train with and without", probe, (None, None, None), "no training"),
    Task(
        "Two graphs beside each other",
        pressed("beside", lambda hand: hand.page.get_by_test_id("differing").count() == 2),
        (None, None, None),
        "one graph at a time, or tabs",
    ),
)


def main() -> int:
    """Do all tasks, or those whose titles contain the words given, and print the table."""
    from playwright.sync_api import sync_playwright

    from dali_lab.gallery.samples import photographs
    from dali_lab.studio.document.recovery import Recovery
    from dali_lab.studio.document.starts import first_pipeline
    from dali_lab.studio.hosts.app_server import AppServer
    from dali_lab.studio.hosts.application import start_session

    wanted = " ".join(sys.argv[1:]).lower()
    rows: list[str] = []
    better, best = 0, 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        os.chdir(folder)
        shutil.copytree(photographs(), Path(folder) / "pictures")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        session = start_session(data="pictures", recovery=Recovery(Path(folder) / "recovery"))
        server = AppServer(session, port=0)
        app = App(session, server)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        tab = Tab(page)
        page.goto(server.address)
        tab.ready()
        page.set_default_timeout(1000 * PATIENCE)
        for task in TASKS:
            if wanted not in task.title.lower():
                continue
            tab.show(app, first_pipeline(Path(folder) / "pictures"))
            page.get_by_test_id("palette-search").fill("")
            hand = Hand(tab, app)
            try:
                task.do(hand)
                ours = str(hand.count)
            except Exception as error:  # the other tasks are done all the same
                ours = f"not done: {str(error).splitlines()[0]}"
                page.screenshot(path=f"{tempfile.gettempdir()}/task-{len(rows) + 1}.png")
            for _ in range(2):
                page.keyboard.press("Escape")
            fewer, than_all = (
                ours.isdigit() and all(count is None or int(ours) < count for count in others)
                for others in (task.others[:2], task.others)
            )
            better, best = better + fewer, best + than_all
            *editors, explorer = ("–" if count is None else str(count) for count in task.others)
            counts = " | ".join([*editors, explorer if explorer == "–" else f"({explorer})"])
            rows.append(
                f"| {len(rows) + 1} | {task.title} | {'**' * fewer}{ours}{'**' * fewer} | {counts} | {task.how} |"
            )
            print(rows[-1], flush=True)
        browser.close()
        server.close()
        session.close()
        os.chdir("/")
    print(f"Fewer than the node editors: {better} of {len(rows)}; than all three: {best}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
