"""Merges nodes that compute the same from the same inputs, such as one cast written twice."""

from __future__ import annotations

from collections.abc import Container

from dali_lab.graph.graph import Edge, Graph, Node, same_values
from dali_lab.schema.registry import find_operator


def merge_equal(graph: Graph, unnamed: Container[str]) -> Graph:
    """The graph with one node in place of several equal ones: the first of them, under its name.

    Exact: nodes that draw random numbers are merged only where they have the same explicit seed; sources, the user's
    functions and preserved nodes never are. As in NVIDIA DALI, nodes that a person has named stay apart: only those in
    `unnamed` are merged.
    """
    kept: dict[object, list[Node]] = {}
    merged: dict[str, str] = {}

    def moved(edge: Edge) -> Edge:
        return edge._replace(node=merged[edge.node]) if edge.node in merged else edge

    for name in graph.order():
        if name not in unnamed or not _can_be_merged(graph.nodes[name]):
            continue
        node = graph.nodes[name].rewired(moved)
        # Long arrays are shortened in the text, so arguments are compared as well.
        described = repr([(key, node.arguments[key]) for key in sorted(node.arguments)])
        key = (node.op, node.device, node.inputs, tuple(sorted(node.connections.items())), described)
        alike = kept.setdefault(key, [])
        first = next((each for each in alike if same_values(each.arguments, node.arguments)), None)
        if first is None:
            alike.append(node)
        else:
            merged[name] = first.id
    return graph.without(merged).rewired(moved) if merged else graph


def _can_be_merged(node: Node) -> bool:
    operator = find_operator(node.op)
    if node.arguments.get("preserve") or operator.keeps:
        return False
    if operator.random and not operator.source and not operator.in_order:
        return "seed" in node.arguments
    return operator.repeats() or operator.joins_scopes or operator.cut_of_output(0) is not None
