"""Which seed each operator of a graph gets, and what is shown to people."""

from __future__ import annotations

from dali_lab.graph.graph import Graph
from dali_lab.schema.registry import find_operator, has_operator


def graph_seeds(graph: Graph, seed: int) -> dict[str, int]:
    """Seed of each node that takes one, as a function of the pipeline's seed and the graph's shape alone."""
    import numpy as np

    needed = graph.ancestors(edge.node for edge in graph.outputs)
    needed |= graph.ancestors(name for name, node in graph.nodes.items() if node.arguments.get("preserve"))
    # Nodes that nothing needs come last: a graph being drawn then has the seeds that its traced program will have.
    ordered = sorted(graph.nodes, key=lambda name: name not in needed)
    seeds = {}
    words = iter(np.random.SeedSequence(abs(seed)).generate_state(len(graph.nodes) + 1, np.uint64).tolist())
    for name in ordered:
        node = graph.nodes[name]
        if has_operator(node.op) and "seed" in find_operator(node.op).argument_table:
            word = next(words)
            own = node.arguments.get("seed", -1)
            seeds[name] = int(own) if own is not None and own >= 0 else int(word)
    return seeds
