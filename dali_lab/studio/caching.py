"""The part of a graph that never changes between epochs, with the cost and the gain of a cache for it."""

from __future__ import annotations

from contextlib import closing

from dali_lab.graph.graph import Graph
from dali_lab.graph.passes.once import never_changing
from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.measuring import measure, measure_cache
from dali_lab.studio.protocol.caches import CacheDone, CacheRequest
from dali_lab.studio.work import Work

_SECONDS = 1.5
_BATCHES = 8


def unchanging(graph: Graph) -> list[str]:
    """The readers of a graph, and the nodes behind them whose results are the same in every epoch."""
    try:
        reasons = never_changing(graph)
    except DaliLabError:
        return []  # its problems are told elsewhere
    sources = [name for name, node in graph.nodes.items() if find_operator(node.op).source]
    read = {name for source in sources for name in (source, *graph.descendants(source))}
    return [name for name in graph.nodes if name in read and not reasons[name]]


def measure_gain(work: Work, request: CacheRequest) -> CacheDone:
    """Measure what a cache gives for a document."""

    def watch(done: int, rate: float) -> None:
        work.token.check()

    graph, _ = work.checked.with_ends()
    if not graph.outputs:
        raise DocumentError("No output can be computed, so there is nothing to measure.")
    settings = {"seed": work.seed, "cache_limit": None, "enable_checkpointing": True}
    with work.roots.limiting():
        with closing(Pipeline.from_graph(graph, **{**settings, "cache": "off", "cache_at": None})) as pipeline:
            plain = measure(pipeline, _BATCHES, watch)
        with closing(Pipeline.from_graph(graph, **settings, cache="memory")) as pipeline:
            gain = measure_cache(pipeline, _SECONDS, watch)
    rates = plain.images_per_second, gain.measured.images_per_second
    return CacheDone(request.run, "done", *rates, gain.nbytes, gain.samples)
