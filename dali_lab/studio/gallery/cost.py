"""The cost of an entry on this machine: its images a second, beside reading and decoding alone."""

from __future__ import annotations

import time

from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import known_operator
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.gallery import Cost

BATCH = 16
_ROUNDS = 3
_SECONDS = 0.35


def cost(graph: Graph, token: Token) -> Cost:
    """Measure a graph and its decoding in turn, the best round of each.

    Parameters
    ----------
    graph
        Reads from real files.

    Raises
    ------
    DaliLabError
        If it cannot run.
    Cancelled
        If the token was cancelled.
    """
    decoding = decoding_alone(graph)
    pipelines = [_pipeline(graph), *([_pipeline(decoding)] if decoding is not None else [])]
    best = [0.0] * len(pipelines)
    try:
        for pipeline in pipelines:
            _timed(pipeline, 0.0)
        for _ in range(_ROUNDS):
            for index, pipeline in enumerate(pipelines):
                token.check()
                best[index] = max(best[index], _timed(pipeline, _SECONDS / _ROUNDS))
    finally:
        for pipeline in pipelines:
            pipeline.close()
    return Cost(round(best[0], 1), round(best[1], 1) if decoding is not None else None, BATCH)


def decoding_alone(graph: Graph) -> Graph | None:
    """The graph up to its first decoder of whole pictures; where it has another decoder, with that one replaced."""
    for name in graph.order():
        node = graph.nodes[name]
        operator = known_operator(node.op)
        if operator is None or not operator.whole_decoder:
            continue
        whole = node.replaced(op=operator.whole_decoder, arguments={}, connections={}, inputs=node.inputs[:1])
        plain = graph.with_node(whole)
        kept = plain.ancestors([name])
        nodes = {key: value for key, value in plain.nodes.items() if key in kept}
        return plain.replaced(nodes=nodes, outputs=(Edge(name),))
    return None


def _pipeline(graph: Graph) -> Pipeline:
    pipeline = Pipeline.from_graph(graph.replaced(pipeline={**graph.pipeline, "batch_size": BATCH}))
    pipeline.build()
    return pipeline


def _timed(pipeline: Pipeline, seconds: float) -> float:
    """Images per second over at least so many seconds and two batches."""
    count = 0
    began = time.perf_counter()
    while True:
        count += _run(pipeline)
        passed = time.perf_counter() - began
        if passed >= seconds and count >= 2 * BATCH:
            return count / passed


def _run(pipeline: Pipeline) -> int:
    for _ in range(2):
        try:
            return max(len(output) for output in pipeline.run())
        except StopIteration:
            pipeline.reset()
    raise DaliLabError("the reader has nothing to give")
