"""Counts of samples that took each branch: random numbers there continue where the batch before left off."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.scopes import branch_of_scopes, node_scopes
from dali_lab.schema.registry import find_operator
from dali_lab.studio.preview.results import NodeResult
from dali_lab.studio.preview.sources import digest, paths_state, values

_MOST_CONDITIONS = 64
Results = Callable[[str, int], NodeResult | None]


class Branches:
    """Counts of past batches by condition, so that each batch is counted only once."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, list[tuple[int, int]]] = OrderedDict()

    def samples_before(
        self,
        graph: Graph,
        seeds: Mapping[str, int],
        batch_size: int,
        iteration: int,
        nodes: Iterable[str],
        results: Results,
    ) -> dict[str, int]:
        """For each of `nodes` in a branch, the samples that took the branch before batch `iteration`.

        Parameters
        ----------
        results
            Called as ``results(node, iteration)`` for the outputs of a condition's node for a whole batch.
        """
        scopes = node_scopes(graph)
        branches = branch_of_scopes(graph)
        counts: dict[str, int] = {}
        for name in nodes:
            branch = branches.get(scopes.get(name, 0))
            if branch is None:
                continue
            predicate, cut = branch
            taken = self._taken(graph, seeds, batch_size, iteration, predicate, results)
            counts[name] = sum(pair[cut] for pair in taken[:iteration])
        return counts

    def _taken(
        self,
        graph: Graph,
        seeds: Mapping[str, int],
        batch_size: int,
        iteration: int,
        predicate: Edge,
        results: Results,
    ) -> list[tuple[int, int]]:
        """For each batch how many samples meet a condition, and how many do not."""
        key = _name_of(graph, seeds, batch_size, predicate)
        known = self._counts.setdefault(key, [])
        self._counts.move_to_end(key)
        while len(known) < iteration:
            result = results(predicate.node, len(known))
            batch = None
            if result is not None and predicate.output < len(result.outputs):
                batch = result.outputs[predicate.output]
            met = 0 if batch is None else sum(bool(np.any(batch.array(row))) for row in range(len(batch)))
            known.append((met, 0 if batch is None else len(batch) - met))
        while len(self._counts) > _MOST_CONDITIONS:
            self._counts.popitem(last=False)
        return known


def _name_of(graph: Graph, seeds: Mapping[str, int], batch_size: int, predicate: Edge) -> str:
    """A key of all that decides a condition: the nodes before it, their seeds, and the files that they read."""
    parts = []
    for name in sorted(graph.ancestors([predicate.node])):
        node = graph.nodes[name]
        files = paths_state(node) if find_operator(node.op).source else None
        edges = sorted((argument, str(edge)) for argument, edge in node.connections.items())
        parts.append(
            (name, node.op, node.device, values(node), list(map(str, node.inputs)), edges, seeds.get(name), files)
        )
    return digest(parts, str(predicate), batch_size)
