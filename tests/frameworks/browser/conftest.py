"""Fixtures: Chromium, and the app with the real server, the real bundle and the sample photographs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest

from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.hosts.application import start_session
from dali_lab.studio.session import Session

if TYPE_CHECKING:
    from tests.frameworks.browser.lab import Lab

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need Playwright")

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
"""The browser: without windows, where it is installed, as loading a page takes it half the processor time."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
WINDOW = {"width": 1600, "height": 1000}
IDLE = '[data-preview="idle"]:not([data-pending="true"])'
"""An editor without edits or previews under way."""
PATIENCE = 300.0
"""Seconds that a state may take to come: only a failure takes so long.

Kernels that this machine has never used are compiled first, and it may have other work.
"""
STILL = f'{IDLE}[data-settled="true"]:not(:has(.canvas[data-moving]))'
"""An idle editor whose document is laid out, and whose view does not move."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here, and say why it cannot run where there is no browser.

    What needs none comes first: while there is a browser, a loop runs on this thread.
    """
    here = "tests/frameworks/browser/"
    without = (f"{here}test_code_blocks.py", f"{here}test_notebooks.py")
    items.sort(key=lambda item: not item.nodeid.startswith(without))
    for item in items:
        if item.nodeid.startswith(here) and not item.nodeid.startswith(without):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip(reason="there is no chromium on the PATH"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for the tests here, which ends with them: later tests may not find its loop."""
    assert CHROMIUM is not None, "the browser tests need chromium on the PATH"
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=1000 * PATIENCE)
        yield started
        started.close()


@pytest.fixture(scope="package")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab for the tests here, which open pages of their own; starting it takes longer than most of them."""
    from tests.frameworks.browser.lab import serving

    with serving(tmp_path_factory.mktemp("jupyterlab")) as lab:
        yield lab


class App:
    """A server with a session, and where its page is."""

    def __init__(self, session: Session, server: Any) -> None:
        self.session = session
        self.server = server
        self.address = server.address
        self.first = session.store.document


@contextmanager
def started(folder: Path) -> Iterator[App]:
    """The app on the sample photographs, as the first run in a folder shows it."""
    from dali_lab.studio.hosts.app_server import AppServer

    with chdir(folder):
        session = start_session(recovery=Recovery(folder / "recovery"))
    server = AppServer(session, port=0)
    yield App(session, server)
    server.close()
    session.close()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> App:
    """The app of all tests that change nothing but its document, or one of their own for those marked `own_app`."""
    found: App = request.getfixturevalue("own_app" if request.node.get_closest_marker("own_app") else "kept_app")
    return found


@pytest.fixture
def own_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """An app in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    with started(tmp_path) as app:
        yield app


def in_a_row(document: dict[str, Any]) -> dict[str, Any]:
    """The first document with its nodes in one row, wherever the window would have them wrapped."""
    row = [name for name in document["nodes"] if name != "angle"]
    places = {name: {"x": 280 * index, "y": 0} for index, name in enumerate(row)} | {"angle": {"x": 560, "y": 600}}
    return {**document, "view": {**document["view"], "nodes": places}}


class Tab:
    """A page of the app, with what went wrong in it and where it sent requests."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(f"{error}\n{error.stack}"))
        page.on("console", lambda message: message.type == "error" and self.problems.append(message.text))
        page.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda socket: self._note(socket.url))

    def _note(self, url: str) -> None:
        parts = urlparse(url)
        if parts.scheme not in ("data", "blob"):
            self.hosts.add(parts.hostname or "")

    def ready(self) -> None:
        """Wait until the document is there and its pictures too."""
        self.page.wait_for_selector('[data-testid="dali-editor"][data-ready="true"]')
        self.page.wait_for_selector("img[data-node]")
        self.page.wait_for_selector(f'[data-testid="dali-editor"]{STILL}')

    def idle(self) -> None:
        """Wait until every edit has arrived and no preview is at work."""
        self.page.wait_for_selector(f'[data-testid="dali-editor"]{IDLE}')

    def still(self) -> None:
        """Wait until it is idle and the view has come to rest: what is seen now stays where it is."""
        self.page.wait_for_selector(f'[data-testid="dali-editor"]{STILL}')

    def show(self, app: App, document: dict[str, Any]) -> None:
        """Put another document in the place of the app's, and wait until this page shows it at rest."""
        app.session.replace(document)
        revision, editor = app.session.store.revision, self.page.get_by_test_id("dali-editor")
        taken = lambda: int(editor.get_attribute("data-revision")) >= revision  # noqa: E731
        self.wait(taken, "the page does not show the document")
        self.still()

    def node(self, name: str) -> Any:
        return self.page.locator(f'[data-node-id="{name}"]').first

    def fit(self) -> None:
        """Show the whole graph, and wait until it is shown."""
        self.still()
        self.page.locator('[data-command="fit"]').first.click()
        self.still()

    def choose(self, name: str, *, more: bool = False) -> None:
        """Select a node by a click, instead of others or as one `more`."""
        self.node(name).click(position={"x": 12, "y": 8}, modifiers=["Shift"] if more else [])
        self.page.locator(f'[data-node-id="{name}"][data-selected="true"]').first.wait_for()

    def dialog(self, name: str) -> Any:
        """A dialog that was opened, once it is there."""
        found = self.page.locator(f'[role="dialog"][data-dialog="{name}"]')
        found.wait_for()
        return found

    def at_rest(self) -> None:
        """Wait until nothing fades in or out any more."""
        self.page.evaluate(
            """() => Promise.allSettled(document.getAnimations()
              .filter((each) => each.effect.getComputedTiming().iterations !== Infinity)
              .map((each) => each.finished)).then(() => null)"""
        )

    def pixels(self, node: str, sample: int = 0) -> list[int]:
        """A thumbnail's pixels, as the browser has decoded them."""
        return self.page.evaluate(
            """([node, sample]) => {
              const find = (root) => {
                const here = root.querySelector(`img[data-node="${node}"][data-sample="${sample}"]`);
                if (here) return here;
                for (const element of root.querySelectorAll('*')) {
                  const inside = element.shadowRoot && find(element.shadowRoot);
                  if (inside) return inside;
                }
                return null;
              };
              const image = find(document);
              if (!image || !image.complete || !image.naturalWidth) return [];
              const canvas = document.createElement('canvas');
              canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
              const context = canvas.getContext('2d');
              context.drawImage(image, 0, 0);
              return Array.from(context.getImageData(0, 0, canvas.width, canvas.height).data);
            }""",
            [node, sample],
        )

    def wait_for_pixels(self, node: str, wanted: Callable[[list[int]], bool], sample: int = 0) -> list[int]:
        """Wait until a thumbnail is what is wanted."""

        def found() -> list[int]:
            pixels = self.pixels(node, sample)
            return pixels if pixels and wanted(pixels) else []

        pixels: list[int] = self.wait(found, f"the pictures of '{node}' did not become what they should")
        return pixels

    def wait(self, wanted: Callable[[], Any], what: str) -> Any:
        """Wait until `wanted` gives something, and answer with it; `what` says what is wrong otherwise."""
        ends = time.monotonic() + PATIENCE
        while not (found := wanted()):
            assert time.monotonic() < ends, what
            self.page.wait_for_timeout(50)
        return found


@contextmanager
def tabs_of(app: App, browser: Any) -> Iterator[Callable[[], Tab]]:
    """Opens tabs of an app; in the end none of them may have seen an error or another host."""
    context = browser.new_context(viewport=WINDOW, accept_downloads=True)
    tabs: list[Tab] = []

    def make() -> Tab:
        tab = Tab(context.new_page())
        tab.page.goto(app.address)
        tabs.append(tab)
        tab.ready()
        return tab

    yield make
    context.close()
    for tab in tabs:
        assert not tab.problems
        assert tab.hosts <= {"127.0.0.1"}


@pytest.fixture
def open_tab(browser: Any, own_app: App) -> Iterator[Callable[[], Tab]]:
    """Opens tabs of the test's own app."""
    with tabs_of(own_app, browser) as make:
        yield make


@pytest.fixture
def tab(request: pytest.FixtureRequest) -> Tab:
    """One tab of the app."""
    if request.node.get_closest_marker("own_app"):
        make: Callable[[], Tab] = request.getfixturevalue("open_tab")
        return make()
    kept: Tab = request.getfixturevalue("kept_tab")
    return kept


@pytest.fixture(scope="package")
def kept_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app for all tests that change nothing but its document."""
    with started(tmp_path_factory.mktemp("app")) as app:
        yield app


class Kept:
    """A tab that many tests use in turn: to load the page takes longer than most of them."""

    def __init__(self, make: Callable[[], Tab]) -> None:
        self._make = make
        self._tab: Tab | None = None

    def again(self) -> Tab:
        """The tab with an editor that knows nothing of the one before, as where the page is loaded."""
        if self._tab is None:
            self._tab = self._make()
            return self._tab
        page = self._tab.page
        page.set_viewport_size(WINDOW)
        page.mouse.move(0, 0)
        page.evaluate("localStorage.clear()")
        page.reload()
        return self._tab

    def drop(self) -> None:
        """Close the tab: the next test begins in another one."""
        if self._tab is not None:
            self._tab.page.close()
        self._tab = None


@contextmanager
def lent(kept: Kept, session: pytest.Session) -> Iterator[Tab]:
    """The tab for one test; after one that failed it is closed."""
    failed = session.testsfailed
    tab = kept.again()
    tab.problems.clear()
    yield tab
    if session.testsfailed > failed or tab.problems:
        kept.drop()
    assert not tab.problems


@pytest.fixture(scope="package")
def kept_tabs(browser: Any, kept_app: App) -> Iterator[Kept]:
    """The tab of that app."""
    with tabs_of(kept_app, browser) as make:
        yield Kept(make)


@pytest.fixture
def first_document(kept_app: App) -> dict[str, Any]:
    """What that tab shows first."""
    return kept_app.first


@pytest.fixture
def kept_tab(
    request: pytest.FixtureRequest, kept_tabs: Kept, kept_app: App, first_document: dict[str, Any]
) -> Iterator[Tab]:
    """That tab with the document that a test begins with."""
    kept_app.session.replace(first_document)
    with lent(kept_tabs, request.session) as tab:
        tab.ready()
        yield tab
