"""The memory of a runner for bad samples: the log, and the last good sample, which a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from dali_lab.executor.bad_samples import BadSample, BadSampleLog
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.executor.replacing import last_good


class _Good(NamedTuple):
    """The place of a good sample: its batch, its row there, and the states of the sources before that batch."""

    iteration: int
    row: int
    sources: Mapping[str, Any]


class BadSampleTracker:
    """Follows the batches that are taken.

    Parameters
    ----------
    rate
        The largest share of bad samples.

    Attributes
    ----------
    log
        The bad samples so far.
    left_out
        Positions in the last batch whose samples were left out.
    had_good
        Whether a batch so far had a good sample.
    last_good
        The last good sample, if checkpoints are taken.
    """

    def __init__(self, rate: float) -> None:
        self.log = BadSampleLog(rate)
        self.left_out: list[int] = []
        self.had_good = False
        self.last_good: _Good | None = None

    def note(self, run: BatchRun, before: Checkpoint | None, epoch: int) -> None:
        """Note a batch that is taken; `before` is the state from which it was drawn.

        Raises
        ------
        TooManyBadSamples
            If the share of bad samples is too large.
        """
        good = last_good(run)
        self.had_good |= good is not None
        if good is not None and before is not None:
            self.last_good = _Good(run.iteration, good.row, before.sources)
        self.left_out = run.left_out
        self.log.note(run.size, [self._record(run, position, epoch) for position in sorted(run.bad)])

    def _record(self, run: BatchRun, position: int, epoch: int) -> BadSample:
        failure = run.bad[position]
        error, origin = failure.error, failure.origin
        replaced = origin is not None and position not in self.left_out
        return BadSample(
            error.node or "",
            error.operator or "",
            error.source,
            error.message,
            position,
            epoch,
            run.iteration,
            replacement=origin.row if origin is not None and replaced else None,
            replacement_iteration=origin.iteration if origin is not None and replaced else None,
            replacement_file=failure.file if replaced else None,
        )

    def state(self, sources: Collection[str]) -> dict[str, Any]:
        """The state for :meth:`restore`; with the last good sample where all sources can be brought back to it."""
        good = self.last_good
        known = good is not None and all(name in good.sources for name in sources)
        return {**self.log.state(), "last_good": good._asdict() if good is not None and known else None}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Raises
        ------
        ValueError, KeyError, TypeError, OverflowError
            If it is damaged.
        """
        self.log.restore(state)
        good = state["last_good"]
        self.last_good = None if good is None else _Good(int(good["iteration"]), int(good["row"]), good["sources"])
