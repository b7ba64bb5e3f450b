"""Fuses runs of operators: crops and slices into one copy, colour operators into one walk over the pixels."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import connections, described, fused_name, only_consumer, replaced_pair


def window_chain(graph: Graph) -> Graph:
    """Exact: a window of a window is a window, and elements are copied unchanged.

    An operator whose window may be padded, or whose position is an input, is not fused. Nor are warps: their results
    are rounded in between.
    """
    return _merged(graph, "_window_chain")


def color_chain(graph: Graph) -> Graph:
    """Exact: each step rounds and clamps as if it stored its result, in the order of the operators.

    Matrices are not multiplied together, as rounding and clamping stand between them.
    """
    return _merged(graph, "_color_chain")


def _merged(graph: Graph, fused: str) -> Graph:
    """Replace consecutive nodes that can become part of the operator `fused` by one node of it.

    All are placed on one device, and each has the next as its only consumer. The new node has the name of the last
    one, the inputs of the first one, and the argument ``parts`` (:func:`described`).
    """
    for name in list(graph.nodes):
        first = graph.nodes.get(name)
        if first is None or fused_name(first) != fused:
            continue
        nodes = [first]
        while (user := only_consumer(graph, nodes[-1].id)) is not None and fused_name(user) == fused:
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
