"""A pipeline run as a training loop would, with its pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dali_lab.pipeline.pipeline import Pipeline

Json = dict[str, Any]


def measure(
    pipeline: Pipeline,
    batches: int | None,
    tell: Callable[[int, float], bool | None] | None = None,
    *,
    at_once: bool = False,
) -> Json:
    """Run a pipeline as a training loop would, and say how fast it was.

    Parameters
    ----------
    batches
        Batches that count; one more is run first, so that compiling and opening files are not counted. `None` goes on
        until `tell` says that it is enough.
    tell
        Called with the number of batches done and images per second; what it raises ends the run.
    at_once
        Begin while kernels are still being compiled in the background.

    Returns
    -------
    dict
        ``batches``, ``samples``, ``seconds``, ``images_per_second`` and, for each node, its time in a batch.
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
            nodes[name] = {
                "time_ms": round(each * pipeline.batch_size * 1000, 3),
                "images_per_second": round(1 / each, 1),
            }
    return {
        "batches": done,
        "samples": samples,
        "seconds": round(seconds, 4),
        "images_per_second": round(samples / seconds, 1) if seconds > 0 else 0.0,
        "nodes": nodes,
        **_on_gpu(pipeline, nodes, done + 1),
    }


def _on_gpu(pipeline: Pipeline, nodes: dict[str, Any], batches: int) -> Json:
    """Time on the GPU and memory of each node, and what the pipeline needs of the GPU, if it runs on one."""
    memory = pipeline.gpu_memory()
    if memory is None:
        return {}
    for name, row in pipeline.executor_statistics().items():
        if "gpu_seconds" in row:
            entry = nodes.setdefault(name, {"time_ms": 0.0, "images_per_second": 0.0})
            entry["gpu_time_ms"] = round(row["gpu_seconds"] * 1000 / batches, 4)
            entry["gpu_memory"] = row["gpu_memory"]
    transfers = [{"from": edge, "to": to, "bytes": nbytes} for edge, to, nbytes in memory.pop("transfers")]
    return {"gpu": {"memory": memory, "transfers": transfers}}


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
