"""Graphs as pictures: Graphviz, SVG and PNG."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from dali_lab.formats.registry import Arguments, Format, register
from dali_lab.graph.graph import Graph, show_graphs_with


def detect(data: bytes, name: str) -> bool:
    """Whether it is a PNG."""
    from dali_lab.formats.pictures.png import SIGNATURE

    return data.startswith(SIGNATURE)


def loads(data: bytes, name: str | None = None, arguments: Arguments | None = None) -> Graph:
    """The graph inside a PNG."""
    from dali_lab.formats.pictures import png

    return png.loads(data)


def _dot(graph: Graph, **options: Any) -> str:
    from dali_lab.formats.pictures import dot

    return dot.dumps(graph, **options)


def _picture(graph: Graph, kind: Literal["svg", "pdf"]) -> bytes:
    from dali_lab.formats.pictures import dot

    return dot.picture(graph, kind)


def _png(graph: Graph) -> bytes:
    from dali_lab.formats.pictures import dot, png

    return png.embed(dot.picture(graph, "png"), graph)


def _shown(graph: Graph) -> dict[str, str]:
    from dali_lab.formats.pictures.drawing import mimebundle

    return mimebundle(graph)


show_graphs_with(_shown)
register(
    Format("dot", "Graphviz", (".dot", ".gv"), _dot),
    Format("svg", "a picture of the graph", (".svg",), partial(_picture, kind="svg"), binary=True),
    Format("pdf", "a picture of the graph, made by Graphviz", (".pdf",), partial(_picture, kind="pdf"), binary=True),
    Format(
        "png",
        "a picture of the graph, made by Graphviz, with the graph inside",
        (".png",),
        _png,
        loads,
        detect,
        binary=True,
    ),
)
