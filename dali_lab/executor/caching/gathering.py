"""Runs the steps whose results are kept on those samples of a chunk that a cache lacks, wherever they stand."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.plan import Stage
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.schema.call import Call
from dali_lab.schema.running import run_operator
from dali_lab.schema.source import Draw


class Gathered(NamedTuple):
    """Results of some samples, by edge, and the calls of the readers that gave them."""

    results: dict[Edge, Batch]
    calls: dict[str, Call]


def gathered(calls: Calls, run: BatchRun, stage: Stage, rows: npt.NDArray[np.int64]) -> Gathered | None:
    """Run the first steps of a stage on some samples of a batch; `None` where they have to run for the whole chunk.

    Their results are functions of the files and of constants alone, so it does not matter where the samples stand.
    """
    kept = stage.kept
    assert kept is not None
    draws: dict[str, Draw] = {}
    for name in kept.sources:
        draw = run.draws[name]
        if draw.lost or not isinstance(draw.ticket, np.ndarray):
            return None
        draws[name] = Draw(len(rows), draw.ticket[rows])
    local: dict[Edge, Batch] = {}
    readers: dict[str, Call] = {}
    try:
        for step in stage.steps[: kept.count]:
            began = time.perf_counter()
            inputs = [local[edge] for edge in step.inputs]
            connected = {name: local[edge] for name, edge in step.connections.items()}
            call = calls.make(run, stage, step, inputs, connected, 0, len(rows), draws)
            call.defer = step.taker is not None and step.taker.ready_for_undecoded()
            if step.operator.source:
                readers[step.node.id] = call
            for output, batch in enumerate(run_operator(step.operator, call, inputs, step.outputs)):
                local[Edge(step.node.id, output)] = batch
            run.seconds[step.node.id] += time.perf_counter() - began
    except Exception:  # run for the whole chunk, the steps tell which sample of the batch is wrong
        return None
    return Gathered(local, readers)
