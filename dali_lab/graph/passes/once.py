"""Finds what never changes between epochs, and marks it with ``cache`` nodes so that it is computed once.

Of each sample these nodes' outputs are a function of the sample's file and of constants alone. The part before the
``cache`` nodes is run as a whole or not at all: its results are those on the edges that leave it.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.meaning import compared_arguments
from dali_lab.graph.scopes import node_scopes
from dali_lab.model.errors import GraphError, nearest
from dali_lab.schema.registry import find_operator

_CACHE = "cache"
_WITHOUT_MEANING = frozenset({"name", "preserve", "bytes_per_sample_hint", "seed", "stands_for", "on_error", "_merged"})


@dataclass(frozen=True)
class CachedPart:
    """The part of a graph before its ``cache`` nodes.

    Attributes
    ----------
    nodes
        Names of its nodes, the ``cache`` nodes among them, in dependency order.
    sources
        Those that read the samples.
    exports
        The edges that leave it.
    meaning
        Text that is the same for parts with the same results, whatever their nodes are called.
    """

    nodes: tuple[str, ...]
    sources: tuple[str, ...]
    exports: tuple[Edge, ...]
    meaning: str


def never_changing(graph: Graph, *, with_device: bool = False) -> dict[str, str]:
    """For each node the reason why its outputs change between epochs; an empty text where they do not.

    Parameters
    ----------
    graph
        A verified graph.
    with_device
        Nodes placed on a GPU run there; what is computed there is not kept.
    """
    reasons: dict[str, str] = {}
    scopes = node_scopes(graph)
    for name in graph.order():
        reasons[name] = _own_reason(graph.nodes[name], scopes.get(name, 0), with_device) or next(
            (reasons[edge.node] for edge in graph.nodes[name].edges() if reasons[edge.node]), ""
        )
    return reasons


class DecoderCache(NamedTuple):
    """The cache that a decoder asks for: its node, bytes of the cache, and bytes above which pictures are kept."""

    node: str
    limit: int
    above: int


def decoder_cache(graph: Graph) -> DecoderCache | None:
    """The cache that ``cache_size`` of a "mixed" decoder asks for, if what it decodes never changes."""
    for name, node in graph.nodes.items():
        size = node.arguments.get("cache_size", 0)
        if node.device == "mixed" and size > 0 and "cache_size" in find_operator(node.op).argument_table:
            if not never_changing(graph)[name]:
                return DecoderCache(name, size << 20, node.arguments.get("cache_threshold", 0))
    return None


def _own_reason(node: Node, scope: int, with_device: bool) -> str:
    operator = find_operator(node.op)
    if scope:
        return f"'{node.id}' stands in a branch of a condition"
    if with_device and node.device != "cpu":
        return f"'{node.id}' runs on the GPU"
    if operator.identifies or operator.repeats():
        return ""
    if operator.source:
        return f"'{node.id}' (fn.{node.op}) cannot tell which data its samples are made of"
    if operator.random:
        return f"'{node.id}' (fn.{node.op}) draws random numbers"
    return f"the results of '{node.id}' (fn.{node.op}) do not depend on the sample's file alone"


def with_caches(graph: Graph, at: str | None = None, *, with_device: bool = False) -> Graph:
    """The graph with ``cache`` nodes where results are to be kept.

    They stand behind the node `at`; else where the graph has ``cache`` nodes already; else behind the last nodes that
    decode or resize without change. A decoder of random regions decodes whole pictures for them, out of which the same
    regions are cut.

    Raises
    ------
    GraphError
        If what is to be kept changes between epochs, or nothing can be kept: the message says why.
    """
    if at is not None:
        if at not in graph.nodes:
            raise GraphError(f"cache_at: there is no node '{at}'{nearest(at, graph.nodes)}", code="node_missing")
        halves = find_operator(graph.nodes[at].op).decoded_whole()
        graph, name = _cut_in_two(graph, at, halves) if halves is not None else (graph, at)
        return _checked(_behind(graph, [name]), with_device)
    if any(find_operator(node.op).keeps for node in graph.nodes.values()):
        return _checked(graph, with_device)
    reasons = never_changing(graph, with_device=with_device)
    for name, node in graph.nodes.items():
        fed = all(not reasons[edge.node] for edge in node.edges())
        placed = not (with_device and node.device != "cpu")
        halves = find_operator(node.op).decoded_whole()
        if halves is not None and fed and placed:
            graph, _ = _cut_in_two(graph, name, halves)
    reasons = never_changing(graph, with_device=with_device)
    worth = [name for name in graph.order() if not reasons[name] and _is_work(graph.nodes[name])]
    if not worth:
        first = next((reason for reason in reasons.values() if reason), "nothing is decoded or resized")
        raise GraphError(f"there is nothing to keep in a cache: {first}", code="nothing_to_cache")
    return _behind(graph, [name for name in worth if not _feeds(graph, name, worth)])


def _is_work(node: Node) -> bool:
    operator = find_operator(node.op)
    return operator.decodes or operator.resizes


def _feeds(graph: Graph, name: str, others: Iterable[str]) -> bool:
    return any(other != name and name in _needed(graph, [other]) for other in others)


def _checked(graph: Graph, with_device: bool) -> Graph:
    reasons = never_changing(graph, with_device=with_device)
    for name, node in graph.nodes.items():
        if find_operator(node.op).keeps and reasons[name]:
            before = bare(node.inputs[0]).node
            raise GraphError(
                f"cannot be kept in a cache: {reasons[name]}",
                node=before,
                operator=graph.nodes[before].op,
                origin=graph.nodes[before].origin or None,
                code="changes_each_epoch",
            )
    return graph


def _behind(graph: Graph, names: Iterable[str]) -> Graph:
    """The graph with a ``cache`` node behind each used output of some nodes."""
    for name in names:
        used = {bare(edge) for node in graph.nodes.values() for edge in node.edges() if edge.node == name}
        used |= {bare(edge) for edge in graph.outputs if edge.node == name}
        added = {
            edge: Node(_free_name(graph, f"{name}_kept{edge.output or ''}"), _CACHE, inputs=(edge,))
            for edge in sorted(used)
        }

        def moved(edge: Edge, added: dict[Edge, Node] = added) -> Edge:
            node = added.get(bare(edge))
            return edge if node is None else Edge(node.id, 0, edge.device)

        rewired = graph.rewired(moved)
        nodes: dict[str, Node] = {}
        for other, node in rewired.nodes.items():
            nodes[other] = node
            if other == name:
                nodes.update({each.id: each for each in added.values()})
        graph = rewired.replaced(nodes=nodes)
    return graph


def _cut_in_two(graph: Graph, name: str, halves: tuple[str, str]) -> tuple[Graph, str]:
    """The graph with a decoder of random regions cut in two; and the name of the node that decodes whole pictures."""
    node = graph.nodes[name]
    decoding, cutting = (find_operator(half).argument_table for half in halves)
    first = Node(
        _free_name(graph, f"{name}_whole"),
        halves[0],
        node.device,
        node.inputs,
        {
            **{key: value for key, value in node.arguments.items() if key in decoding and key not in _WITHOUT_MEANING},
            "stands_for": name,
        },
        {},
        node.origin,
    )
    second = Node(
        name,
        halves[1],
        "cpu",
        (Edge(first.id), Edge(first.id, 1)),
        {key: value for key, value in node.arguments.items() if key in cutting},
        {key: edge for key, edge in node.connections.items() if key in cutting},
        node.origin,
    )
    nodes: dict[str, Node] = {}
    for other, kept in graph.nodes.items():
        nodes.update({first.id: first, name: second} if other == name else {other: kept})
    return graph.replaced(nodes=nodes), first.id


def _free_name(graph: Graph, wanted: str) -> str:
    name, number = wanted, 2
    while name in graph.nodes:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _needed(graph: Graph, names: Iterable[str]) -> set[str]:
    """The nodes with these names, and all before them."""
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(edge.node for edge in graph.nodes[name].edges())
    return found


def cached_part(graph: Graph) -> CachedPart | None:
    """The part before the ``cache`` nodes of a graph; `None` where it has none, or one before them reads no files.

    Raises
    ------
    GraphError
        If an argument in it has no meaning outside of this process.
    """
    keeping = [name for name, node in graph.nodes.items() if find_operator(node.op).keeps]
    inside = _needed(graph, keeping)
    nodes = tuple(name for name in graph.order() if name in inside)
    sources = tuple(name for name in nodes if find_operator(graph.nodes[name].op).source)
    if not sources:
        return None
    leaving = {
        bare(edge)
        for name, node in graph.nodes.items()
        if name not in inside
        for edge in node.edges()
        if edge.node in inside
    }
    leaving |= {bare(edge) for edge in graph.outputs if edge.node in inside}
    exports = tuple(sorted(leaving, key=lambda edge: (nodes.index(edge.node), edge.output)))
    return CachedPart(nodes, sources, exports, _meaning(graph, nodes, exports))


def _meaning(graph: Graph, nodes: tuple[str, ...], exports: Iterable[Edge]) -> str:
    places = {name: place for place, name in enumerate(nodes)}
    described: list[Any] = []
    for name in nodes:
        node = graph.nodes[name]
        source = find_operator(node.op).source  # its samples are identified one by one
        arguments = {
            key: _plain(node, key, value)
            for key, value in compared_arguments(node).items()
            if not source and key not in _WITHOUT_MEANING
        }
        inputs = [[places[edge.node], edge.output] for edge in node.inputs]
        connections = {key: [places[edge.node], edge.output] for key, edge in node.connections.items()}
        described.append([node.op, inputs, connections, arguments])
    return json.dumps([described, [[places[edge.node], edge.output] for edge in exports]], sort_keys=True)


def _plain(node: Node, name: str, value: object) -> Any:
    """A value of an argument as one of JSON, different for values that differ in type or in a bit."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return {type(value).__name__: value.name}
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, (list, tuple)):
        return [_plain(node, name, item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {"array": [value.dtype.str, list(value.shape), value.tobytes().hex()]}
    if isinstance(value, dict):
        return {"dict": [[_plain(node, name, key), _plain(node, name, item)] for key, item in value.items()]}
    raise GraphError(
        f"a value of {type(value).__name__} means nothing outside of this process, so the results cannot be kept",
        node=node.id,
        operator=node.op,
        argument=name,
        origin=node.origin or None,
    )
