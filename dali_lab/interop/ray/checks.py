"""The check of a dataset on a cluster: ranges of its parts are tasks of Ray Data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import ray
import ray.data

from dali_lab.checking.journal import part_of, plain
from dali_lab.checking.walk import Part, Walk
from dali_lab.graph.graph import Graph
from dali_lab.interop.ray.failures import explaining
from dali_lab.interop.ray.node import on_a_node

TASKS_EACH = 4
"""Tasks for each CPU of the cluster, so that fast machines do more of them."""


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
    cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
    size = -(-(walk.parts - first) // (TASKS_EACH * cpus))
    firsts = list(range(first, walk.parts, size))
    batch = walk.batch_size
    compute = on_a_node("checks", "compute")

    def check(rows: dict[str, object]) -> dict[str, object]:
        return {"parts": compute(graph, batch, rows["item"], size)}

    data = ray.data.from_items(firsts, override_num_blocks=len(firsts)).map_batches(check, batch_size=1)
    data.context.execution_options.preserve_order = True
    rows = iter(data.iter_rows())
    while True:
        with explaining():
            row = next(rows, None)
        if row is None:
            return
        for found in json.loads(row["parts"]):
            part = part_of(found)
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
