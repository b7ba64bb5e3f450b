"""Measures a pipeline's throughput, run as a training loop would run it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from dali_lab.model.errors import GraphError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.protocol.previews import GpuMemory, GpuUse, Measured, NodeRun, Transfer


def measure(
    pipeline: Pipeline,
    batches: int | None,
    tell: Callable[[int, float], bool | None] | None = None,
    *,
    at_once: bool = False,
) -> Measured:
    """Run a pipeline as a training loop would, and measure its throughput.

    Parameters
    ----------
    batches
        Batches that count; one more is run first, so that compiling and opening files are not counted. `None` goes on
        until `tell` says that it is enough.
    tell
        Called with the number of batches done and images per second; what it raises ends the run.
    at_once
        Begin while kernels are still being compiled in the background.
    """
    from dali_lab.kernels.cpu import background

    pipeline.build()
    _next(pipeline)
    if not at_once:
        background.finish()
    engine = pipeline._built().engine
    before = dict(engine.seconds), dict(engine.samples)
    done = samples = 0
    began = time.perf_counter()
    while batches is None or done < batches:
        outputs = _next(pipeline)
        if outputs is None:
            break
        done += 1
        samples += max((len(output) for output in outputs), default=pipeline.batch_size)
        if tell is not None and tell(done, samples / max(1e-9, time.perf_counter() - began)):
            break
    seconds = time.perf_counter() - began
    nodes = {}
    for name, total in list(engine.seconds.items()):
        count = engine.samples[name] - before[1].get(name, 0)
        each = (total - before[0].get(name, 0.0)) / count if count > 0 else 0.0
        if each > 0:
            nodes[name] = NodeRun(round(each * pipeline.batch_size * 1000, 3), round(1 / each, 1))
    gpu = _on_gpu(pipeline, nodes, done + 1)
    rate = round(samples / seconds, 1) if seconds > 0 else 0.0
    return Measured(done, samples, round(seconds, 4), rate, nodes, gpu)


@dataclass(frozen=True)
class CacheGain:
    """Cost and gain of a cache.

    Attributes
    ----------
    measured
        The run over batches that were in the cache.
    kept
        Samples that the cache held then.
    nbytes
        Bytes of one of them, on average.
    samples
        Samples of an epoch.
    """

    measured: Measured
    kept: int
    nbytes: float
    samples: int


def measure_cache(
    pipeline: Pipeline, seconds: float, tell: Callable[[int, float], bool | None] | None = None
) -> CacheGain:
    """Run some batches of a pipeline with a cache, and measure how fast the same batches come out of it.

    Parameters
    ----------
    pipeline
        A pipeline with a cache and with ``enable_checkpointing``, of which nothing has been run.
    seconds
        How long batches are computed before; at least three.
    tell
        As for :func:`measure`, for both runs.

    Raises
    ------
    GraphError
        If nothing of the graph can be kept.
    """
    pipeline.build()
    runner = pipeline._built()
    start = runner.checkpoint()
    if runner.kept is not None and runner.kept.filling is not None:
        runner.kept.filling.at_once = True
    began, batches = time.perf_counter(), 0
    while batches < _LEAST or time.perf_counter() - began < seconds:
        outputs = _next(pipeline)
        if outputs is None:
            break
        batches += 1
        rate = batches * len(outputs[0]) / max(1e-9, time.perf_counter() - began) if outputs else 0.0
        if tell is not None and tell(batches, rate):
            break
    store = None if runner.kept is None else runner.kept.store
    if store is None:
        raise GraphError("nothing of the graph can be kept in a cache")
    store.flush()
    runner.seek(start)
    result = measure(pipeline, max(1, batches - 1), tell)
    reader = next(iter(runner.kept.sources)) if runner.kept is not None else ""
    return CacheGain(result, len(store.entries), store.entries.mean_bytes(), pipeline.reader_meta(reader)["epoch_size"])


_LEAST = 3
"""Batches that are run with a cache, at least."""


def _on_gpu(pipeline: Pipeline, nodes: dict[str, NodeRun], batches: int) -> GpuUse | None:
    """The GPU use of a pipeline, if it runs on one; adds its part to `nodes`."""
    memory = pipeline.gpu_memory()
    if memory is None:
        return None
    for name, row in pipeline.executor_statistics().items():
        if "gpu_seconds" in row:
            milliseconds = round(row["gpu_seconds"] * 1000 / batches, 4)
            entry = nodes.get(name, NodeRun(0.0, 0.0))
            nodes[name] = msgspec.structs.replace(entry, gpu_time_ms=milliseconds, gpu_memory=row["gpu_memory"])
    transfers = [Transfer(edge, to, nbytes) for edge, to, nbytes in memory.pop("transfers")]
    return GpuUse(msgspec.convert(memory, GpuMemory), transfers)


def _next(pipeline: Pipeline) -> Any:
    """The next batch, over the end of an epoch; `None` when there are no more."""
    try:
        return pipeline.run()
    except StopIteration:
        pipeline.reset()
    try:
        return pipeline.run()
    except StopIteration:
        return None
