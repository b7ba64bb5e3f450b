"""Runs chunks of a batch on threads: each flows through the steps of a stage with no barrier between them."""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.caching.filling import Filling, Way
from dali_lab.executor.caching.gathering import gathered
from dali_lab.executor.caching.recall import CachedChunk, CachedSteps
from dali_lab.executor.calls import Calls
from dali_lab.executor.failures import explain, named_sample
from dali_lab.executor.pace import Effort, Pace
from dali_lab.executor.plan import Stage, Step
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.executor.stage_run import Chunk, StageRun, same_kind
from dali_lab.executor.standing_in import let_stand_in
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import DaliLabError, UnlikeSampleError
from dali_lab.schema.call import Wait
from dali_lab.schema.running import run_operator

Table = npt.NDArray[np.int64]


class _State(enum.Enum):
    """State of a chunk after its steps: all have run, it ended before that, or it waits for other chunks."""

    DONE = enum.auto()
    ENDED = enum.auto()
    WAITS = enum.auto()


class Watcher(Protocol):
    """Callback for each step that a chunk, or a batch on a device, has finished."""

    def __call__(self, run: BatchRun, node: str, results: Sequence[Batch], samples: int, /) -> None: ...


class _Clock:
    """CPU time of a chunk since this was made, on this thread and on those that helped."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._began = time.thread_time() + effort.seconds

    def seconds(self) -> float:
        return time.thread_time() + self._effort.seconds - self._began


class ChunkRunner:
    """Runs stages of batches on the CPU.

    Parameters
    ----------
    pool
        The threads.
    threads
        Number of them.
    calls
        Makes operator calls.
    host
        Returns a finished edge of a batch in host memory.
    watch
        Called for each step.

    Attributes
    ----------
    size
        Samples in a chunk; `None` chooses from the numbers of samples and threads, and from the time samples took.
    """

    def __init__(
        self,
        pool: ThreadPool | InlinePool,
        threads: int,
        calls: Calls,
        *,
        host: Callable[[BatchRun, Edge], Batch] = BatchRun.on_host,
        watch: Watcher | None = None,
        size: int | None = None,
    ) -> None:
        self.size = size
        self._pool = pool
        self._pace = Pace(threads)
        self._calls = calls
        self._host = host
        self._watch = watch

    def start(self, run: BatchRun, stage: Stage, count: int, done: Callable[[StageRun], None]) -> None:
        """Start a stage on `count` samples, at least one; `done` is called when all have ended, and collects them."""
        chunk = count if stage.whole else self.size or self._pace.chunk_size(id(stage), count)
        stage_run = StageRun(run, stage, count, chunk, done)
        self._submit(stage_run, stage_run.chunks)

    def run_again(self, run: BatchRun, stage: Stage, count: int) -> Chunk:
        """Run a whole stage on this thread, on inputs that have changed since it ran, as one chunk."""
        stage_run = StageRun(run, stage, count, count, lambda stage_run: None)
        self._run_chunk(stage_run, stage_run.chunks[0])
        if not run.unsettled:
            stage_run.collect()
        return stage_run.chunks[0]

    def run_row(self, stage_run: StageRun, row: int) -> Chunk:
        """Run a stage on one sample on this thread, to take the place of a bad one; the chunk tells its error."""
        chunk = Chunk(0, row, row + 1, alone=True)
        self._run_chunk(stage_run, chunk)
        return chunk

    def _submit(self, stage_run: StageRun, chunks: Sequence[Chunk]) -> None:
        stage_run.pending = len(chunks)
        run = stage_run.run
        for chunk in chunks:
            self._pool.submit((run.iteration, run.stage, chunk.index), functools.partial(self._work, stage_run, chunk))

    def _work(self, stage_run: StageRun, chunk: Chunk) -> None:
        run, stage = stage_run.run, stage_run.stage
        try:
            if not run.cancelled:
                began = time.thread_time()
                ended = self._run_chunk(stage_run, chunk)
                chunk.effort.seconds += time.thread_time() - began
                if ended:
                    chunk.local.clear()  # other chunks can use the memory while the stage goes on
                    self._pace.note(id(stage), chunk.stop - chunk.start, chunk.effort)
        finally:
            if stage_run.chunk_ended():
                ready = stage_run.take_ready()
                if ready:
                    self._submit(stage_run, ready)
                else:
                    stage_run.done(stage_run)

    def _run_chunk(self, stage_run: StageRun, chunk: Chunk) -> bool:
        """Run the remaining steps; `False` where one has to wait for other chunks."""
        stage = stage_run.stage
        kept = stage.kept
        if kept is None or chunk.position or chunk.alone or stage_run.run.keep_going or stage_run.run.origins:
            state = self._run_steps(stage_run, chunk)
        else:
            state = self._run_with_cache(stage_run, chunk, kept)
        if state is _State.DONE and not chunk.alone:
            if kept is not None and not chunk.plain and kept.store is not None:
                chunk.local.update(kept.apart(chunk.local, stage.exports))
            stage_run.add(chunk)
        return state is not _State.WAITS

    def _run_with_cache(self, stage_run: StageRun, chunk: Chunk, kept: CachedSteps) -> _State:
        """Run a chunk, with what a cache has of the first steps' results."""
        run, stage = stage_run.run, stage_run.stage

        def place(edge: Edge, shapes: Table, dtype: DALIDataType, layout: str) -> Batch | None:
            placement = stage_run.places.get(edge)
            return placement.place(chunk.start, shapes, dtype, layout) if placement is not None else None

        count, began, clock = chunk.stop - chunk.start, time.perf_counter(), _Clock(chunk.effort)
        filling = kept.filling if stage.plain and run.policy is None else None
        if filling is not None and kept.store is not None and filling.leaves_alone(count, len(kept.store.entries)):
            return self._run_plainly(stage_run, chunk, filling)
        own = {
            step.node.id: self._calls.make(run, stage, step, [], {}, chunk.start, chunk.stop)
            for step in stage.steps[: kept.count]
            if step.node.id in kept.sources
        }
        identities = kept.identities(own)
        if identities is None or not kept.is_open(identities.shape[1]):
            return self._run_steps(stage_run, chunk)
        found = kept.find(identities)
        way = Way.KEPT
        if filling is not None and kept.store is not None:
            way = filling.choose(count, int(found.there.sum()), kept.store.takes_more, clock.seconds())
            if way is Way.PLAIN:
                return self._run_plainly(stage_run, chunk, filling)
        found = kept.recall(found, own, place)
        run.seconds[stage.steps[kept.count - 1].node.id] += time.perf_counter() - began
        if found.there.all():
            chunk.local.update(found.batches)
            chunk.position = kept.count
            state = self._run_steps(stage_run, chunk)
            if filling is not None:
                filling.found(count, clock.seconds())
            return state
        missing = np.flatnonzero(~found.there)
        began = time.thread_time()
        if len(missing) < count and run.policy is None:
            some = gathered(self._calls, run, stage, chunk.start + missing)
            if some is not None:
                if way is Way.KEPT:
                    batches = [some.results[edge] for edge in kept.edges]
                    kept.keep(identities[missing], some.calls, batches, time.thread_time() - began)
                try:
                    chunk.local.update(_interleaved(found, missing, some.results, kept.edges))
                except ValueError:  # the kept samples do not fit to the others: computed anew, they say so
                    return self._run_steps(stage_run, chunk)
                chunk.position = kept.count
                return self._run_steps(stage_run, chunk)
        state = self._run_steps(stage_run, chunk, kept.count)
        if state is not _State.DONE:
            return state
        bad = run.policy is not None and any(row in run.bad for row in range(chunk.start, chunk.stop))
        if not bad and not run.origins and way is Way.KEPT:
            batches = [chunk.local[edge] for edge in kept.edges]
            new = np.where(found.there[:, None], 0, identities)
            kept.keep(new, own, batches, time.thread_time() - began)
        chunk.position = kept.count
        rest = _Clock(chunk.effort)
        state = self._run_steps(stage_run, chunk)
        if filling is not None and kept.store is not None and way is Way.KEPT:
            filling.kept(count, clock.seconds(), rest.seconds(), kept.store.writing)
        return state

    def _run_plainly(self, stage_run: StageRun, chunk: Chunk, filling: Filling) -> _State:
        """Run a chunk as without a cache."""
        chunk.plain, clock = True, _Clock(chunk.effort)
        state = self._run_steps(stage_run, chunk)
        filling.computed(chunk.stop - chunk.start, clock.seconds())
        return state

    def _run_steps(self, stage_run: StageRun, chunk: Chunk, end: int | None = None) -> _State:
        """Run the remaining steps of a chunk, or those of them that come before the step `end`."""
        run, stage = stage_run.run, stage_run.stage
        for position, step in enumerate(stage.steps_of(chunk.plain)[chunk.position : end], chunk.position):
            if run.cancelled:
                return _State.ENDED
            if any(_lacks(run, chunk, edge) for edge in step.needed if edge not in chunk.local):
                chunk.failed.add(step.node.id)
                continue
            inputs: list[Batch] = []
            began = time.perf_counter()
            try:
                results = self._run_tolerantly(stage_run, chunk, step, inputs)
            except Wait:
                chunk.position = position
                stage_run.waiting.append(chunk)
                return _State.WAITS
            except Exception as error:  # every failure of an operator is raised where the batch is taken
                explained = explain(error, stage.blamed(error, step).node, inputs, chunk.start)
                run.failures.append((step.node.id, chunk.start, chunk.stop - chunk.start, explained))
                chunk.failed.add(step.node.id)
                if not run.keep_going:
                    chunk.error = explained
                    return _State.ENDED
                continue
            if results is None:
                return _State.ENDED
            spent = time.perf_counter() - began
            for edge, batch in zip(step.inputs, inputs, strict=True):
                if batch.undecoded is not None:
                    run.seconds[edge.node] += batch.undecoded.seconds
                    spent -= batch.undecoded.seconds
            run.seconds[step.node.id] += spent
            for output, batch in enumerate(results):
                chunk.local[Edge(step.node.id, output)] = batch
            if self._watch is not None:
                self._watch(run, step.node.id, results, chunk.stop - chunk.start)
        return _State.DONE

    def _run_tolerantly(
        self, stage_run: StageRun, chunk: Chunk, step: Step, inputs: list[Batch]
    ) -> Sequence[Batch] | None:
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
            results = self._run_step(stage_run, chunk, step, inputs)
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
            results = self._run_rest(stage_run, chunk, step, explained)
        return self._go_on_without_lost(stage_run, chunk, step, inputs, results) if chunk.lost else results

    def _go_on_without_lost(
        self, stage_run: StageRun, chunk: Chunk, step: Step, inputs: list[Batch], results: Sequence[Batch] | None
    ) -> Sequence[Batch] | None:
        """Note the lost samples of a chunk as bad; `None` where nothing is left to do for the chunk."""
        run, stage = stage_run.run, stage_run.stage
        for row, lost in chunk.lost.items():
            explain(lost, stage.blamed(lost, step).node, inputs, chunk.start)
            if not run.covers(lost):
                raise lost
            run.note_bad(stage, row, lost)
        every = len(chunk.lost) == chunk.stop - chunk.start
        chunk.lost.clear()
        let_stand_in(stage_run, chunk, step)
        return None if every or stage.whole else results

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
                        pieces[begin] = self._run_step(stage_run, chunk, step, inputs, begin, end)
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

    def _run_step(
        self,
        stage_run: StageRun,
        chunk: Chunk,
        step: Step,
        inputs: list[Batch],
        start: int | None = None,
        stop: int | None = None,
    ) -> Sequence[Batch]:
        """Run one step on a chunk, or on some samples of it; fills `inputs`."""
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


def _interleaved(
    found: CachedChunk, missing: Table, made: Mapping[Edge, Batch], edges: Sequence[Edge]
) -> dict[Edge, Batch]:
    """The samples that a cache had and those computed in its place, in their order.

    Raises
    ------
    ValueError
        If they differ in type, number of dimensions or layout.
    """
    order = np.argsort(np.concatenate([np.flatnonzero(found.there), missing]))
    joined: dict[Edge, Batch] = {}
    for edge in edges:
        pieces = found.batches[edge], made[edge]
        if pieces[0].layout != pieces[1].layout:
            raise ValueError("the samples differ in layout")
        joined[edge] = Batch.concat(pieces).take(order)
    return joined


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


def _lacks(run: BatchRun, chunk: Chunk, edge: Edge) -> bool:
    """Whether an edge made outside the chunk has no data for some of its samples."""
    return edge.node in chunk.failed or run.lacks(edge, chunk.start, chunk.stop)
