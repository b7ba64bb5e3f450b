"""Runs a plan: several batches in flight, each a set of chunks that flow through its stages on one thread pool."""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Event
from dali_lab.device.transfer import download
from dali_lab.executor.batch_run import BatchRun, Cancelled, Chunk, Placement
from dali_lab.executor.device_memory import MemoryPlan
from dali_lab.executor.device_stage import run_device_stage
from dali_lab.executor.memory import keep_freed_memory, release_compiler
from dali_lab.executor.pace import Pace
from dali_lab.executor.plan import Plan, Stage, Step, bare
from dali_lab.executor.pool import Here, ThreadPool
from dali_lab.executor.steps import explain, inputs_of, mismatch, run_step
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIDataType
from dali_lab.schema.call import Call, Notes, Wait
from dali_lab.schema.operator import Draw

#: Numbers of batches after which kernels have probably been loaded: after the first, and after rarer branches.
_SETTLED = (1, 8)


class Engine:
    """Runs the batches of one plan.

    Parameters
    ----------
    plan
        What to run.
    threads
        Worker threads.
    seeds
        Seed of each node that draws random numbers.
    chunk
        Samples in a chunk; by default chosen from the batch size and the number of threads.
    keep_going
        Let other samples and nodes go on when one fails, for previews.
    memory
        Note how large the outputs of each node are.
    batch_size
        Most samples of a batch, for planning a device's memory; 0 plans nothing ahead.
    progress
        Called with each finished step, for long work.
    """

    def __init__(
        self,
        plan: Plan,
        threads: int,
        seeds: Mapping[str, int],
        *,
        chunk: int | None = None,
        keep_going: bool = False,
        memory: bool = False,
        batch_size: int = 0,
        pool: ThreadPool | Here | None = None,
        progress: Callable[[BatchRun, str, int], None] | None = None,
    ) -> None:
        self.plan = plan
        self.device = plan.device
        keep_freed_memory()
        self.threads = max(1, threads)
        self.seeds = dict(seeds)
        self.chunk = chunk
        self.keep_going = keep_going
        self.progress = progress
        self.drawn: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)
        self.samples: dict[str, int] = defaultdict(int)
        self.memory: dict[Edge, tuple[int, int]] | None = {} if memory else None
        self._pace = Pace(self.threads)
        self.device_memory = MemoryPlan(plan, batch_size if pool is None else 0)
        self.device_memory.reserve()
        self.device_seconds: dict[str, float] = defaultdict(float)
        self.device_launches: dict[str, int] = {}
        self.transfers: dict[tuple[Edge, str], int] = {}
        self.device_times: deque[tuple[str, Event, Event]] = deque()
        self._own_pool = pool is None
        self._pool: ThreadPool | Here = pool or ThreadPool(self.threads)
        self._lock = threading.RLock()
        self._last: BatchRun | None = None
        self._closed = False
        self._in_flight: set[BatchRun] = set()
        self._finished = 0

    def submit(
        self,
        iteration: int,
        size: int,
        draws: Mapping[str, Draw] | None = None,
        known: Mapping[Edge, Batch] | None = None,
        callback: Callable[[BatchRun], None] | None = None,
        missing: Mapping[Edge, Collection[int]] | None = None,
    ) -> BatchRun:
        """Start a batch.

        `draws` are the decisions of the sources, made in the order of the batches; `missing` tells which samples
        known edges lack.
        """
        run = BatchRun(self, iteration, size, draws or {})
        run.callback = callback
        for edge, batch in (known or {}).items():
            run.values[bare(edge)] = batch
        run.missing = {bare(edge): set(samples) for edge, samples in (missing or {}).items() if samples}
        with self._lock:
            if self._closed:
                raise RuntimeError("the pipeline is closed")
            run.previous = self._last
            if self._last is not None:
                self._last.next = run
            self._last = run
            self._in_flight.add(run)
            self._advance(run)
        return run

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is in flight and end the threads, waiting at most `timeout` seconds. Can be called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            runs = list(self._in_flight)
            for run in runs:
                run.cancel()
        ended = self._pool.close(timeout) if self._own_pool else timeout is None
        for run in runs:
            if not run.finished.is_set():
                run.failures.append(("", 0, run.size, Cancelled()))
                run.finished.set()
        if ended or timeout is None:
            self.plan.close()

    def count_transfer(self, edge: Edge, to: str, batch: Batch) -> None:
        """Note that a batch is copied to the ``"gpu"`` or to the ``"cpu"``, and how large it is at most."""
        with self._lock:
            self.transfers[edge, to] = max(batch.nbytes, self.transfers.get((edge, to), 0))

    def collect_device_times(self) -> None:
        """Add up the time on the device of what has run by now."""
        with self._lock:
            while self.device_times and self.device_times[0][2].done():
                node, begin, end = self.device_times.popleft()
                self.device_seconds[node] += end.seconds_since(begin)

    def _advance(self, run: BatchRun) -> None:
        """Admit the next stage of `run` when the batch before it has been admitted there; lock held."""
        while run.pending == 0 and not run.finished.is_set():
            following = run.stage + 1
            if following >= len(self.plan.stages) or (run.failures and not self.keep_going) or run.cancelled:
                self._finish(run)
                return
            before = run.previous
            if before is not None and not before.finished.is_set():
                if before.stage < following or (before.stage == following and self.plan.stages[following].in_order):
                    return
            run.stage = following
            self._admit(run, self.plan.stages[following])
            if run.next is not None and run.next.pending == 0:
                self._advance(run.next)

    def _admit(self, run: BatchRun, stage: Stage) -> None:
        count = self.count(run, stage)
        for step in stage.steps:
            run.drawn_before[step.node.id] = self.drawn[step.node.id]
            self.drawn[step.node.id] += count
            run.drawn_after[step.node.id] = self.drawn[step.node.id]
        chunk = count if stage.whole else self.chunk or self._pace.chunk_size(id(stage), count)
        run.bounds = [(start, min(start + chunk, count)) for start in range(0, count, chunk)] if count else []
        run.parts = {edge: [None] * len(run.bounds) for edge in stage.exports}
        run.places = {edge: Placement(count) for edge in stage.exports} if len(run.bounds) > 1 else {}
        run.notes = {step.node.id: Notes() for step in stage.steps} if len(run.bounds) > 1 else {}
        run.waiting = []
        if not run.bounds:
            for edge in stage.exports:
                run.values[edge] = Batch.empty(UINT8)
        self._submit(run, stage, [Chunk(index, *bounds) for index, bounds in enumerate(run.bounds)])

    def count(self, run: BatchRun, stage: Stage) -> int:
        """How many samples a stage works on."""
        if stage.scope == 0:
            return run.size
        for step in stage.steps:
            edges = [step.node.connections["predicate"]] if step.operator.joins_scopes else step.node.edges()
            for edge in map(bare, edges):
                if edge in run.values:
                    return len(run.values[edge])
        return run.size

    def _task(self, run: BatchRun, stage: Stage, chunk: Chunk) -> Callable[[], None]:
        def work() -> None:
            try:
                if not run.cancelled:
                    began = time.thread_time()
                    self._run_chunk(run, stage, chunk)
                    chunk.effort.seconds += time.thread_time() - began
                    if chunk not in run.waiting:
                        self._pace.note(id(stage), chunk.stop - chunk.start, chunk.effort)
            finally:
                with self._lock:
                    run.pending -= 1
                    if run.pending == 0 and not self._resume(run, stage):
                        self._collect(run, stage)
                        self._advance(run)

        return work

    def _resume(self, run: BatchRun, stage: Stage) -> bool:
        """Let the chunks go on that wait at the first step at which some do: all have noted there; lock held."""
        if not run.waiting or run.cancelled or (run.failures and not self.keep_going):
            return False
        position = min(chunk.position for chunk in run.waiting)
        ready = [chunk for chunk in run.waiting if chunk.position == position]
        run.waiting = [chunk for chunk in run.waiting if chunk.position != position]
        run.notes[stage.steps[position].node.id].complete = True
        self._submit(run, stage, ready)
        return True

    def _submit(self, run: BatchRun, stage: Stage, chunks: list[Chunk]) -> None:
        run.pending = len(chunks)
        for chunk in chunks:
            self._pool.submit((run.iteration, run.stage, chunk.index), self._task(run, stage, chunk))

    def _collect(self, run: BatchRun, stage: Stage) -> None:
        for edge, parts in run.parts.items():
            present = [part for part in parts if part is not None]
            absent = {i for (a, b), part in zip(run.bounds, parts, strict=True) if part is None for i in range(a, b)}
            if absent:
                run.missing[edge] = absent
            if not present:
                continue
            try:
                run.values[edge] = Batch.concat(present)
            except ValueError:
                if all(failed != edge.node for failed, *_ in run.failures):
                    run.failures.append((edge.node, 0, run.size, mismatch(run, stage, edge)))
        run.parts = {}
        run.places = {}

    def _finish(self, run: BatchRun) -> None:
        if run.cancelled and not run.failures:
            run.failures.append(("", 0, run.size, Cancelled()))
        if self.memory is not None:
            for edge, (total, largest) in run.memory.items():
                known = self.memory.get(edge, (0, 0))
                self.memory[edge] = (max(known[0], total), max(known[1], largest))
        for node, seconds in run.seconds.items():
            self.seconds[node] += seconds
            self.samples[node] += run.size
        wanted = set(self.plan.outputs)
        run.values = {edge: batch for edge, batch in run.values.items() if edge in wanted}
        run.host = {}
        run.previous = None
        if self._last is run:
            self._last = None
        self._in_flight.discard(run)
        self._finished += 1
        if not run.failures:
            self.device_memory.reserve()
        # An engine on another one's threads is made for a single batch, and there are many of them.
        if self._own_pool and self._finished in _SETTLED:
            release_compiler()
        run.finished.set()
        following, run.next = run.next, None
        if following is not None:
            following.previous = None
            if following.pending == 0:
                self._advance(following)
        if run.callback is not None:
            run.callback(run)

    def _run_chunk(self, run: BatchRun, stage: Stage, chunk: Chunk) -> None:
        if stage.gpu:
            run_device_stage(self, run, stage)
            return
        local, failed, start, stop = chunk.local, chunk.failed, chunk.start, chunk.stop
        share = functools.partial(chunk.effort.share, self._pool, stop - start, self._pace.part_size(id(stage)))
        for position, step in enumerate(stage.steps[chunk.position :], chunk.position):
            if run.cancelled:
                return
            edges = [bare(edge) for edge in step.node.inputs]
            connections = {name: bare(edge) for name, edge in step.node.connections.items()}
            needed = [*edges, *connections.values()]
            if any(chunk.lacks(run, edge) for edge in needed):
                failed.add(step.node.id)
                continue
            began = time.perf_counter()
            try:
                inputs = [self._fetch(run, stage, edge, local, start, stop) for edge in edges]
                batches = {
                    name: self._fetch(run, stage, edge, local, start, stop) for name, edge in connections.items()
                }
                call = self.make_call(run, stage, step, batches, inputs, start, stop)
                call.sharing = share
                results = run_step(step, call, inputs, check=not stage.whole)
            except Wait:
                chunk.position = position
                run.waiting.append(chunk)
                return
            except Exception as error:  # every failure of an operator travels to whoever waits for the batch
                blamed = stage.blamed(error, step)
                run.failures.append(
                    (step.node.id, start, stop - start, explain(error, blamed, inputs_of(local, edges), start))
                )
                failed.add(step.node.id)
                if not self.keep_going:
                    return
                continue
            spent = time.perf_counter() - began
            for edge, batch in zip(edges, inputs, strict=True):
                if batch.undecoded is not None:
                    run.seconds[edge.node] += batch.undecoded.seconds
                    spent -= batch.undecoded.seconds
            run.seconds[step.node.id] += spent
            for output, batch in enumerate(results):
                local[Edge(step.node.id, output)] = batch
                if self.memory is not None:
                    run.count_memory(Edge(step.node.id, output), batch)
            if self.progress is not None:
                self.progress(run, step.node.id, stop - start)
        for edge in stage.exports:
            if edge in local:
                run.parts[edge][chunk.index] = local[edge]

    def _fetch(
        self, run: BatchRun, stage: Stage, edge: Edge, local: Mapping[Edge, Batch], start: int, stop: int
    ) -> Batch:
        if edge in local:
            return local[edge]
        batch = self.on_host(run, edge)
        if stage.whole:
            return batch
        absent = run.missing.get(edge)
        if absent:
            shift = sum(1 for i in absent if i < start)
            return batch.take(slice(start - shift, stop - shift))
        return batch.take(slice(start, stop)) if len(batch) != stop - start or start else batch

    def on_host(self, run: BatchRun, edge: Edge) -> Batch:
        """A finished edge in memory of the CPU; what is on a device is copied once."""
        batch = run.values[edge]
        if self.device is None or batch.device is None:
            return batch
        with run.host_lock:
            if edge not in run.host:
                run.host[edge] = download(batch)
                self.count_transfer(edge, "cpu", batch)
            return run.host[edge]

    def make_call(
        self,
        run: BatchRun,
        stage: Stage,
        step: Step,
        batches: Mapping[str, Batch],
        inputs: list[Batch],
        start: int,
        stop: int,
    ) -> Call:
        """What a step's operator is told about samples ``start … stop - 1``."""
        draw = run.draws.get(step.node.id)
        node = step.node.id
        places = run.places

        def place(output: int, shapes: npt.NDArray[np.int64], dtype: DALIDataType, layout: str) -> Batch | None:
            placement = places.get(Edge(node, output))
            return placement.place(start, shapes, dtype, layout) if placement is not None else None

        return Call(
            step.operator,
            start,
            stop - start,
            batch_size=run.size,
            iteration=run.iteration,
            drawn_before=run.drawn_before.get(node, 0),
            seed=self.seeds.get(step.operator.seed_node or node, 0),
            ticket=draw.ticket if draw is not None else None,
            batches=batches,
            place=place if places else None,
            cancelled=lambda: run.cancelled,
            sources=inputs[0].sources if inputs and not stage.whole else None,
            defer=step.taker is not None and not self.keep_going and step.taker.ready_for_undecoded(),
            notes=run.notes.get(node),
        )


__all__ = ["BatchRun", "Cancelled", "Engine"]
