"""A graph in the language of Graphviz, and pictures of it."""

from __future__ import annotations

import html
import os
from typing import Literal

from dali_lab.formats.disk import PathLike, write_bytes
from dali_lab.formats.pictures.drawing import svg
from dali_lab.formats.pictures.labels import label, lines_of
from dali_lab.graph.graph import Graph, Node
from dali_lab.model.errors import FormatError

PICTURES = ("svg", "png", "pdf")


def dumps(graph: Graph, *, show_tensors: bool = False, use_colors: bool = True) -> str:
    """The graph in the language of Graphviz.

    Parameters
    ----------
    show_tensors
        Show what travels between the nodes as nodes of their own.
    use_colors
        Tell CPU and GPU apart by colour.
    """
    lines = [
        "digraph pipeline {",
        '  graph [rankdir=TB, nodesep=0.35, ranksep=0.4, fontname="Helvetica"];',
        '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#8a94a6", fontname="Helvetica", '
        "fontsize=11, margin=0.08];",
        '  edge [color="#6b7688", fontname="Helvetica", fontsize=9, arrowsize=0.7];',
        "",
    ]
    lines += [f"  {_node(node, use_colors)};" for node in graph.nodes.values()]
    lines += [f"  {_quoted('out ' + str(index))} {_output_attributes(index)};" for index in range(len(graph.outputs))]
    lines.append("")
    seen: set[str] = set()
    for line in lines_of(graph):
        source = _quoted(f"node {line.source.node}")
        target = _quoted(f"node {line.target}" if isinstance(line.target, str) else f"out {line.target}")
        if show_tensors:
            name = str(line.source._replace(device=""))
            tensor = _quoted(f"tensor {line.source.node}:{line.source.output}")
            if tensor not in seen:
                seen.add(tensor)
                lines.append(f"  {tensor} [shape=plain, style=solid, label=<<i>{_escaped(name)}</i>>];")
                lines.append(f"  {source} -> {tensor};")
            source = tensor
        lines.append(f"  {source} -> {target}{_attributes(line.text, dashed=line.dashed)};")
    return "\n".join([*lines, "}", ""])


def dump(graph: Graph, path: PathLike, *, show_tensors: bool = False, use_colors: bool = True) -> None:
    """Write the graph in the language of Graphviz, or a picture if the path ends in ``.svg``, ``.png`` or ``.pdf``.

    Raises
    ------
    FormatError
        If it cannot be written.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower().lstrip(".")
    if ending in PICTURES:
        write_bytes(path, picture(graph, ending))  # type: ignore[arg-type]
    else:
        write_bytes(path, dumps(graph, show_tensors=show_tensors, use_colors=use_colors).encode("utf-8", "replace"))


def picture(graph: Graph, kind: Literal["svg", "png", "pdf"] = "svg") -> bytes:
    """A picture of the graph. SVG needs nothing else; PNG and PDF are made by Graphviz's program ``dot``.

    Raises
    ------
    FormatError
        If ``dot`` is needed and not installed, or fails.
    """
    if kind == "svg":
        return svg(graph).encode("utf-8", "replace")
    if kind not in PICTURES:
        raise FormatError(f"{kind!r} is not one of {', '.join(PICTURES)}")
    import graphviz

    try:
        return bytes(graphviz.Source(dumps(graph)).pipe(format=kind))
    except graphviz.ExecutableNotFound as error:
        raise FormatError(
            f"a picture as {kind.upper()} needs Graphviz's program 'dot', which is not installed; SVG needs nothing"
        ) from error
    except graphviz.CalledProcessError as error:
        raise FormatError(f"Graphviz could not draw the graph: {error}") from error


def _escaped(text: str) -> str:
    """Text for a label as HTML; Graphviz takes a bare ``]`` before a tag for the end of a CDATA section."""
    return html.escape(text).replace("]", "&#93;")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\0", " ") + '"'


def _node(node: Node, use_colors: bool) -> str:
    text = label(node)
    rows = [f"<b>{_escaped(text.title)}</b>", f'<font point-size="9">{_escaped(text.subtitle)}</font>']
    rows += [f'<font point-size="9" color="#555e6e">{_escaped(line)}</font>' for line in text.lines]
    colour = f', color="{text.colour}", penwidth=1.6' if use_colors else ""
    return f"{_quoted('node ' + node.id)} [label=<{'<br/>'.join(rows)}>{colour}]"


def _output_attributes(index: int) -> str:
    return f'[shape=plain, style=solid, label=<<font point-size="10" color="#555e6e">output {index}</font>>]'


def _attributes(text: str, *, dashed: bool) -> str:
    parts = [f"label={_quoted(text)}"] if text else []
    if dashed:
        parts.append("style=dashed")
    return f" [{', '.join(parts)}]" if parts else ""
