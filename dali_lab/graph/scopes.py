"""Scopes: the samples that each node of a graph works on, the whole batch or a branch of a conditional."""

from __future__ import annotations

from collections.abc import Mapping

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.model.errors import GraphError
from dali_lab.schema.registry import find_operator, has_operator


def node_scopes(graph: Graph) -> dict[str, int]:
    """A number for the group of samples that each node works on: 0 for the whole batch.

    All splits by one predicate make the same two groups, so that nodes of a branch can be used together.

    Raises
    ------
    GraphError
        If a node's inputs come from different groups.
    """
    return _scopes(graph)[0]


def branch_of_scopes(graph: Graph) -> dict[int, tuple[Edge, int]]:
    """For each scope but the whole batch: the condition that makes it, and its branch (0 where it holds, 1 where not).

    Raises
    ------
    GraphError
        If a node's inputs come from different groups.
    """
    return {scope: branch for branch, scope in _scopes(graph)[1].items()}


def branches_of_scopes(graph: Graph) -> dict[int, list[tuple[Edge, int]]]:
    """For each scope the conditions that lead to it, outermost first, each with its branch.

    Raises
    ------
    GraphError
        If a node's inputs come from different groups.
    """
    scopes, groups = _scopes(graph)
    found: dict[int, list[tuple[Edge, int]]] = {0: []}
    connections = {name: graph.nodes[name].connections for name in scopes}
    outer = {bare(edges["predicate"]): scopes[name] for name, edges in connections.items() if "predicate" in edges}
    for (predicate, branch), scope in groups.items():  # outer scopes come before those within them
        found[scope] = [*found[outer[predicate]], (predicate, branch)]
    return found


def _scopes(graph: Graph) -> tuple[dict[str, int], dict[tuple[Edge, int], int]]:
    scopes: dict[str, int] = {}
    outputs: dict[Edge, int] = {}
    groups: dict[tuple[Edge, int], int] = {}
    for name in graph.order():
        node = graph.nodes[name]
        if not has_operator(node.op):
            continue
        operator = find_operator(node.op)
        scope = scopes[name] = _scope_of(node, operator.joins_scopes, outputs)
        for index in range(operator.count_outputs(node.arguments, len(node.inputs))):
            cut = operator.cut_of_output(index)
            if cut is not None and "predicate" in node.connections:
                key = (bare(node.connections["predicate"]), cut)
                outputs[Edge(name, index)] = groups.setdefault(key, len(groups) + 1)
            elif scope:
                outputs[Edge(name, index)] = scope
    return scopes, groups


def _scope_of(node: Node, joins: bool, outputs: Mapping[Edge, int]) -> int:
    if joins and "predicate" in node.connections:
        return outputs.get(bare(node.connections["predicate"]), 0)
    found = {outputs.get(bare(edge), 0) for edge in node.edges()}
    if len(found) > 1:
        raise GraphError(
            "its inputs come from different branches of a conditional",
            node=node.id,
            operator=node.op,
            origin=node.origin or None,
        )
    return found.pop() if found else 0
