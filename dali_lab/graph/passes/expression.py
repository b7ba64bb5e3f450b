"""Fuses arithmetic and casts that only feed each other into one operator, evaluated block by block."""

from __future__ import annotations

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.passes.matching import described, fused_name

_FUSED = "_expression"
_MOST = 32
"""Most nodes fused into one: each keeps a block of its results."""


def expression(graph: Graph) -> Graph:
    """Exact: every step keeps its own type, rounding and wrapping; only the arrays between them are gone."""
    users = graph.consumers()
    for edge in graph.outputs:
        users.setdefault(edge.node, []).append("")
    nodes = dict(graph.nodes)
    for root in reversed(list(graph.nodes.values())):
        if root.id not in nodes or not _is_step(root):
            continue
        group = _feeding(graph, root, users)
        if len(group) > 1:
            nodes[root.id] = _merged(root, group)
            for node in group[:-1]:
                del nodes[node.id]
    return graph if len(nodes) == len(graph.nodes) else graph.replaced(nodes=nodes)


def _is_step(node: Node) -> bool:
    if node.connections or any(edge.output for edge in node.inputs):
        return False
    return fused_name(node) == _FUSED


def _feeding(graph: Graph, root: Node, users: dict[str, list[str]]) -> list[Node]:
    """The nodes that only feed `root`, directly or through each other, and `root` itself as the last; in order."""
    group = {root.id}
    joined = [root.id]
    while joined and len(group) < _MOST:
        for edge in graph.nodes[joined.pop()].inputs:
            node = graph.nodes[edge.node]
            if (
                node.id not in group
                and group.issuperset(users[node.id])
                and _is_step(node)
                and node.device == root.device
                and not node.arguments.get("preserve")
            ):
                group.add(node.id)
                joined.append(node.id)
    ordered: dict[str, Node] = {}

    def visit(name: str) -> None:
        if name in group and name not in ordered:
            for edge in graph.nodes[name].inputs:
                visit(edge.node)
            ordered[name] = graph.nodes[name]

    visit(root.id)
    return list(ordered.values())


def _merged(root: Node, group: list[Node]) -> Node:
    members = [node.id for node in group]
    inputs: list[Edge] = []
    for node in group:
        inputs += [edge for edge in node.inputs if edge.node not in members and edge not in inputs]
    operands = [
        [len(inputs) + members.index(edge.node) if edge.node in members else inputs.index(edge) for edge in node.inputs]
        for node in group
    ]
    parts = [described(node) for node in group]
    return Node(root.id, _FUSED, root.device, tuple(inputs), {"parts": parts, "operands": operands}, {}, root.origin)
