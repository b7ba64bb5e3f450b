"""Single operators on batches that are there."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.executor.immediate import ImmediateGraph
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.batch import Batch
from dali_lab.model.errors import SampleError


def graph_of(node: Node, outputs: int = 1) -> Graph:
    given = [Node(edge.node, "external_source") for edge in node.inputs]
    return Graph({each.id: each for each in (*given, node)}, tuple(Edge(node.id, k) for k in range(outputs)))


def pictures(value: int) -> Batch:
    return Batch.of([np.full((2, 3, 3), value + index, np.uint8) for index in range(3)], "HWC")


@pytest.mark.parametrize("threads", [0, 2])
def test_it_runs_again_and_again_here_or_on_threads(threads: int) -> None:
    pool = ThreadPool(threads) if threads else None
    graph = graph_of(Node("brighter", "brightness", "cpu", (Edge("in"),), {"brightness": 2.0}))
    immediate = ImmediateGraph(graph, ["in"], {}, pool=pool, threads=max(1, threads))
    for value in (1, 10):
        (out,) = immediate.run(3, [pictures(value)])
        assert [int(array[0, 0, 0]) for array in out.arrays()] == [2 * (value + index) for index in range(3)]
    immediate.close()
    if pool is not None:
        pool.close()


def test_random_numbers_go_on_from_run_to_run_as_in_a_pipeline() -> None:
    graph = graph_of(Node("numbers", "random.uniform", "cpu", (), {}))
    immediate = ImmediateGraph(graph, [], {"numbers": 7})
    runs = [immediate.run(4, [], iteration=i)[0].stacked() for i in range(2)]
    with Pipeline(4, 1, None) as pipeline:
        pipeline.set_outputs(fn.random.uniform(seed=7))
    for numbers in runs:
        np.testing.assert_array_equal(numbers, np.stack([np.asarray(item) for item in pipeline.run()[0]]))


def test_a_failure_names_sample_and_file_and_the_next_run_is_well() -> None:
    graph = graph_of(Node("decoded", "decoders.image", "cpu", (Edge("in"),), {}, {}, "train.py:3"))
    immediate = ImmediateGraph(graph, ["in"], {})
    damaged = Batch.of([np.zeros(40, np.uint8)] * 2)
    damaged.sources = ("a.jpg", "b.jpg")
    for _ in range(2):
        with pytest.raises(SampleError, match=r"node 'decoded'\), sample 0(.|\n)*file: a.jpg\n  placed at: train.py:3"):
            immediate.run(2, [damaged])
