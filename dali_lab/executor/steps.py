"""Runs one step on the samples of a chunk: gathers its inputs and calls its operator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.pace import Pace
from dali_lab.executor.plan import Stage, Step
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.executor.stage_run import Chunk, StageRun
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.schema.running import run_operator


class StepRunner:
    """Runs steps of chunks.

    Parameters
    ----------
    pool
        The threads that help with large parts.
    pace
        Chooses the size of a part.
    calls
        Makes operator calls.
    host
        Returns a finished edge of a batch in host memory.
    """

    def __init__(
        self, pool: ThreadPool | InlinePool, pace: Pace, calls: Calls, host: Callable[[BatchRun, Edge], Batch]
    ) -> None:
        self._pool = pool
        self._pace = pace
        self._calls = calls
        self._host = host

    def run(
        self,
        stage_run: StageRun,
        chunk: Chunk,
        step: Step,
        inputs: list[Batch],
        start: int | None = None,
        stop: int | None = None,
    ) -> Sequence[Batch]:
        """Run a step on a chunk, or on some samples of it; fills `inputs`."""
        run, stage = stage_run.run, stage_run.stage
        part = start is not None
        first, last = chunk.start if start is None else start, chunk.stop if stop is None else stop
        if step.operator.source and run.origins:
            return self._run_source(stage_run, step, first, last)
        if step.gives_numbers and len(stage_run.chunks) > 1 and run.policy is None and not run.keep_going:
            return [batch.take(slice(first, last)) for batch in self._numbers(stage_run, step)]
        for edge in step.inputs:
            inputs.append(self._fetch(run, stage, chunk, edge, first, last))
        connected = {name: self._fetch(run, stage, chunk, edge, first, last) for name, edge in step.connections.items()}
        call = self._calls.make(run, stage, step, inputs, connected, first, last)
        size = self._pace.part_size(id(stage))
        call.sharing = functools.partial(chunk.effort.share, self._pool, last - first, size)
        call.defer = step.taker is not None and not (run.keep_going or part) and step.taker.ready_for_undecoded()
        call.notes = stage_run.notes.get(step.node.id)
        call.lost = None if run.policy is None or chunk.alone else chunk.lost
        call.stand_ins = chunk.stand_ins
        call.aside = chunk.aside
        call.place = _place(stage_run, step, first)
        return run_operator(step.operator, call, inputs, step.outputs, check=not stage.whole)

    def _numbers(self, stage_run: StageRun, step: Step) -> Sequence[Batch]:
        """Numbers for all samples of a batch: a call for each chunk would cost more than drawing them."""
        with stage_run.making:
            found = stage_run.numbers.get(step.node.id)
            if found is None:
                call = self._calls.make(stage_run.run, stage_run.stage, step, [], {}, 0, stage_run.count)
                call.place = _place(stage_run, step, 0)
                found = stage_run.numbers[step.node.id] = run_operator(step.operator, call, [], step.outputs)
            return found

    def _run_source(self, stage_run: StageRun, step: Step, start: int, stop: int) -> Sequence[Batch]:
        """Run a source on samples some of which stand at other positions than their own."""
        run, stage = stage_run.run, stage_run.stage
        pieces: list[Sequence[Batch]] = []
        while start < stop:
            origin = run.origins.get(start)
            count = 1
            while origin is None and start + count < stop and start + count not in run.origins:
                count += 1
            at = start if origin is None else origin.row
            call = self._calls.make(run, stage, step, [], {}, at, at + count, None if origin is None else origin.draws)
            call.place = _place(stage_run, step, start)
            pieces.append(run_operator(step.operator, call, [], step.outputs, check=not stage.whole))
            start += count
        return pieces[0] if len(pieces) == 1 else [Batch.concat(column) for column in zip(*pieces, strict=True)]

    def _fetch(self, run: BatchRun, stage: Stage, chunk: Chunk, edge: Edge, start: int, stop: int) -> Batch:
        """Samples of a chunk on an edge; the whole batch where the stage sees all of it."""
        if edge in chunk.local:
            batch = chunk.local[edge]
            if (start, stop) == (chunk.start, chunk.stop):
                return batch
            return batch.take(slice(start - chunk.start, stop - chunk.start))
        batch = self._host(run, edge)
        if stage.whole:
            return batch
        absent = run.missing.get(edge)
        if absent:
            shift = sum(1 for i in absent if i < start)
            return batch.take(slice(start - shift, stop - shift))
        return batch.take(slice(start, stop)) if len(batch) != stop - start or start else batch


Place = Callable[[int, npt.NDArray[np.int64], DALIDataType, str], Batch | None]


def _place(stage_run: StageRun, step: Step, start: int) -> Place | None:
    """The function that offers memory for the outputs of a step on samples from `start` on.

    It does not reference the chunk: undecoded pictures that are left to a later step may keep the call.
    """
    places, node = stage_run.places, step.node.id
    if not places:
        return None

    def place(output: int, shapes: npt.NDArray[np.int64], dtype: DALIDataType, layout: str) -> Batch | None:
        placement = places.get(Edge(node, output))
        return placement.place(start, shapes, dtype, layout) if placement is not None else None

    return place
