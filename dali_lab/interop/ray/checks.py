"""The check of a dataset on a cluster: ranges of its parts are tasks of Ray Data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np

from dali_lab.checking.journal import part_of, plain
from dali_lab.checking.walk import Part, Walk
from dali_lab.graph.graph import Graph
from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.tasks import results, wanted_tasks


def cluster_walk(graph: Graph, walk: Walk, first: int, tell: Callable[[int], None]) -> Iterator[Part]:
    """The parts of a dataset from `first` on, in order, computed on the machines of the cluster.

    Parameters
    ----------
    graph
        The graph whose readers are checked.
    walk
        That of this machine, which knows the samples and their parts.
    tell
        Called with the number of samples behind.
    """
    if first >= walk.parts:
        return
    size = -(-(walk.parts - first) // wanted_tasks())
    firsts = range(first, walk.parts, size)
    batch = walk.batch_size
    work = on_a_node("checks", "compute")

    def check(numbers: np.ndarray) -> list[str]:
        found: list[str] = work(graph, batch, numbers, size)
        return found

    for parts in results(firsts, len(firsts), check, in_order=True):
        for part in map(part_of, parts):
            yield part
            tell(min((part.number + 1) * walk.part_size, walk.total))


def compute(graph: Graph, batch: int, firsts: np.ndarray, size: int) -> list[str]:
    """Some parts that follow each other, as JSON, for each first one of `firsts`; work of a task."""
    results = []
    for first in firsts.tolist():
        walk = Walk(graph, batch_size=batch, threads=1)
        try:
            results.append(json.dumps([plain(part) for part in walk.walk(first, end=first + size)]))
        finally:
            walk.close()
    return results
