"""Runs chunks of a batch on threads: each flows through the steps of a stage with no barrier between them."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.failures import explain, mismatch
from dali_lab.executor.pace import Effort, Pace
from dali_lab.executor.plan import Stage, Step
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.schema.call import Notes, Wait
from dali_lab.schema.running import run_operator


class Watcher(Protocol):
    """Callback for each step that a chunk, or a batch on a device, has finished."""

    def __call__(self, run: BatchRun, node: str, results: Sequence[Batch], samples: int, /) -> None: ...


class Placement:
    """Memory for a whole output batch, shared by its chunks; allocated once the first of them has a shape."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._shape: tuple[int, ...] | None = None
        self._dtype: DALIDataType | None = None
        self._buffer: npt.NDArray[np.uint8] | None = None

    def place(self, start: int, shapes: npt.NDArray[np.int64], dtype: DALIDataType, layout: str) -> Batch | None:
        if not len(shapes) or not (shapes == shapes[0]).all():
            return None
        shape = tuple(shapes[0].tolist())
        size = int(np.prod(shape, dtype=np.int64)) * numpy_dtype(dtype).itemsize
        with self._lock:
            if self._buffer is None:
                self._shape, self._dtype = shape, dtype
                self._buffer = buffer(size * self._total)
            elif (shape, dtype) != (self._shape, self._dtype):
                return None
            memory = self._buffer
        addresses = memory.ctypes.data + size * np.arange(start, start + len(shapes), dtype=np.int64)
        return Batch(addresses, shapes, dtype, layout, (memory,))


@dataclass(eq=False)
class Chunk:
    """Samples ``start … stop - 1`` of a batch, moving through the steps of a stage.

    `position` is the next step, `local` the results of earlier steps, `failed` the nodes without a result, `effort` the
    CPU time so far.
    """

    index: int
    start: int
    stop: int
    position: int = 0
    local: dict[Edge, Batch] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    effort: Effort = field(default_factory=Effort)


class _StageRun:
    """One stage of one batch while its chunks run.

    Attributes
    ----------
    parts
        For each edge that leaves the stage, the results of the chunks.
    notes
        Facts that the chunks share, by node; see :meth:`~dali_lab.schema.call.Call.note`.
    waiting
        Chunks that continue once all others have noted something.
    """

    def __init__(self, run: BatchRun, stage: Stage, count: int, chunk: int, done: Callable[[BatchRun], None]) -> None:
        self.run, self.stage, self.done = run, stage, done
        self.chunks = [
            Chunk(index, start, min(start + chunk, count)) for index, start in enumerate(range(0, count, chunk))
        ]
        several = len(self.chunks) > 1
        self.parts: dict[Edge, list[Batch | None]] = {edge: [None] * len(self.chunks) for edge in stage.exports}
        self.places = {edge: Placement(count) for edge in stage.exports} if several else {}
        self.notes = {step.node.id: Notes() for step in stage.steps} if several else {}
        self.waiting: list[Chunk] = []
        self.pending = 0
        self._lock = threading.Lock()

    def chunk_ended(self) -> bool:
        """Note that a chunk has ended or waits. Returns whether it was the last."""
        with self._lock:
            self.pending -= 1
            return not self.pending

    def take_ready(self) -> list[Chunk]:
        """The chunks waiting at the earliest such step: all have noted there."""
        if not self.waiting or self.run.stopped:
            return []
        position = min(chunk.position for chunk in self.waiting)
        ready = [chunk for chunk in self.waiting if chunk.position == position]
        self.waiting = [chunk for chunk in self.waiting if chunk.position != position]
        self.notes[self.stage.steps[position].node.id].complete = True
        return ready

    def collect(self) -> None:
        """Join the results of the chunks."""
        run = self.run
        for edge, parts in self.parts.items():
            pairs = list(zip(self.chunks, parts, strict=True))
            absent = {i for chunk, part in pairs if part is None for i in range(chunk.start, chunk.stop)}
            if absent:
                run.missing[edge] = absent
            present = [part for part in parts if part is not None]
            if not present:
                continue
            try:
                run.values[edge] = Batch.concat(present)
            except ValueError:
                if all(failed != edge.node for failed, *_ in run.failures):
                    step = next(step for step in self.stage.steps if step.node.id == edge.node)
                    filled = [(chunk.start, part) for chunk, part in pairs if part is not None and len(part)]
                    run.failures.append((edge.node, 0, run.size, mismatch(step.node, filled)))


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

    def start(self, run: BatchRun, stage: Stage, count: int, done: Callable[[BatchRun], None]) -> None:
        """Start a stage on `count` samples, at least one; `done` is called when all have ended."""
        chunk = count if stage.whole else self.size or self._pace.chunk_size(id(stage), count)
        stage_run = _StageRun(run, stage, count, chunk, done)
        self._submit(stage_run, stage_run.chunks)

    def _submit(self, stage_run: _StageRun, chunks: Sequence[Chunk]) -> None:
        stage_run.pending = len(chunks)
        run = stage_run.run
        for chunk in chunks:
            self._pool.submit((run.iteration, run.stage, chunk.index), functools.partial(self._work, stage_run, chunk))

    def _work(self, stage_run: _StageRun, chunk: Chunk) -> None:
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
                    stage_run.collect()
                    stage_run.done(run)

    def _run_chunk(self, stage_run: _StageRun, chunk: Chunk) -> bool:
        """Run the remaining steps; `False` where one has to wait for other chunks."""
        run, stage = stage_run.run, stage_run.stage
        count, part = chunk.stop - chunk.start, self._pace.part_size(id(stage))
        share = functools.partial(chunk.effort.share, self._pool, count, part)
        for position, step in enumerate(stage.steps[chunk.position :], chunk.position):
            if run.cancelled:
                return True
            if any(_lacks(run, chunk, edge) for edge in step.needed if edge not in chunk.local):
                chunk.failed.add(step.node.id)
                continue
            inputs: list[Batch] = []
            began = time.perf_counter()
            try:
                results = self._run_step(stage_run, chunk, step, inputs, share)
            except Wait:
                chunk.position = position
                stage_run.waiting.append(chunk)
                return False
            except Exception as error:  # every failure of an operator is raised where the batch is taken
                explained = explain(error, stage.blamed(error, step).node, inputs, chunk.start)
                run.failures.append((step.node.id, chunk.start, count, explained))
                chunk.failed.add(step.node.id)
                if not run.keep_going:
                    return True
                continue
            spent = time.perf_counter() - began
            for edge, batch in zip(step.inputs, inputs, strict=True):
                if batch.undecoded is not None:
                    run.seconds[edge.node] += batch.undecoded.seconds
                    spent -= batch.undecoded.seconds
            run.seconds[step.node.id] += spent
            for output, batch in enumerate(results):
                chunk.local[Edge(step.node.id, output)] = batch
            if self._watch is not None:
                self._watch(run, step.node.id, results, count)
        for edge, parts in stage_run.parts.items():
            parts[chunk.index] = chunk.local.get(edge)
        return True

    def _run_step(
        self,
        stage_run: _StageRun,
        chunk: Chunk,
        step: Step,
        inputs: list[Batch],
        share: Callable[[Callable[[int], bool]], None],
    ) -> Sequence[Batch]:
        """Run one step on a chunk; fills `inputs`."""
        run, stage, node = stage_run.run, stage_run.stage, step.node.id
        for edge in step.inputs:
            inputs.append(self._fetch(run, stage, chunk, edge))
        connected = {name: self._fetch(run, stage, chunk, edge) for name, edge in step.connections.items()}
        call = self._calls.make(run, stage, step, inputs, connected, chunk.start, chunk.stop)
        call.sharing = share
        call.defer = step.taker is not None and not run.keep_going and step.taker.ready_for_undecoded()
        call.notes = stage_run.notes.get(node)
        places, start = stage_run.places, chunk.start
        if places:
            # It does not reference the chunk: undecoded pictures that are left to a later step may keep this call.

            def place(output: int, shapes: npt.NDArray[np.int64], dtype: DALIDataType, layout: str) -> Batch | None:
                placement = places.get(Edge(node, output))
                return placement.place(start, shapes, dtype, layout) if placement is not None else None

            call.place = place
        return run_operator(step.operator, call, inputs, step.outputs, check=not stage.whole)

    def _fetch(self, run: BatchRun, stage: Stage, chunk: Chunk, edge: Edge) -> Batch:
        """The samples of a chunk on an edge; the whole batch where the stage sees all of it."""
        if edge in chunk.local:
            return chunk.local[edge]
        batch = self._host(run, edge)
        if stage.whole:
            return batch
        start, stop = chunk.start, chunk.stop
        absent = run.missing.get(edge)
        if absent:
            shift = sum(1 for i in absent if i < start)
            return batch.take(slice(start - shift, stop - shift))
        return batch.take(slice(start, stop)) if len(batch) != stop - start or start else batch


def _lacks(run: BatchRun, chunk: Chunk, edge: Edge) -> bool:
    """Whether an edge made outside the chunk has no data for some of its samples."""
    return edge.node in chunk.failed or run.lacks(edge, chunk.start, chunk.stop)
