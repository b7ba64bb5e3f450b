"""A document in JupyterLab as a user sees it, and graphs to open in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dali_lab.studio.document.graph_document import written
from tests.frameworks.browser.conftest import IDLE, STILL, Tab
from tests.frameworks.browser.lab import Lab

EDITOR = '[data-testid="dali-editor"]'
READY = f'{EDITOR}[data-ready="true"]'
CURRENT = ".lm-DockPanel-widget:not(.lm-mod-hidden)"
DOCUMENT = "window.jupyterapp.shell.currentWidget"


@contextmanager
def page_of(lab: Lab, browser: Any) -> Iterator[Tab]:
    """A page of JupyterLab that may use the clipboard."""
    context = browser.new_context(viewport={"width": 1500, "height": 950})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield lab.open(context)
    context.close()


class Document:
    """The visible widget of the page's main area."""

    def __init__(self, tab: Tab, lab: Lab, kernel: str | None = None) -> None:
        self.tab = tab
        self.page = tab.page
        self.lab = lab
        self.kernel = kernel

    def find(self, selector: str) -> Any:
        return self.page.locator(f"{CURRENT} {selector}")

    def node(self, name: str) -> Any:
        return self.find(f'[data-node-id="{name}"]').first

    def bar(self, name: str) -> Any:
        return self.find(f'.dali-document-bar[data-bar="{name}"]')

    def ask(self, expression: str, argument: Any = None) -> Any:
        """Evaluate a function of the current widget in the page."""
        return self.page.evaluate(f"(given) => Promise.resolve(({expression})({DOCUMENT}, given))", argument)

    def command(self, name: str, **arguments: Any) -> None:
        call = "([name, given]) => Promise.resolve(window.jupyterapp.commands.execute(name, given)).then(() => null)"
        self.page.evaluate(call, [name, arguments])

    def open(self, name: str, text: str | None = None, *, ready: bool = True, alone: bool = False) -> Document:
        """Open a file, in the kernel that documents share or `alone` in the one that JupyterLab starts for it."""
        if text is not None:
            (self.lab.folder / name).write_text(text)
        self.command("docmanager:open", path=name, **({} if alone else {"kernel": {"id": self.kernel}}))
        if ready:
            self.ready()
        return self

    def choose(self, name: str, *, more: bool = False) -> None:
        """Select a node by a click, once the view has come to rest."""
        self.still()
        self.node(name).click(position={"x": 40, "y": 8}, modifiers=["Shift"] if more else [])
        self.find(f'[data-node-id="{name}"][data-selected="true"]').first.wait_for()

    def ready(self) -> None:
        # A kernel may have to start, and compile what it has never used.
        self.find(READY).first.wait_for()
        self.still()

    def idle(self) -> None:
        self.find(f"{EDITOR}{IDLE}").first.wait_for()

    def still(self) -> None:
        """Wait until it is idle, and what is seen stays where it is."""
        self.find(f"{EDITOR}{STILL}").first.wait_for()

    def connected(self) -> None:
        """Wait until a session answers, and nothing is said about the kernel."""
        self.find(f'{EDITOR}[data-connection="connected"]').first.wait_for()
        self.bar("kernel").wait_for(state="hidden")

    def dirty(self) -> bool:
        return bool(self.ask("(widget) => widget.context.model.dirty"))

    def text(self, name: str) -> str:
        return (self.lab.folder / name).read_text()

    def run(self, code: str, *, wait: bool = True) -> None:
        """Run code in the document's kernel, as a notebook on the same kernel would."""
        done = ".done.then(() => null)" if wait else ""
        kernel = "widget.context.sessionContext.session.kernel"
        body = f"{kernel}.requestExecute({{ code }}){done}"
        self.ask(f"(widget, code) => {body}" if wait else f"(widget, code) => void {body}", code)

    def change_kernel(self, **which: Any) -> None:
        """Give the document another kernel: a running one by its `id`, or a new one by its `name`."""
        self.ask("(widget, which) => widget.context.sessionContext.changeKernel(which).then(() => null)", which)

    def set_argument(self, node: str, name: str, value: Any) -> None:
        self.ask(
            """(widget, [node, name, value]) => {
              const { handle } = widget.content, graph = handle.getDocument(), old = graph.nodes[node];
              const nodes = { ...graph.nodes, [node]: { ...old, arguments: { ...old.arguments, [name]: value } } };
              handle.setDocument({ ...graph, nodes });
            }""",
            [node, name, value],
        )

    def menu(self, *labels: str) -> None:
        self.page.locator(f'.lm-MenuBar-itemLabel:text-is("{labels[0]}")').click()
        for label in labels[1:]:
            self.page.locator(f'.lm-Menu-itemLabel:text-is("{label}")').last.click()

    def wait(self, wanted: Callable[[], Any], what: str) -> Any:
        return self.tab.wait(wanted, what)


def small_text(**nodes: Any) -> str:
    value = {"op": "random.uniform", "device": "cpu", "inputs": [], "arguments": {}, "connections": {}}
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 4, "num_threads": 1, "device_id": None, "seed": 7, "prefetch_queue_depth": 2},
        "nodes": {"value": value, **nodes},
        "outputs": ["value"],
        "view": {"nodes": {"value": {"x": 0, "y": 0}}, "notes": [], "groups": []},
    }
    return written(document)


def picture_text(output: str = "decode", **more: Any) -> str:
    nodes = {
        "reader": {"op": "readers.file", "arguments": {"file_root": "pictures"}},
        "decode": {"op": "decoders.image", "inputs": ["reader"]},
        **more,
    }
    head = {"format": "dali-lab/graph", "version": 1, "pipeline": {"batch_size": 4, "seed": 7}}
    return json.dumps({**head, "nodes": nodes, "outputs": [output]}, indent=1)
