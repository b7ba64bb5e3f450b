"""Bad samples whose place another sample of their chunk has taken already when the operator found them.

An operator that finds a bad sample before it does the work on it may do that work on the sample that will take the
place (:meth:`Call.lose <dali_lab.schema.call.Call.lose>`). Then only the outputs of the sources have to follow, and no
step runs again. The outcome is that of :mod:`dali_lab.executor.replacing`, which does the rest.
"""

from __future__ import annotations

import ctypes

import numpy as np

from dali_lab.executor.bad_samples import Origin
from dali_lab.executor.plan import Step
from dali_lab.executor.stage_run import Chunk, StageRun
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch


def let_stand_in(stage_run: StageRun, chunk: Chunk, step: Step) -> None:
    """Settle the lost samples of a step for which the next good sample of the chunk stood in, as far as that is exact.

    The outputs of all sources must be in the chunk, and nothing else may have been computed from them so far.
    """
    run, stage = stage_run.run, stage_run.stage
    rows = {row: other for row, other in chunk.stand_ins.items() if _is_next_good(stage_run, chunk, row, other)}
    chunk.stand_ins.clear()
    if not rows or stage.whole or stage.scope or chunk.alone:
        return
    sources = {each.node.id for each in stage.steps if each.operator.source}
    if not run.draws.keys() <= sources:
        return
    fed = set(sources)
    for before in stage.steps[: stage.steps.index(step) + 1]:
        if any(edge.node in fed for edge in before.needed):
            fed.add(before.node.id)
    if fed - sources != {step.node.id} or any(edge.node in sources for edge in step.needed if edge != step.inputs[0]):
        return
    for edge, batch in list(chunk.local.items()):
        if edge.node in sources:
            chunk.local[edge] = _with_rows(stage_run, chunk, edge, batch, rows)
    files = chunk.local[step.inputs[0]].sources
    for row, other in rows.items():
        run.stand_in(row, Origin(run.iteration, run.draws, other), files[row - chunk.start] if files else None)
    stage_run.stood_in.update(rows)


def _is_next_good(stage_run: StageRun, chunk: Chunk, row: int, other: int) -> bool:
    """Whether a sample is the first to be tried in the place of another, as far as is known yet."""
    run = stage_run.run
    failure = run.bad.get(row)
    if failure is None or failure.origin is not None or row not in run.unsettled or other in run.bad:
        return False
    if row < other:
        return all(between in run.bad for between in range(row + 1, other))
    whole = (chunk.start, chunk.stop) == (0, run.size)
    return whole and all(between in run.bad for between in (*range(row + 1, run.size), *range(other)))


def _with_rows(stage_run: StageRun, chunk: Chunk, edge: Edge, batch: Batch, rows: dict[int, int]) -> Batch:
    """The batch with other rows in the place of some; copied where the batch is a part of an output's memory."""
    order = np.arange(len(batch))
    for row, other in rows.items():
        order[row - chunk.start] = other - chunk.start
    moved = batch.take(order)
    placement = stage_run.places.get(edge)
    if placement is None or not placement.holds(batch):
        return moved
    for row in rows:
        here = row - chunk.start
        ctypes.memmove(int(batch.addresses[here]), int(moved.addresses[here]), int(moved.sizes[here]) * batch.itemsize)
    return Batch(batch.addresses, batch.shapes, batch.dtype, batch.layout, batch.owners, moved.sources)
