"""Saved notebooks: outputs of cells are pictures that load and run nothing, whatever names stand in them."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from dali_lab.formats.pictures.drawing import mimebundle
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.studio.hosts.showing import show

HOSTILE = (
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "</svg></style><svg onload=alert(1)>",
    "javascript:alert(1)",
    "<foreignObject><iframe src='http://evil.example'>",
)  # fmt: skip
CALM = {"div", "figure", "figcaption", "img", "pre", "span"}
"""Elements that outputs are made of."""
STILL = {"svg", "g", "rect", "path", "text", "tspan", "circle", "line", "title", "defs", "marker", "polyline", "style"}
"""Elements that drawings are made of."""


class Reader(HTMLParser):
    """Elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def check_page(text: str) -> None:
    """Only plain elements, no handlers, and pictures that stand in the page itself."""
    for tag, attributes in Reader(text).elements:
        assert tag in CALM, tag
        assert attributes.keys() <= {"src", "alt", "style", "class"}, attributes
        assert re.match(
            r"data:image/(png|jpeg|webp|svg\+xml);base64,", attributes.get("src") or "data:image/png;base64,"
        )
        assert "url(" not in (attributes.get("style") or "")


def check_drawing(text: str) -> None:
    """A drawing without scripts, foreign content or addresses."""
    for element in ElementTree.fromstring(text).iter():
        assert element.tag.rpartition("}")[2] in STILL, element.tag
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on") and "href" not in name
            assert not re.search(r"url\((?!#)|://|javascript:", value), value


@pytest.fixture
def graph() -> Graph:
    """A graph whose names are HTML."""
    nodes = {name: Node(name, "random.uniform", "cpu", (), {}) for name in HOSTILE if ":" not in name}
    view = {"notes": [{"id": "n", "text": HOSTILE[0], "x": 0, "y": 0, "w": 90, "h": 90}], "groups": []}
    return Graph(nodes, tuple(Edge(name) for name in nodes), {}, view)


def outputs(graph: Graph) -> list[dict[str, Any]]:
    """All that cells of a notebook may keep: pictures of a graph and of an editor, and a batch with captions."""
    shown = show(np.zeros((len(HOSTILE), 8, 8, 3), np.uint8), labels=list(HOSTILE))
    return [mimebundle(graph), editor(graph), {"text/html": shown._repr_html_()}]


def editor(graph: Graph) -> dict[str, Any]:
    """The pictures that an editor in a cell keeps, without the widget itself."""
    from dali_lab.studio.hosts.widget import edit  # imports anywidget, which takes time

    made = edit(graph)
    try:
        bundle = made._repr_mimebundle_()
    finally:
        made.close()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    return {kind: data[kind] for kind in ("text/html", "image/svg+xml")}


def test_outputs_are_pictures(graph: Graph) -> None:
    for data in outputs(graph):
        check_page(data["text/html"])
        if "image/svg+xml" in data:
            check_drawing(data["image/svg+xml"])
            inner = re.search(r"base64,([^\"]+)", data["text/html"])
            assert inner is not None
            check_drawing(base64.b64decode(inner[1]).decode())


def test_pages_of_notebooks_show_them_as_they_are(graph: Graph) -> None:
    """What nbconvert makes of a notebook has these outputs and nothing of theirs that runs."""
    import nbformat  # both are imported here: it takes seconds
    from nbconvert import HTMLExporter

    cells = [
        nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data)]) for data in outputs(graph)
    ]
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    bare, _ = HTMLExporter().from_notebook_node(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("") for _ in cells])
    )

    def active(text: str) -> list[tuple[str, dict[str, str | None]]]:
        return [
            (tag, attributes)
            for tag, attributes in Reader(text).elements
            if tag in ("script", "iframe", "object", "embed", "link", "form")
            or any(k.startswith("on") for k in attributes)
        ]

    assert active(page) == active(bare), "all that is active is nbconvert's own"
    assert len(re.findall("<img ", page)) - len(re.findall("<img ", bare)) >= len(HOSTILE)
