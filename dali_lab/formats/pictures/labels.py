"""Texts of a picture of a graph: the name of each node, its operator and the arguments that matter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.short_text import printable, short
from dali_lab.schema.registry import known_operator

DEVICE_COLOURS = {"cpu": "#2f6fc4", "gpu": "#3f8f1f", "mixed": "#1a8f88"}
FOLD_COLOUR = "#7a8699"
UNKNOWN_COLOUR = "#c0392b"
MOST_ARGUMENTS = 6


@dataclass(frozen=True)
class Label:
    """The text of a node.

    Attributes
    ----------
    title
        The node's name.
    subtitle
        Operator and device.
    lines
        Arguments that differ from their defaults, as ``name = value``.
    colour
        Of the mark that tells the device; red for an unknown operator.
    """

    title: str
    subtitle: str
    lines: tuple[str, ...]
    colour: str


def label(node: Node) -> Label:
    """The label of a node."""
    operator = known_operator(node.op)
    known = operator is not None
    table = operator.argument_table if operator is not None else {}
    shown = [name for name in table if name in node.arguments] + [name for name in node.arguments if name not in table]
    shown.sort(key=lambda name: not (name in table and table[name].important))
    lines = [f"{name} = {short(node.arguments[name])}" for name in shown if name not in ("name", "preserve")]
    if len(lines) > MOST_ARGUMENTS:
        lines = [*lines[: MOST_ARGUMENTS - 1], f"… {len(lines) - MOST_ARGUMENTS + 1} more"]
    device = node.device.upper() if node.device in ("cpu", "gpu") else node.device
    return Label(
        printable(node.id, 40),
        printable(f"{node.op} · {device}" if known else f"{node.op} · unknown operator", 48),
        tuple(printable(line, 48) for line in lines),
        DEVICE_COLOURS.get(node.device, UNKNOWN_COLOUR) if known else UNKNOWN_COLOUR,
    )


def fold_label(title: str, operators: Sequence[str]) -> Label:
    """The label of what stands for several nodes, with these operators among them."""
    lines = textwrap.wrap(", ".join(operators), 44)
    if len(lines) > MOST_ARGUMENTS:
        lines = [*lines[: MOST_ARGUMENTS - 1], "…"]
    return Label(printable(title, 40), "folded", tuple(printable(line, 48) for line in lines), FOLD_COLOUR)


class Line(NamedTuple):
    """A connection as it is drawn: from an output of a node to a node, or to an output of the graph by its number."""

    source: Edge
    target: str | int
    text: str
    dashed: bool = False


def lines_of(graph: Graph) -> Iterator[Line]:
    """The connections that lead from a node; dashed ones go to arguments."""
    for node in graph.nodes.values():
        for edge in node.inputs:
            if edge.node in graph.nodes:
                yield Line(edge, node.id, _edge_label(graph, edge))
        for name in sorted(node.connections):
            if node.connections[name].node in graph.nodes:
                yield Line(node.connections[name], node.id, name, dashed=True)
    for number, edge in enumerate(graph.outputs):
        if edge.node in graph.nodes:
            moved = f"to {edge.device.upper()}" if edge.device else ""
            yield Line(edge, number, " ".join(filter(None, (_edge_label(graph, edge), moved))))


def _edge_label(graph: Graph, edge: Edge) -> str:
    """The name or number of the output that an edge takes, where the node has several."""
    node, output = graph.nodes[edge.node], edge.output
    operator = known_operator(node.op)
    if operator is None:
        return str(output) if output else ""
    if operator.count_outputs(node.arguments, len(node.inputs)) < 2:
        return ""
    present = operator.present_outputs(node.arguments)
    return present[output].name if output < len(present) > 1 else str(output)
