"""A graph in the language of Graphviz, and pictures of it."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from typing import Literal

from dali_lab.formats.disk import PathLike, write_bytes
from dali_lab.formats.pictures.drawing import svg
from dali_lab.formats.pictures.labels import edge_label, label
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
    edges = list(_edges(graph))
    if show_tensors:
        seen: dict[str, str] = {}
        for (source, output), target, attributes in edges:
            tensor = seen.get(f"{source}:{output}")
            if tensor is None:
                tensor = seen[f"{source}:{output}"] = _quoted(f"tensor {source}:{output}")
                text = html.escape(f"{source}:{output}" if output else source)
                lines.append(f"  {tensor} [shape=plain, style=solid, label=<<i>{text}</i>>];")
                lines.append(f"  {_quoted(f'node {source}')} -> {tensor};")
            lines.append(f"  {tensor} -> {_quoted(target)}{attributes};")
    else:
        lines += [f"  {_quoted(f'node {source}')} -> {_quoted(target)}{rest};" for (source, _), target, rest in edges]
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
        raise FormatError(f"{kind!r} is none of {', '.join(PICTURES)}")
    import graphviz

    try:
        return bytes(graphviz.Source(dumps(graph)).pipe(format=kind))
    except graphviz.ExecutableNotFound as error:
        raise FormatError(
            f"a picture as {kind.upper()} needs Graphviz's program 'dot', which is not installed; SVG needs nothing"
        ) from error
    except graphviz.CalledProcessError as error:
        raise FormatError(f"Graphviz could not draw the graph: {error}") from error


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\0", " ") + '"'


def _node(node: Node, use_colors: bool) -> str:
    text = label(node)
    rows = [f"<b>{html.escape(text.title)}</b>", f'<font point-size="9">{html.escape(text.subtitle)}</font>']
    rows += [f'<font point-size="9" color="#555e6e">{html.escape(line)}</font>' for line in text.lines]
    colour = f', color="{text.colour}", penwidth=1.6' if use_colors else ""
    return f"{_quoted('node ' + node.id)} [label=<{'<br/>'.join(rows)}>{colour}]"


def _output_attributes(index: int) -> str:
    return f'[shape=plain, style=solid, label=<<font point-size="10" color="#555e6e">output {index}</font>>]'


def _edges(graph: Graph) -> Iterator[tuple[tuple[str, int], str, str]]:
    """Source, target and attributes of every edge that leads from a node."""
    for node in graph.nodes.values():
        for edge in node.inputs:
            if edge.node in graph.nodes:
                yield (
                    (edge.node, edge.output),
                    f"node {node.id}",
                    _attributes(edge_label(graph, edge.node, edge.output)),
                )
        for name in sorted(node.connections):
            edge = node.connections[name]
            if edge.node in graph.nodes:
                yield (edge.node, edge.output), f"node {node.id}", _attributes(name, dashed=True)
    for index, edge in enumerate(graph.outputs):
        if edge.node in graph.nodes:
            text = edge_label(graph, edge.node, edge.output)
            moved = f"to {edge.device.upper()}" if edge.device else ""
            yield (edge.node, edge.output), f"out {index}", _attributes(" ".join(filter(None, (text, moved))))


def _attributes(text: str, *, dashed: bool = False) -> str:
    parts = [f"label={_quoted(text)}"] if text else []
    if dashed:
        parts.append("style=dashed")
    return f" [{', '.join(parts)}]" if parts else ""
