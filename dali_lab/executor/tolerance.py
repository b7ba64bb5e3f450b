"""Runs steps under a policy for bad samples: those that fail are noted, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dali_lab.executor.failures import explain, named_sample
from dali_lab.executor.plan import Step
from dali_lab.executor.stage_run import Chunk, StageRun, same_kind
from dali_lab.executor.standing_in import let_stand_in
from dali_lab.executor.steps import StepRunner
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError, UnlikeSampleError
from dali_lab.schema.call import Wait


class Tolerance:
    """Runs steps of chunks, of which samples may fail.

    Parameters
    ----------
    steps
        Runs a step.
    run_chunk
        Runs all steps of a chunk of one sample, where samples turn out to be unlike each other.
    """

    def __init__(self, steps: StepRunner, run_chunk: Callable[[StageRun, Chunk], object]) -> None:
        self._steps = steps
        self._run_chunk = run_chunk

    def run(self, stage_run: StageRun, chunk: Chunk, step: Step, inputs: list[Batch]) -> Sequence[Batch] | None:
        """Run one step on a chunk; fills `inputs`.

        Samples that fail are noted as bad where the policy says so, and their rows in the results mean nothing. `None`
        where nothing is left to do for the chunk.
        """
        run, stage = stage_run.run, stage_run.stage
        results: Sequence[Batch] | None
        draw = run.draws.get(step.node.id)
        if draw is not None and draw.lost and not chunk.alone:
            chunk.lost = {row: draw.lost[row] for row in range(chunk.start, chunk.stop) if row in draw.lost}
            if len(chunk.lost) == chunk.stop - chunk.start:
                return self._go_on_without_lost(stage_run, chunk, step, inputs, None)
        try:
            results = self._steps.run(stage_run, chunk, step, inputs)
        except Exception as error:  # the policy says whether it makes samples bad
            explained = explain(error, stage.blamed(error, step).node, inputs, chunk.start)
            if isinstance(error, Wait) or not run.covers(explained):
                raise
            assert isinstance(explained, DaliLabError)
            if chunk.alone:
                chunk.error = explained
                return None
            if stage.whole:
                if named_sample(explained, chunk.start, chunk.stop) is None:
                    raise
                run.note_bad(stage, explained.sample or 0, explained)
                return None
            self._note_lost(stage_run, chunk, step, inputs)
            results = self._run_rest(stage_run, chunk, step, explained)
        return self._go_on_without_lost(stage_run, chunk, step, inputs, results) if chunk.lost else results

    def _go_on_without_lost(
        self, stage_run: StageRun, chunk: Chunk, step: Step, inputs: list[Batch], results: Sequence[Batch] | None
    ) -> Sequence[Batch] | None:
        """Note the lost samples of a chunk as bad; `None` where nothing is left to do for the chunk."""
        every = len(chunk.lost) == chunk.stop - chunk.start
        self._note_lost(stage_run, chunk, step, inputs)
        let_stand_in(stage_run, chunk, step)
        return None if every or stage_run.stage.whole else results

    @staticmethod
    def _note_lost(stage_run: StageRun, chunk: Chunk, step: Step, inputs: list[Batch]) -> None:
        run, stage = stage_run.run, stage_run.stage
        for row, lost in chunk.lost.items():
            explain(lost, stage.blamed(lost, step).node, inputs, chunk.start)
            if not run.covers(lost):
                raise lost
            run.note_bad(stage, row, lost)
        chunk.lost.clear()

    def _run_rest(self, stage_run: StageRun, chunk: Chunk, step: Step, error: DaliLabError) -> Sequence[Batch] | None:
        """Run a step that failed on a chunk on the samples that it takes, and note the others as bad."""
        run, stage = stage_run.run, stage_run.stage
        for edge in step.inputs:
            undecoded = chunk.local[edge].undecoded if edge in chunk.local else None
            if undecoded is not None:
                chunk.local[edge] = undecoded.decode()
        pieces: dict[int, Sequence[Batch]] = {}
        failed = [(chunk.start, chunk.stop, error)]
        while failed:
            start, stop, error = failed.pop()
            row = named_sample(error, start, stop)
            if row is None and stop - start == 1:
                row = start
            if row is not None:
                run.note_bad(stage, row, error)
                rest = [(start, row), (row + 1, stop)]
            else:
                # An error about the first sample that differs from those before it tells where to cut.
                sample = error.sample if isinstance(error, UnlikeSampleError) else None
                middle = sample if sample is not None and start < sample < stop else (start + stop) // 2
                rest = [(start, middle), (middle, stop)]
            for begin, end in rest:
                inputs: list[Batch] = []
                try:
                    if begin < end:
                        pieces[begin] = self._steps.run(stage_run, chunk, step, inputs, begin, end)
                except Exception as other:
                    explained = explain(other, stage.blamed(other, step).node, inputs, begin)
                    if isinstance(other, Wait) or not run.covers(explained):
                        raise
                    assert isinstance(explained, DaliLabError)
                    failed.append((begin, end, explained))
        if not pieces:
            return None
        starts = sorted(pieces)
        columns = list(zip(*(pieces[start] for start in starts), strict=True))
        if not all(same_kind(batch, column[0]) for column in columns for batch in column):
            # Which of them are right is seen when the other chunks have ended.
            for row in range(chunk.start, chunk.stop):
                self._run_chunk(stage_run, Chunk(chunk.index, row, row + 1))
            return None
        order = np.zeros(chunk.stop - chunk.start, np.int64)
        done = 0
        for start in starts:
            count = len(pieces[start][0]) if pieces[start] else 0
            order[start - chunk.start : start - chunk.start + count] = np.arange(done, done + count)
            done += count
        return [Batch.concat(column).take(order) for column in columns]
