"""Replaces bad samples: runs the stages again for their positions, on other samples of the sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from dali_lab.executor.bad_samples import Failure, Origin
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.chunks import ChunkRunner
from dali_lab.executor.plan import Plan, Stage
from dali_lab.executor.stage_run import Chunk, StageRun, joined, same_kind
from dali_lab.model.waiting import Changes

_TRIES = 4
"""Samples that are tried in the place of one."""


class LastGood:
    """The last good sample up to each batch, known once the batch and all before it have left.

    A batch without any good sample up to it takes the last one of the next batch that has one: the waiting
    caller starts more where :meth:`wait` asks for them, or gives up.

    Attributes
    ----------
    before_first
        The last good sample before the first batch of this run, which a checkpoint brought along.
    looks_ahead
        Whether batches pass one that waits.
    """

    def __init__(self, looks_ahead: bool) -> None:
        self.before_first: Origin | None = None
        self.looks_ahead = looks_ahead
        self._lock = threading.Lock()
        self._changes = Changes()
        self._left: dict[int, Origin | None] = {}
        self._next: int | None = None
        self._latest = -1
        self._last: Origin | None = None
        self._waiting: dict[int, Callable[[Origin | None], None]] = {}

    def submitted(self, iteration: int) -> None:
        """Note a batch that will leave."""
        with self._lock:
            self._latest = iteration
            if self._next is None:
                self._next, self._last = iteration, self.before_first

    def left(self, run: BatchRun) -> None:
        """Note that a batch has left."""
        with self._lock:
            self._left[run.iteration] = last_good(run)
            while self._next in self._left:
                assert self._next is not None
                self._last = self._left.pop(self._next) or self._last
                self._next += 1
        self._changes.tell()
        self._tell()

    def ask(self, run: BatchRun, tell: Callable[[Origin | None], None]) -> None:
        """Call `tell` with the last good sample before a batch, once it is known."""
        with self._lock:
            self._waiting[run.iteration] = tell
        self._changes.tell()
        self._tell()

    def wait(self, run: BatchRun) -> bool:
        """Wait until a batch is finished, or needs more batches behind it for a good sample; whether it needs them."""
        self._changes.wait_until(lambda: run.finished.is_set() or self._lacks_batches())
        return not run.finished.is_set()

    def _lacks_batches(self) -> bool:
        with self._lock:
            return self._next in self._waiting and self._behind()[1] > self._latest

    def give_up(self) -> None:
        """Tell the batch that waits that there is no good sample."""
        self._tell(given_up=True)

    def _tell(self, given_up: bool = False) -> None:
        with self._lock:
            if self._next not in self._waiting:
                return
            assert self._next is not None
            if self._last is None and self.looks_ahead:
                self._last = self._behind()[0]
                if self._last is None and not given_up:
                    return
            tell, last = self._waiting.pop(self._next), self._last
        tell(last)

    def _behind(self) -> tuple[Origin | None, int]:
        """The good sample of the next batch that has one, or `None` and the first batch that is not known yet."""
        assert self._next is not None
        following = self._next + 1
        while following in self._left or following in self._waiting:
            if (found := self._left.get(following)) is not None:
                return found, following
            following += 1
        return None, following


def last_good(run: BatchRun) -> Origin | None:
    """The last sample of a batch that is not bad; `None` if there is none, or the batch failed."""
    if run.failures:
        return None
    row = next((row for row in reversed(range(run.size)) if row not in run.bad), None)
    return None if row is None else Origin(run.iteration, run.draws, row)


class Replacer:
    """Finds samples for the places of bad ones, and runs the stages again for these.

    Parameters
    ----------
    plan
        The plan whose batches are mended.
    chunks
        Runs stages on the CPU.
    run_on_device
        Runs a stage of a batch on the plan's device.
    count
        Samples that a stage works on.
    """

    def __init__(
        self,
        plan: Plan,
        chunks: ChunkRunner,
        run_on_device: Callable[[BatchRun, Stage, int], None],
        count: Callable[[BatchRun, Stage], int],
    ) -> None:
        self._chunks = chunks
        self._run_on_device = run_on_device
        self._count = count
        self._stages = plan.stages
        fed = {step.node.id for step in plan.sources}
        self._feeding: dict[str, list[str]] = {}
        self._affected: list[bool] = []
        self._by_row: list[bool] = []
        whole: set[str] = set()
        for stage in plan.stages:
            for step in stage.steps:
                if any(edge.node in fed for edge in step.needed):
                    fed.add(step.node.id)
                behind = [source for edge in step.needed for source in self._feeding.get(edge.node, ())]
                self._feeding[step.node.id] = behind or [step.node.id]
            apart = stage.whole or stage.gpu or bool(stage.branches)
            if apart or any(edge.node in whole for step in stage.steps for edge in step.needed):
                whole.update(step.node.id for step in stage.steps)
                apart = True
            self._by_row.append(not apart)
            self._affected.append(any(step.node.id in fed for step in stage.steps))

    def settle(self, run: BatchRun, stage_run: StageRun | None, last: Origin | None, asked: bool) -> bool:
        """Put other samples at the positions that are bad, and run all stages so far for them.

        Where no sample can take a place, the batch fails with the error of the sample that was there.

        Parameters
        ----------
        run
            A batch with unsettled positions.
        stage_run
            The stage that ended last, not collected yet; `None` for a stage on a device.
        last
            The last good sample of an earlier batch.
        asked
            Whether `last` is known.

        Returns
        -------
        bool
            Whether all is settled; if not, it has to be called again with `last`.
        """
        while run.unsettled and not run.stopped:
            if len(run.bad) == run.size and not asked:
                return False
            todo = sorted(run.unsettled)
            for position in todo:
                failure = run.bad[position]
                origin = self._candidate(run, position, last)
                if origin is None:
                    run.fail(position)
                    return True
                failure.origin, failure.tries = origin, failure.tries + 1
                run.origins[position] = origin
            run.unsettled.clear()
            self._run_again(run, stage_run, todo)
        return True

    @staticmethod
    def _candidate(run: BatchRun, position: int, last: Origin | None) -> Origin | None:
        """The next sample to try: those of the batch in turn from the position on, else the last good one before it."""
        turns = (*range(position + 1, run.size), *range(position))
        good: Sequence[Origin] = [Origin(run.iteration, run.draws, row) for row in turns if row not in run.bad]
        if not good:
            good = [last] if last is not None else []
        tries = run.bad[position].tries
        return good[tries] if tries < min(len(good), _TRIES) else None

    def _run_again(self, run: BatchRun, stage_run: StageRun | None, positions: Sequence[int]) -> None:
        """Run the stages so far for some positions; those that fail again are unsettled."""
        for number, stage in enumerate(self._stages[: run.stage + 1]):
            current = number == run.stage
            if not (current or self._affected[number]):
                continue
            if self._by_row[number] and not (current and stage_run is not None and stage_run.noted):
                self._run_rows(run, stage, stage_run if current else None, positions)
            elif not current and stage.in_order:
                run.fail(min(positions))  # its operators must not see this batch after the next one
            else:
                self._run_whole(run, stage, positions)
            if run.unsettled or run.stopped:
                return

    def _run_rows(self, run: BatchRun, stage: Stage, ended: StageRun | None, positions: Sequence[int]) -> None:
        """Run a stage for some positions, and put the results where they belong."""
        stage_run = ended or StageRun(run, stage, run.size, run.size, lambda stage_run: None)
        for position in positions:
            failure = run.bad[position]
            chunk = self._chunks.run_row(stage_run, position)
            if chunk.error is not None or not _fits(run, stage_run, chunk, ended is not None):
                run.unsettled.add(position)
                continue
            stage_run.add(chunk)
            self._name_file(failure, chunk, 0)
        if run.unsettled:
            return
        if ended is not None:
            stage_run.collect()
            return
        for edge, parts in stage_run.parts.items():
            new = [(start, part) for (start, _), part in parts.items()]
            run.values[edge] = joined([(0, run.values[edge]), *new])

    def _name_file(self, failure: Failure, chunk: Chunk, row: int) -> None:
        """Note the file of a replacement, if it is in the chunk: the one that an error of the same node would name."""
        sources = {edge.node: batch.sources for edge, batch in chunk.local.items() if batch.sources}
        feeding = self._feeding.get(failure.error.node or "", list(sources))
        failure.file = next((sources[source][row] for source in feeding if source in sources), failure.file)

    def _run_whole(self, run: BatchRun, stage: Stage, positions: Sequence[int]) -> None:
        count = self._count(run, stage)
        for edge in stage.exports:
            run.forget(edge)
        if not count:
            run.leave_empty(stage)
        elif stage.gpu:
            self._run_on_device(run, stage, count)
        else:
            chunk = self._chunks.run_again(run, stage, count)
            for position in positions if count == run.size else ():
                self._name_file(run.bad[position], chunk, position)


def _fits(run: BatchRun, stage_run: StageRun, chunk: Chunk, ended: bool) -> bool:
    """Whether the results of a replacement can be in one batch with those of the good samples."""
    for edge in stage_run.parts:
        good = stage_run.first_good(edge) if ended else ((0, 0), run.values[edge])
        if good is not None and not same_kind(chunk.local[edge], good[1]):
            return False
    return True
