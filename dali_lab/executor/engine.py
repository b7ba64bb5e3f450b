"""Runs a plan: several batches in flight on one thread pool, through stages on the CPU and on a device.

It puts three parts together, none of which knows the others: `admission` (which batch enters which stage), `chunks`
(a stage on threads) and `device_stage` (a stage on a device). Together they behave as follows. If the implementation is
inconsistent with this, it is a bug.

1. Order.

   - Batches enter each stage in the order of :meth:`Engine.start`. A stage with an operator that runs `in_order` is
     entered once the batch before has finished it. An operator's draws are counted as its batch enters, so random
     numbers depend neither on threads nor on which batch ends first.
   - A thread of the pool admits batches, so that Ctrl-C in the thread that submits them breaks nothing off.
   - The chunks of a stage run in any order on any thread. A chunk goes from step to step without a barrier; a step
     that asks for facts from the other chunks runs again once all of them have noted theirs.
   - A batch is finished once: `finished` is set, then its callback is called, and neither happens before all of its
     calls have returned (but see 5).

2. An operator fails.

   - Its chunk runs no further step. Other chunks of the batch finish the stage, and their failures are noted too. No
     further stage is entered, and the batch is finished.
   - :meth:`BatchRun.outputs` raises the failure of the first sample, whichever came first in time. It names node,
     operator, the line where the user placed it, and for a failed sample its index in the batch and its file.
   - A function of the user that would end the program (:class:`SystemExit`) has failed like others.
   - Batches before and after it run as if nothing had happened, and the engine takes new ones. Samples count as drawn
     in the stages that the failed batch has entered.
   - Chunks of one output that differ in type or number of dimensions are a failure of the node that made them.
   - With a `policy`, point 6 holds instead, for the errors that the policy covers.

3. An operator fails on a device. The work of a stage is put together for the whole batch, so the batch fails from
   sample 0. Where memory runs out, all work under way is waited for, caches are emptied, and the stage is tried once
   more; then the failure tells what needs how much.

4. With `keep_going`, for previews, all stages are entered. A step runs on the samples that have all of its inputs,
   chunk by chunk; `missing` says which samples an edge lacks, and `failures` why.

5. Cancelling. A cancelled batch begins no further step. It is finished when the running calls have returned, with
   :class:`Cancelled` if nothing had failed before. :meth:`Engine.close` cancels all batches in flight and waits for
   the threads for at most its timeout; then all batches are finished, even those whose calls have not returned, so no
   thread waits for ever. Operators are closed when no thread runs them any more. A closed engine takes no batch;
   closing it again does nothing.

6. Bad samples. With a `policy` ("skip" or "replace") a failure makes a sample bad:

   - The bad sample is the one that the error names; where it names none, halves of the chunk are run by themselves
     until single samples fail. The other samples of the chunk go on. A sample whose results differ in type or number of
     dimensions from those of the first good sample of the batch is bad. On a device, and of operators that see the
     whole batch, only errors that name a sample make one bad; all others, and lack of memory, fail the batch as in 2
     and 3.
   - When all chunks of a stage have ended, each bad position gets another sample: the next position of the batch, in
     turn, whose sample is good; where all are bad, the last good sample of the batches before. The data of all sources
     for that sample stands at the bad position; random numbers remain those of the position. So the batch is the one
     that the sources had given with this sample in that place. Where a sample fails at its new place, the next one is
     tried, up to four; where none can take it, the batch fails with the first error of that position.
   - Rows are computed again alone as far as samples do not depend on each other; other stages so far run again as a
     whole. A batch fails rather than be seen twice by an operator that runs `in_order` in an earlier stage.
   - "skip" does the same, and drops the rows of bad samples from the outputs when the batch is finished.
   - Bad samples and their replacements depend on the data and on positions alone, not on threads, chunks or time.
   - Nothing of this costs anything while no sample fails.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

import numpy as np
import numpy.typing as npt

from dali_lab.executor.admission import Admission
from dali_lab.executor.bad_samples import ErrorPolicy, Origin
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.chunks import ChunkRunner, Watcher
from dali_lab.executor.device_stage import DeviceRunner
from dali_lab.executor.device_state import DeviceState
from dali_lab.executor.failures import Cancelled
from dali_lab.executor.memory import release_compiler
from dali_lab.executor.plan import Plan, Stage
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.executor.replacing import LastGood, Replacer
from dali_lab.executor.stage_run import StageRun
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.schema.source import Draw

#: Numbers of batches after which kernels have probably been loaded: after the first, and after rarer branches.
_SETTLED = (1, 8)


class Engine:
    """Runs the batches of one plan; the module docstring is the contract for order and failures.

    Parameters
    ----------
    plan
        The plan to run.
    threads
        Worker threads.
    seeds
        Seed of each node that draws random numbers.
    chunk
        Samples in a chunk; by default chosen from the batch size and the number of threads.
    keep_going
        Other samples and nodes continue when one fails, for previews.
    memory
        Record the size of each node's outputs.
    batch_size
        Most samples of a batch, for planning a device's memory; 0 plans nothing ahead.
    pool
        Threads of the caller to run on; by default the engine has its own.
    progress
        Called as ``progress(node, samples)`` after each finished step, for long work.
    transient
        Batches are returned soon after use; see :class:`~dali_lab.schema.Call`.
    user_context
        Entered around functions of the user.
    policy
        The answer to samples that fail; by default the batch fails.

    Attributes
    ----------
    drawn
        Samples that each node has seen.
    seconds, samples
        Time of each node, summed over threads, and the samples that it took.
    memory
        Bytes of the largest batch and of the largest sample of each edge; `None` if not recorded.
    device
        State of the plan's device, if it has one.
    last_good
        The last good sample before each batch, where there is a policy.
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
        pool: ThreadPool | InlinePool | None = None,
        progress: Callable[[str, int], None] | None = None,
        transient: bool = False,
        user_context: Callable[[], AbstractContextManager[object]] = nullcontext,
        policy: ErrorPolicy | None = None,
    ) -> None:
        self.plan = plan
        self.seeds = dict(seeds)
        self.drawn: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)
        self.samples: dict[str, int] = defaultdict(int)
        self.memory: dict[Edge, tuple[int, int]] | None = {} if memory else None
        self._keep_going = keep_going
        self._own_pool = pool is None
        self._pool: ThreadPool | InlinePool = pool or ThreadPool(max(1, threads))
        self._finished = 0
        calls = Calls(self.seeds, transient, user_context)
        watch = _watcher(memory, progress)
        self.device: DeviceState | None = None
        self._on_device: DeviceRunner | None = None
        host: Callable[[BatchRun, Edge], Batch] = BatchRun.on_host
        if plan.device is not None:
            self.device = DeviceState(plan, plan.device, batch_size if pool is None else 0)
            self._on_device = DeviceRunner(self.device, calls, self._pool, watch)
            host = self.device.on_host
        self.chunks = ChunkRunner(self._pool, max(1, threads), calls, host=host, watch=watch, size=chunk)
        # An operator that runs in order lets no batch pass one that waits for a sample.
        looks_ahead = not any(stage.in_order for stage in plan.stages)
        self.last_good = LastGood(looks_ahead) if policy is not None else None
        self._policy = policy
        self._admission: Admission[BatchRun] = Admission([stage.in_order for stage in plan.stages])

    def prepare(
        self,
        iteration: int,
        size: int,
        draws: Mapping[str, Draw] | None = None,
        known: Mapping[Edge, Batch] | None = None,
        callback: Callable[[BatchRun], None] | None = None,
        missing: Mapping[Edge, Collection[int]] | None = None,
        rows: npt.NDArray[np.int64] | None = None,
    ) -> BatchRun:
        """A batch that has not begun.

        `draws` are the decisions of the sources, made in the order of the batches; `missing` tells which samples
        known edges lack; `rows` are the indices by which samples draw, see :class:`BatchRun`.
        """
        return BatchRun(
            iteration,
            size,
            self.plan.outputs,
            draws,
            known,
            missing,
            keep_going=self._keep_going,
            callback=callback,
            policy=self._policy,
            rows=rows,
        )

    def start(self, run: BatchRun) -> BatchRun:
        """Start a batch behind those started before, and return it. Where Ctrl-C interrupts this, call it again.

        Raises
        ------
        RuntimeError
            If the engine is closed.
        """
        if self.last_good is not None:
            self.last_good.submitted(run.iteration)
        try:
            self._admission.queue(run, self)
            # A thread of the pool admits it: Ctrl-C, which interrupts the caller, would leave the stages half entered.
            self._pool.submit((run.iteration, -1), self._admission.admit)
        except RuntimeError:
            run.failures.append(("", 0, run.size, Cancelled()))
            run.finished.set()
            raise
        return run

    def close(self, timeout: float | None = None) -> bool:
        """Cancel the batches in flight and end the threads, waiting at most `timeout` seconds. Can be called again.

        Returns
        -------
        bool
            Whether nothing runs any more.
        """
        runs = self._admission.close()
        if runs is None:
            return timeout is None
        for run in runs:
            run.cancel()
        ended = self._pool.close(timeout) if self._own_pool else timeout is None
        for run in runs:
            if not run.finished.is_set():
                run.failures.append(("", 0, run.size, Cancelled()))
                run.finished.set()
        ended = ended or timeout is None
        if ended:
            self.plan.close()
        return ended

    def enter(self, run: BatchRun, number: int, /) -> bool:
        """Begin a stage of a batch. Returns whether there is work. For :class:`Admission` alone."""
        stage = self.plan.stages[number]
        count = _count(run, stage)
        for node in dict.fromkeys(step.node.id for step in (*stage.steps, *stage.plain)):
            run.drawn_before[node] = self.drawn[node]
            self.drawn[node] += count
            run.drawn_after[node] = self.drawn[node]
        if not count:
            run.leave_empty(stage)
            return False
        try:
            if stage.gpu:
                run_stage = functools.partial(self._run_on_device, run, stage, count)
                self._pool.submit((run.iteration, run.stage, 0), run_stage)
            else:
                self.chunks.start(run, stage, count, self._stage_ended)
        except BaseException as error:  # such as a lack of memory; it must not end the thread
            run.failures.append(("", 0, run.size, error))
            return False
        return True

    def _stage_ended(self, stage_run: StageRun) -> None:
        run = stage_run.run
        if run.policy is not None and not run.stopped:
            stage_run.note_unlike()
            stage_run.confirm_stand_ins()
        if run.unsettled and not run.stopped:
            self._settle(run, stage_run)
        else:
            stage_run.collect()
            self._admission.stage_done(run)

    def _settle(
        self, run: BatchRun, stage_run: StageRun | None, last: Origin | None = None, asked: bool = False
    ) -> None:
        """Replace the bad samples of a stage that has ended, and finish the stage."""
        assert self.last_good is not None
        try:
            if not self._replacer.settle(run, stage_run, last, asked):
                self.last_good.ask(run, functools.partial(self._settle_later, run, stage_run))
                return
        except BaseException as error:  # raised where the batch is taken
            run.failures.append(("", 0, run.size, error))
        self._admission.stage_done(run)

    def _settle_later(self, run: BatchRun, stage_run: StageRun | None, last: Origin | None) -> None:
        with suppress(RuntimeError):  # the engine was closed, and all batches are finished
            self._pool.submit(
                (run.iteration, run.stage, 0), functools.partial(self._settle, run, stage_run, last, True)
            )

    @functools.cached_property
    def _replacer(self) -> Replacer:
        return Replacer(self.plan, self.chunks, self._run_stage_on_device, _count)

    def _run_stage_on_device(self, run: BatchRun, stage: Stage, count: int) -> None:
        assert self._on_device is not None
        self._on_device.run(run, stage, count)

    def _run_on_device(self, run: BatchRun, stage: Stage, count: int) -> None:
        try:
            if not run.cancelled:
                self._run_stage_on_device(run, stage, count)
        except BaseException as error:  # it must not end the thread
            run.failures.append(("", 0, run.size, error))
        if run.unsettled and not run.stopped:
            self._settle(run, None)
        else:
            self._admission.stage_done(run)

    def leave(self, run: BatchRun, /) -> None:
        """Finish a batch. For :class:`Admission` alone."""
        if self.memory is not None:
            for edge, (total, largest) in run.memory.items():
                known = self.memory.get(edge, (0, 0))
                self.memory[edge] = (max(known[0], total), max(known[1], largest))
        for node, seconds in run.seconds.items():
            self.seconds[node] += seconds
            self.samples[node] += run.size
        self._finished += 1
        if self.device is not None and not run.failures:
            self.device.memory.reserve()
        # An engine on another one's threads is made for a single batch, and there are many of them.
        if self._own_pool and self._finished in _SETTLED:
            release_compiler()
        run.finish()
        if self.last_good is not None:
            self.last_good.left(run)
        if run.callback is not None:
            run.callback(run)


def _watcher(memory: bool, progress: Callable[[str, int], None] | None) -> Watcher | None:
    def watch(run: BatchRun, node: str, results: Sequence[Batch], samples: int, /) -> None:
        if memory:
            for output, batch in enumerate(results):
                run.count_memory(Edge(node, output), batch)
        if progress is not None:
            progress(node, samples)

    return watch if memory or progress is not None else None


def _count(run: BatchRun, stage: Stage) -> int:
    """Samples that a stage works on: those of its branch, where a condition splits the batch."""
    if stage.scope:
        for step in stage.steps:
            for edge in [step.connections["predicate"]] if step.operator.joins_scopes else step.needed:
                if edge in run.values:
                    return len(run.values[edge])
    return run.size
