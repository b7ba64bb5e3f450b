"""``dali-lab show``: a graph as text, or drawn into a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dali_lab.cli.options import Commands, add_command, load_graph, written
from dali_lab.model.errors import DaliLabError

if TYPE_CHECKING:
    from dali_lab.graph.graph import Graph


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "show", "print a graph, or draw it into a file")
    parser.add_argument("graph", metavar="GRAPH", help="a graph file, or the folder of a gallery entry")
    parser.add_argument(
        "-o", "--output", type=written, metavar="FILE", help="picture or DOT file to write (.svg, .png, .dot)"
    )
    parser.set_defaults(function=_show)


def _show(options: argparse.Namespace) -> int:
    graph = load_graph(options.graph)
    if options.output is not None:
        from dali_lab.formats import dump

        dump(graph, options.output)
        return 0
    from dali_lab.formats.json.graph_file import edge_text

    for line in graph_lines(graph, edge_text):
        print(line)
    return 0


def graph_lines(graph: Graph, edge_text: Callable[[Any], str | None]) -> list[str]:
    """A graph as text: a line for each node, in an order in which they run."""
    lines = []
    try:
        order = graph.order()
    except DaliLabError as error:
        lines.append(f"! {error.message}")
        order = list(graph.nodes)
    width = max((len(name) for name in order), default=0)
    for name in order:
        node = graph.nodes[name]
        given = [edge_text(edge) or "—" for edge in node.inputs]
        given += [f"{key}={edge_text(edge)}" for key, edge in node.connections.items()]
        given += [f"{key}={_value(value)}" for key, value in node.arguments.items()]
        lines.append(f"{name:<{width}}  {node.op}({', '.join(given)})  {node.device}")
    lines.append("outputs: " + (", ".join(str(edge) for edge in graph.outputs) or "none"))
    return lines


def _value(value: object) -> str:
    text = value.name if hasattr(value, "name") and hasattr(value, "value") else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
