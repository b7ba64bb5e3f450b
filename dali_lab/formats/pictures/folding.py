"""Large graphs made readable: groups of nodes shown as one, as folded in the editor or by conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.graph.scopes import node_scopes
from dali_lab.model.errors import GraphError
from dali_lab.schema.registry import find_operator, known_operator

MANY = 60
"""Graphs of more nodes are folded where they have conditions."""

FOLDED = "(folded)"
"""The operator of a node that stands for several."""

_MOST_NAMED = 40


@dataclass(frozen=True)
class Fold:
    """Nodes that are shown as one.

    Attributes
    ----------
    title
        Name of the one.
    nodes
        The nodes.
    """

    title: str
    nodes: tuple[str, ...]


def condition_folds(graph: Graph) -> list[Fold]:
    """A fold for each condition that stands in no other: its branches, and the nodes that serve it alone.

    Empty for graphs that cannot be followed.
    """
    try:
        scopes = node_scopes(graph)
        order = graph.order()
    except GraphError:
        return []
    conditional = {name for name in graph.nodes if _in_condition(graph.nodes[name], scopes.get(name, 0))}
    component: dict[str, str] = {}

    def root(name: str) -> str:
        while component[name] != name:
            name = component[name]
        return name

    for name in order:
        if name in conditional:
            component[name] = name
            for edge in graph.nodes[name].edges():
                joined = find_operator(graph.nodes[edge.node].op).joins_scopes and not scopes.get(edge.node, 0)
                if edge.node in component and not joined:
                    component[root(edge.node)] = name
    members: dict[str, set[str]] = {}
    for name in component:
        members.setdefault(root(name), set()).add(name)
    fed = _fed_by_sources(graph, order)
    consumers = graph.consumers()
    for edge in graph.outputs:
        consumers.setdefault(edge.node, []).append("")
    for nodes in members.values():
        for name in reversed(order):
            if name not in conditional and name not in fed and consumers[name] and nodes.issuperset(consumers[name]):
                nodes.add(name)
    found = [tuple(name for name in order if name in nodes) for nodes in members.values() if len(nodes) > 2]
    found.sort(key=lambda nodes: order.index(nodes[-1]))
    several = len(found) > 1
    return [Fold(f"branches {number}" if several else "branches", nodes) for number, nodes in enumerate(found, 1)]


def folds_of(graph: Graph) -> list[Fold]:
    """The folds of a graph: the groups that were folded in the editor, or else the conditions of a large graph."""
    groups = graph.view.get("groups")
    found = list(_folded_groups(graph, groups)) if isinstance(groups, (list, tuple)) else []
    return found or (condition_folds(graph) if len(graph.nodes) > MANY else [])


def folded(graph: Graph) -> tuple[Graph, dict[str, tuple[str, ...]]]:
    """The graph with a node for each fold, for pictures alone, and the operators that each of these stands for."""
    folds = folds_of(graph)
    if not folds:
        return graph, {}
    place: dict[str, str] = {}
    named: dict[str, Fold] = {}
    for fold in folds:
        name = unique_name(fold.title, {**graph.nodes, **named})
        named[name] = fold
        place.update(dict.fromkeys(fold.nodes, name))

    def there(edge: Edge) -> Edge:
        return Edge(place[edge.node], 0, edge.device) if edge.node in place else edge

    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        name = place.get(node.id, node.id)
        if name in named and name not in nodes:
            outside = [e for m in named[name].nodes for e in graph.nodes[m].edges() if place.get(e.node) != name]
            nodes[name] = Node(name, FOLDED, node.device, tuple(dict.fromkeys(map(there, outside))))
        elif name not in named:
            nodes[name] = node.rewired(there)
    result = Graph(nodes, tuple(map(there, graph.outputs)), graph.pipeline)
    try:
        result.order()
    except GraphError:
        return graph, {}  # something outside stands between two nodes of a fold
    return result, {name: operators_of(graph, fold.nodes) for name, fold in named.items()}


def with_groups(graph: Graph) -> Graph:
    """The graph with its conditions as folded groups for the editor, if it is large and has none, and no sub-graphs."""
    if subgraphs.FOLDED in graph.view or graph.view.get("groups") or len(graph.nodes) <= MANY:
        return graph
    groups = [
        {"id": f"branches-{number}", "title": fold.title, "nodes": list(fold.nodes), "collapsed": True}
        for number, fold in enumerate(condition_folds(graph), 1)
    ]
    return graph.replaced(view={**graph.view, "groups": groups}) if groups else graph


def operators_of(graph: Graph, nodes: Sequence[str]) -> tuple[str, ...]:
    """The operators of nodes, each once, without those that only serve conditions and numbers."""
    ops = dict.fromkeys(graph.nodes[name].op for name in nodes)
    return tuple(op for op in ops if not _serves_others(op))[:_MOST_NAMED]


def _serves_others(op: str) -> bool:
    operator = known_operator(op)
    return operator is not None and bool(operator.hidden or operator.syntax or operator.makes_numbers)


def _folded_groups(graph: Graph, groups: Sequence[Any]) -> Iterator[Fold]:
    taken: set[str] = set()
    for group in groups:
        if not isinstance(group, Mapping) or group.get("collapsed") is not True:
            continue
        listed = group.get("nodes")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, (list, tuple)) else []
        nodes = tuple(name for name in dict.fromkeys(names) if name in graph.nodes and name not in taken)
        taken.update(nodes)
        if nodes:
            yield Fold(str(group.get("title") or group.get("id") or "group"), nodes)


def _in_condition(node: Node, scope: int) -> bool:
    operator = known_operator(node.op)
    return bool(scope) or (operator is not None and (operator.joins_scopes or operator.cut_of_output(0) is not None))


def _fed_by_sources(graph: Graph, order: Sequence[str]) -> set[str]:
    """The nodes that get data from readers and other sources."""
    fed: set[str] = set()
    for name in order:
        node = graph.nodes[name]
        operator = known_operator(node.op)
        if (operator is not None and operator.source) or any(edge.node in fed for edge in node.edges()):
            fed.add(name)
    return fed
