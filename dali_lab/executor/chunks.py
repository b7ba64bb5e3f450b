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
from dali_lab.executor.caching.filling import Filling, IdleTime, Way
from dali_lab.executor.caching.gathering import gathered
from dali_lab.executor.caching.recall import CachedChunk, CachedSteps
from dali_lab.executor.calls import Calls
from dali_lab.executor.failures import explain
from dali_lab.executor.pace import Effort, Pace
from dali_lab.executor.plan import Stage
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.executor.stage_run import Chunk, StageRun
from dali_lab.executor.steps import StepRunner
from dali_lab.executor.tolerance import Tolerance
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.schema.call import Call, Wait

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
        self._idle = IdleTime(lambda: pool.waited)
        self._calls = calls
        self._tolerance = Tolerance(StepRunner(pool, self._pace, calls, host), self._run_chunk)
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
        except BaseException as error:  # of a cache, say; it must not end the thread
            run.failures.append(("", chunk.start, chunk.stop - chunk.start, error))
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
        if filling is not None:
            filling.left(self._idle.seconds())
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
                making = time.thread_time() - began
                try:
                    chunk.local.update(_interleaved(found, missing, some.results, kept.edges))
                except ValueError:  # the kept samples do not fit to the others: computed anew, they say so
                    return self._run_steps(stage_run, chunk)
                chunk.position = kept.count
                rest = _Clock(chunk.effort)
                state = self._run_steps(stage_run, chunk)
                if filling is not None and kept.store is not None and way is Way.KEPT:
                    behind = rest.seconds() * len(missing) / count
                    filling.kept(len(missing), making + behind, behind, kept.store.writing)
                return state
        if filling is not None and kept.beside is not None and way is Way.KEPT and len(missing) == count:
            return self._keep_beside(stage_run, chunk, kept, identities, own)
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

    def _keep_beside(
        self, stage_run: StageRun, chunk: Chunk, kept: CachedSteps, identities: Table, own: dict[str, Call]
    ) -> _State:
        """Run a chunk as without a cache, and keep what its steps leave aside."""
        from dali_lab.kernels.cpu import background

        began, clock = time.thread_time(), _Clock(chunk.effort)
        chunk.plain, chunk.aside = True, []
        state = self._run_steps(stage_run, chunk)
        if state is not _State.DONE:
            return state
        results = dict(chunk.local)
        if chunk.aside and kept.beside is not None:
            results[kept.beside] = chunk.aside[0]
        if all(edge in results for edge in kept.edges):
            kept.keep(identities, own, [results[edge] for edge in kept.edges], time.thread_time() - began)
            if kept.filling is not None and kept.store is not None:
                kept.filling.kept(chunk.stop - chunk.start, clock.seconds(), None, kept.store.writing)
        elif not background.busy():
            kept.beside = None  # the fused step does not take these pictures
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
                results = self._tolerance.run(stage_run, chunk, step, inputs)
            except Wait:
                chunk.position = position
                stage_run.waiting.append(chunk)
                return _State.WAITS
            except BaseException as error:  # every failure of an operator is raised where the batch is taken
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


def _lacks(run: BatchRun, chunk: Chunk, edge: Edge) -> bool:
    """Whether an edge made outside the chunk has no data for some of its samples."""
    return edge.node in chunk.failed or run.lacks(edge, chunk.start, chunk.stop)
