"""What passes ask of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dali_lab.graph.graph import Edge, Graph, Node


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


def merged_chains(graph: Graph, fused: str, belongs: Callable[[Node], bool]) -> Graph:
    """The graph with nodes that belong together and follow each other alone replaced by one of the operator `fused`.

    They are placed on one device. It has the name of the last one, the inputs of the first one, and the argument
    ``parts`` (:func:`described`).
    """
    for name in list(graph.nodes):
        first = graph.nodes.get(name)
        if first is None or not belongs(first):
            continue
        nodes = [first]
        while (user := only_consumer(graph, nodes[-1].id)) is not None and belongs(user):
            if user.device != first.device:
                break
            nodes.append(user)
        if len(nodes) == 1:
            continue
        last = nodes[-1]
        parts = [described(node) for node in nodes]
        merged = Node(last.id, fused, last.device, first.inputs, {"parts": parts}, connections(nodes), last.origin)
        for node in nodes[:-1]:
            graph = replaced_pair(graph, node.id, last.id, merged)
    return graph


def described(node: Node) -> dict[str, Any]:
    """What a fused node keeps of a node: an element of the argument ``parts``."""
    return {"op": node.op, "node": node.id, "arguments": dict(node.arguments), "origin": node.origin}


def connections(nodes: Sequence[Node]) -> dict[str, Edge]:
    """The connections of several nodes as those of a fused one: ``"1.hue"`` is the argument of the second."""
    return {f"{index}.{name}": edge for index, node in enumerate(nodes) for name, edge in node.connections.items()}
