"""Finds what never changes between epochs, and marks it with ``cache`` nodes so that it is computed once.

Of each sample these nodes' outputs are a function of the sample's file and of constants alone. The part before the
``cache`` nodes is run as a whole or not at all: its results are those on the edges that leave it.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.meaning import compared_arguments
from dali_lab.graph.naming import free_name
from dali_lab.graph.passes.matching import fused_name, only_consumer
from dali_lab.graph.scopes import node_scopes
from dali_lab.model.errors import GraphError, nearest
from dali_lab.schema.registry import find_operator

_CACHE = "cache"
_WITHOUT_MEANING = frozenset(
    {
        "name",
        "preserve",
        "bytes_per_sample_hint",
        "seed",
        "stands_for",
        "on_error",
        "_merged",
        "resize_node",
        "crop_node",
    }
)
_CROPPING = ("crop", "crop_d", "crop_h", "crop_w", "crop_pos_x", "crop_pos_y", "crop_pos_z", "rounding")
_OF_OUTPUTS = 3e-9
"""Seconds that a byte costs more where a program may write to it, so that it has to be copied."""


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


def has_caches(graph: Graph) -> bool:
    """Whether a person has marked in the graph what is kept."""
    return any(find_operator(node.op).keeps for node in graph.nodes.values())


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


@dataclass(frozen=True)
class Costs:
    """Measurements of some samples of a graph whose decoders are divided.

    Attributes
    ----------
    seconds
        Time that each node took for a sample.
    nbytes
        Bytes of a sample on each edge.
    samples
        How many samples an epoch has; 0 where it is not known.
    per_byte
        Seconds that it takes to keep a byte and to read it again.
    room
        Bytes that may be kept.
    """

    seconds: Mapping[str, float]
    nbytes: Mapping[Edge, float]
    samples: int
    per_byte: float
    room: float

    def saved(self, graph: Graph, name: str) -> float:
        """Seconds that are saved for each sample if a node's results are kept.

        What keeping them costs once counts as much as what reading them costs in each epoch: the first epoch is to take
        no longer than without.
        """
        nbytes = sum(size for edge, size in self.nbytes.items() if edge.node == name)
        made = sum(self.seconds.get(each, 0.0) for each in _needed(graph, [name]))
        share = min(1.0, self.room / max(1.0, nbytes * self.samples)) if self.samples else 1.0
        is_output = any(edge.node == name for edge in graph.outputs)
        return share * (made - nbytes * (self.per_byte + (_OF_OUTPUTS if is_output else 0.0)))


Choose = Callable[[Graph, Sequence[str]], "list[str] | None"]
"""Chooses among nodes of a graph that give the same in every epoch those whose results are kept; `None` cannot say."""


def with_caches(
    graph: Graph,
    at: str | None = None,
    *,
    with_device: bool = False,
    choose: Choose | None = None,
    crop: bool = False,
) -> Graph:
    """The graph with ``cache`` nodes where results are to be kept.

    They stand behind the node `at`; else where the graph has ``cache`` nodes already; else where `choose` says; else
    behind the last nodes that decode or resize without change. A decoder of random regions decodes whole pictures for
    them, out of which the same regions are cut. With `crop`, resized pictures that are cropped in the same way in every
    epoch are cropped before.

    Raises
    ------
    GraphError
        If what is to be kept changes between epochs, or nothing can be kept: the message says why.
    """
    if at is not None:
        if at not in graph.nodes:
            raise GraphError(f"cache_at: there is no node '{at}'{nearest(at, graph.nodes)}", code="node_missing")
        halves, name, given = find_operator(graph.nodes[at].op).decoded_whole(), at, graph.nodes
        if halves is not None:
            graph, name = _cut_in_two(graph, at, halves)
            for other in given:
                if other != at and _whole(given[other], halves) == _whole(given[at], halves):
                    graph, _ = _cut_in_two(graph, other, halves)
        return _checked(_behind(graph, [name]), with_device)
    if has_caches(graph):
        return _checked(graph, with_device)
    reasons = never_changing(graph, with_device=with_device)
    for name, node in graph.nodes.items():
        fed = all(not reasons[edge.node] for edge in node.edges())
        placed = not (with_device and node.device != "cpu")
        halves = find_operator(node.op).decoded_whole()
        if halves is not None and fed and placed:
            graph, _ = _cut_in_two(graph, name, halves)
    reasons = never_changing(graph, with_device=with_device)
    read = _read(graph, reasons)
    worth = [name for name in read if _is_work(graph.nodes[name])]
    if not worth and (choose is None or not read):
        first = next((reason for reason in reasons.values() if reason), "nothing is decoded or resized")
        raise GraphError(f"there is nothing to keep in a cache: {first}", code="nothing_to_cache")
    names = (choose(graph, read) if choose is not None else None) or worth
    if not names:
        raise GraphError("there is nothing to keep in a cache: nothing is decoded or resized", code="nothing_to_cache")
    last = [name for name in names if not _feeds(graph, name, names)]
    for name in last if crop else ():
        graph = _cropped(graph, name)
    return _behind(graph, last)


def _read(graph: Graph, reasons: Mapping[str, str]) -> list[str]:
    """The nodes behind readers whose results are the same in every epoch, in order."""
    sources = {name for name, node in graph.nodes.items() if find_operator(node.op).source}
    return [
        name for name in graph.order() if not reasons[name] and name not in sources and sources & _needed(graph, [name])
    ]


def most_saving(graph: Graph, read: Sequence[str], costs: Costs) -> list[str]:
    """For each of the last nodes that never change, the one that saves most if it is kept: itself, or one before it."""
    chosen = []
    for last in read:
        if any(last in {edge.node for edge in graph.nodes[other].edges()} for other in read):
            continue
        before = [name for name in read if name in _needed(graph, [last])]
        chosen.append(max(before, key=lambda name: costs.saved(graph, name)))
    return list(dict.fromkeys(chosen))


def _cropped(graph: Graph, name: str) -> Graph:
    """The graph with a resize that gives no more than its one consumer crops, if that is the same in every epoch."""
    node, user = graph.nodes[name], only_consumer(graph, name)
    if user is None or find_operator(user.op).resizes or {fused_name(node), fused_name(user)} != {"_resize_normalize"}:
        return graph
    window = {key: value for key, value in user.arguments.items() if key in _CROPPING}
    inside = user.arguments.get("out_of_bounds_policy", "error") == "error"
    decoded = node.inputs and find_operator(graph.nodes[node.inputs[0].node].op).decodes
    if not window or not inside or not decoded or any(key in _CROPPING for key in user.connections):
        return graph
    first = node.replaced(
        op="_resize_window",
        arguments={
            "resize": node.op,
            "resize_node": name,
            "resize_arguments": {key: value for key, value in node.arguments.items() if key != "on_error"},
            "crop_node": user.id,
            "crop_arguments": window,
        },
        connections={f"resize.{key}": edge for key, edge in node.connections.items()},
    )
    rest = {key: value for key, value in user.arguments.items() if key not in _CROPPING}
    return graph.with_node(first).with_node(user.replaced(arguments=rest))


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
            edge: Node(free_name(graph.nodes, f"{name}_kept{edge.output or ''}"), _CACHE, inputs=(edge,))
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


def _whole(node: Node, halves: tuple[str, str]) -> tuple[str, tuple[Edge, ...], dict[str, Any]] | None:
    """All that the whole pictures of a decoder depend on, or those of such a half; `None` for other nodes."""
    first, _ = halves
    if node.op != first and find_operator(node.op).decoded_whole() != halves:
        return None
    decoding = find_operator(first).argument_table
    arguments = {key: value for key, value in node.arguments.items() if key in decoding and key not in _WITHOUT_MEANING}
    return node.device, node.inputs, arguments


def _cut_in_two(graph: Graph, name: str, halves: tuple[str, str]) -> tuple[Graph, str]:
    """The graph with a decoder of random regions cut in two; and the name of the node that decodes whole pictures.

    Decoders of the same pictures share it.
    """
    node = graph.nodes[name]
    decoder, cutter = halves
    cutting = find_operator(cutter).argument_table
    whole = _whole(node, halves)
    assert whole is not None
    shared = (other for other in graph.nodes.values() if other.op == decoder and _whole(other, halves) == whole)
    first = next(shared, None)
    if first is None:
        device, inputs, arguments = whole
        made = free_name(graph.nodes, f"{name}_whole")
        first = Node(made, decoder, device, inputs, {**arguments, "stands_for": name}, {}, node.origin)
    second = Node(
        name,
        cutter,
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


def meaning_of(graph: Graph, names: Iterable[str]) -> str:
    """Text that is the same for the parts of graphs up to nodes that do the same, whatever they are called.

    Raises
    ------
    GraphError
        If an argument in it has no meaning outside of this process.
    """
    inside = _needed(graph, names)
    return _meaning(graph, tuple(name for name in graph.order() if name in inside), ())


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
