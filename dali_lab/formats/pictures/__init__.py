"""Graphs as pictures and pages: Graphviz, SVG, PNG and HTML."""

from __future__ import annotations

from functools import partial

from dali_lab.formats.pictures import dot, png, report
from dali_lab.formats.pictures.drawing import mimebundle
from dali_lab.formats.registry import Format, register
from dali_lab.graph.graph import show_graphs_with

show_graphs_with(mimebundle)
register(
    Format("dot", "Graphviz", (".dot", ".gv"), dot.dumps),
    Format("svg", "a picture of the graph", (".svg",), dot.picture, binary=True),
    Format("pdf", "a picture of the graph, made by Graphviz", (".pdf",), partial(dot.picture, kind="pdf"), binary=True),
    Format(
        "png",
        "a picture of the graph, made by Graphviz, with the graph inside",
        (".png",),
        lambda graph: png.embed(dot.picture(graph, "png"), graph),
        lambda data, name, arguments, file: png.loads(data),
        lambda data, name: data.startswith(png.SIGNATURE),
        binary=True,
        movable=True,
    ),
    Format(
        "report",
        "a page with the drawing and the code of the graph, and the graph inside",
        (".html",),
        report.page,
        lambda data, name, arguments, file: report.loads(data),
        report.detect,
        binary=True,
        movable=True,
    ),
)
