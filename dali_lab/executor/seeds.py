"""Which seed each operator of a graph gets, and what is shown to people."""

from __future__ import annotations

from dali_lab.executor.operator_seeds import SeedRequest, assign_seeds, seed_order
from dali_lab.graph.graph import Graph
from dali_lab.schema.registry import find_operator, has_operator


def graph_seeds(graph: Graph, seed: int) -> dict[str, int]:
    """Seed of each node that takes one, as NVIDIA DALI assigns them.

    Nodes that no output needs come after all others, so that a graph that is still being drawn has the seeds
    that the program made from it will have.
    """

    def inputs_of(name: str) -> list[str]:
        return [edge.node for edge in graph.nodes[name].edges() if edge.node in graph.nodes]

    preserved = [name for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    outputs = [edge.node for edge in graph.outputs if edge.node in graph.nodes]
    order = seed_order([*outputs, *preserved], inputs_of)
    order = seed_order([*order, *graph.nodes], inputs_of)
    requests = []
    for name in order:
        node = graph.nodes[name]
        takes = has_operator(node.op) and "seed" in find_operator(node.op).argument_table
        requests.append(SeedRequest(takes, node.arguments.get("seed"), node.arguments.get("_group")))
    assigned = assign_seeds(seed, requests)
    return {name: own for name, own in zip(order, assigned, strict=True) if own is not None}
