"""Helpers with which passes match and replace parts of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.registry import find_operator


def only_consumer(graph: Graph, producer: str) -> Node | None:
    """The one node that uses the first output of `producer` as its first input, if nothing else uses that node."""
    if any(edge.node == producer for edge in graph.outputs) or graph.nodes[producer].arguments.get("preserve"):
        return None
    users = [(node, edge) for node in graph.nodes.values() for edge in node.edges() if edge.node == producer]
    if len(users) != 1:
        return None
    node, edge = users[0]
    if edge.output == 0 and node.inputs and node.inputs[0] == Edge(producer):
        return node
    return None


def replaced_pair(graph: Graph, first: str, second: str, merged: Node) -> Graph:
    """The graph with two nodes replaced by one, which has the name of the second and its place in the order."""
    nodes = {}
    for name, node in graph.nodes.items():
        if name == first:
            continue
        nodes[name] = merged if name == second else node
    return graph.replaced(nodes=nodes)


def fused_name(node: Node) -> str:
    """The fused operator that this node may become part of, or an empty text."""
    return find_operator(node.op).fuses_as(node.arguments, len(node.inputs))


def described(node: Node) -> dict[str, Any]:
    """Description of a node inside a fused node: an element of the argument ``parts``."""
    return {"op": node.op, "node": node.id, "arguments": dict(node.arguments), "origin": node.origin}


def connections(nodes: Sequence[Node]) -> dict[str, Edge]:
    """The connections of several nodes as those of a fused one: ``"1.hue"`` is the argument of the second."""
    return {f"{index}.{name}": edge for index, node in enumerate(nodes) for name, edge in node.connections.items()}
