"""The choice of a cut: the node behind which few bytes cross the network and little is left to do, by measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dali_lab.graph.graph import Edge, Graph, bare
from dali_lab.graph.scopes import node_scopes
from dali_lab.interop.ray.recipe import Recipe

AUTO = "auto"
"""Value of ``until`` that asks for a choice."""

LEFT_TO_DO = 0.15
"""Share of the processor time of a row that the trainer may be given."""

_WORTH = 0.9
"""A cut must spare a tenth of the bytes."""

_ROWS = 32
_BATCHES = 3


class Cost(NamedTuple):
    """The cost of a cut.

    Attributes
    ----------
    until
        The last node that runs on the cluster; `None` for all of the graph.
    bytes
        Bytes of a row that cross the network.
    rest
        Share of the processor time of a row that is left to the trainer.
    """

    until: str | None
    bytes: float
    rest: float


def best(costs: list[Cost]) -> str | None:
    """The node to cut behind: the fewest bytes among those that leave little to do; `None` where no cut spares much."""
    whole = next(cost for cost in costs if cost.until is None)
    cheap = [cost for cost in costs if cost.rest <= LEFT_TO_DO and cost.bytes <= _WORTH * whole.bytes]
    return min(cheap, key=lambda cost: (cost.bytes, cost.rest)).until if cheap else None


def costs_of(recipe: Recipe) -> list[Cost]:
    """The cost of each possible cut, measured by running some rows of the pipeline here.

    Parameters
    ----------
    recipe
        The whole.
    """
    graph = recipe.graph
    edges = _edges(graph)
    expectations = ("output_dtype", "output_ndim", "output_layout")
    plain = {name: value for name, value in recipe.settings.items() if name not in expectations}
    pipeline = Recipe(graph.replaced(outputs=tuple(edges)), plain, recipe.seed, ()).pipeline(
        1, batch_size=min(recipe.batch_size, _ROWS), optimize=False, prefetch_queue_depth=1
    )
    try:
        pipeline.build()
        pipeline.run()  # kernels are compiled, files opened
        engine = pipeline._built().engine
        before = dict(engine.seconds)
        rows = 0
        sizes = dict.fromkeys(edges, 0)
        for _ in range(_BATCHES):
            outputs = pipeline.run()
            rows += len(outputs[0])
            for edge, output in zip(edges, outputs, strict=True):
                sizes[edge] += output.as_cpu()._batch.nbytes
        seconds = {node: spent - before.get(node, 0.0) for node, spent in engine.seconds.items()}
    finally:
        pipeline.close()
    return costs(graph, {edge: size / max(1, rows) for edge, size in sizes.items()}, seconds)


def costs(graph: Graph, sizes: Mapping[Edge, float], seconds: Mapping[str, float]) -> list[Cost]:
    """The cost of each possible cut, the whole graph first.

    Parameters
    ----------
    sizes
        Bytes of a row of each edge that is used.
    seconds
        Processor time of each node.
    """
    total = sum(seconds.values()) or 1.0
    outputs = [bare(edge) for edge in graph.outputs]
    found = [Cost(None, sum(sizes[edge] for edge in outputs), 0.0)]
    scopes = node_scopes(graph)
    for name in graph.order():
        behind = graph.descendants(name) - {name}
        if not behind:
            continue
        crossing = {bare(edge) for node in behind for edge in graph.nodes[node].edges() if edge.node not in behind}
        if any(scopes.get(edge.node, 0) for edge in crossing):
            continue
        ready = {edge for edge in outputs if edge.node not in behind}
        rest = sum(seconds.get(node, 0.0) for node in behind) / total
        found.append(Cost(name, sum(sizes[edge] for edge in crossing | ready), rest))
    return found


def _edges(graph: Graph) -> list[Edge]:
    """All edges that something reads, outside of branches, without their places."""
    scopes = node_scopes(graph)
    used = [bare(edge) for node in graph.nodes.values() for edge in node.edges()]
    used += [bare(edge) for edge in graph.outputs]
    return [edge for edge in dict.fromkeys(used) if not scopes.get(edge.node, 0)]
