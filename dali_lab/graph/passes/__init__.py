"""Graph rewrites that give the same results in less time; each is a pure function from graph to graph."""

from __future__ import annotations

from collections.abc import Callable

from dali_lab.graph.graph import Graph
from dali_lab.graph.passes.chains import color_chain, window_chain
from dali_lab.graph.passes.decode_region import decode_region
from dali_lab.graph.passes.expression import expression
from dali_lab.graph.passes.resize_normalize import resize_normalize

Pass = Callable[[Graph], Graph]

#: Passes that change no bit of any output, in the order in which they run.
EXACT: tuple[Pass, ...] = (decode_region, resize_normalize, window_chain, color_chain, expression)


def optimized(graph: Graph) -> Graph:
    """The graph after all exact passes; outputs and names of the remaining nodes are unchanged."""
    graph = _without_policies(graph)
    for rewrite in EXACT:
        graph = rewrite(graph)
    return graph


def _without_policies(graph: Graph) -> Graph:
    """The graph without the nodes' ``on_error``, which the executor knows by their names."""
    with_policy = [node for node in graph.nodes.values() if "on_error" in node.arguments]
    for node in with_policy:
        graph = graph.with_node(
            node.replaced(arguments={name: value for name, value in node.arguments.items() if name != "on_error"})
        )
    return graph
