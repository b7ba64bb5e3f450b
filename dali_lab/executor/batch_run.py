"""State of one batch in flight: finished edges, failures, and the samples that each node has drawn."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import download
from dali_lab.executor.bad_samples import ErrorPolicy, Failure, Origin
from dali_lab.executor.failures import Cancelled
from dali_lab.executor.plan import Stage
from dali_lab.graph.graph import Edge, bare
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import NO_TYPE
from dali_lab.model.errors import DaliLabError
from dali_lab.model.waiting import Flag
from dali_lab.schema.source import Draw


class BatchRun:
    """State of one batch in flight.

    Parameters
    ----------
    iteration
        Batch number.
    size
        Number of samples.
    wanted
        Edges that :meth:`outputs` returns.
    draws
        Decisions of the sources, by node.
    known
        Batches that are given instead of computed.
    missing
        For known edges, the samples that they lack.
    keep_going
        Other samples and nodes continue when one fails.
    callback
        Called with the batch when it is finished.
    policy
        The answer to samples that fail; `None` lets the batch fail.
    rows
        ``int64[size]``: the index by which each sample draws random numbers, whatever was drawn before; `None` draws
        by the index in the batch, behind the batches before.

    Attributes
    ----------
    values
        Finished edges.
    failures
        Failures as ``(node, first sample, number of samples, error)``.
    seconds
        Time spent in each node, summed over threads.
    memory
        Bytes of each output and of its largest sample.
    drawn_before, drawn_after
        Samples that each node has seen before and after this batch.
    bad
        Positions whose own sample is bad.
    unsettled
        Bad positions without a replacement yet.
    origins
        Samples of the sources that stand at other positions than their own.
    stage, busy, left, previous, next
        See :class:`~dali_lab.executor.admission.InFlight`.
    """

    def __init__(
        self,
        iteration: int,
        size: int,
        wanted: Sequence[Edge],
        draws: Mapping[str, Draw] | None = None,
        known: Mapping[Edge, Batch] | None = None,
        missing: Mapping[Edge, Collection[int]] | None = None,
        *,
        keep_going: bool = False,
        callback: Callable[[BatchRun], None] | None = None,
        policy: ErrorPolicy | None = None,
        rows: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.iteration = iteration
        self.size = size
        self.wanted = wanted
        self.draws = draws or {}
        self.values = {bare(edge): batch for edge, batch in (known or {}).items()}
        self.missing = {bare(edge): set(samples) for edge, samples in (missing or {}).items() if samples}
        self.keep_going = keep_going
        self.callback = callback
        self.policy = policy
        self.rows = rows
        self.bad: dict[int, Failure] = {}
        self.unsettled: set[int] = set()
        self.origins: dict[int, Origin] = {}
        self.failures: list[tuple[str, int, int, BaseException]] = []
        self.seconds: dict[str, float] = defaultdict(float)
        self.memory: dict[Edge, tuple[int, int]] = {}
        self.drawn_before: dict[str, int] = {}
        self.drawn_after: dict[str, int] = {}
        self.finished = Flag()
        self.cancelled = False
        self.stage = -1
        self.busy = self.left = False
        self.previous: BatchRun | None = None
        self.next: BatchRun | None = None
        self._host: dict[Edge, Batch] = {}
        self._lock = threading.Lock()

    @property
    def stopped(self) -> bool:
        """Whether it enters no further stage."""
        return self.cancelled or bool(self.failures and not self.keep_going)

    def lacks(self, edge: Edge, start: int, stop: int) -> bool:
        """Whether a finished edge has no data for some of the samples ``start … stop - 1``."""
        if edge not in self.values:
            return True
        absent = self.missing.get(edge)
        return bool(absent) and any(start <= i < stop for i in absent or ())

    def on_host(self, edge: Edge, copied: Callable[[Edge, Batch], None] | None = None) -> Batch:
        """A finished edge in host memory; a batch on a device is copied once, and `copied` called."""
        batch = self.values[edge]
        if batch.device is None:
            return batch
        with self._lock:
            if edge not in self._host:
                self._host[edge] = download(batch)
                if copied is not None:
                    copied(edge, batch)
            return self._host[edge]

    def count_memory(self, edge: Edge, batch: Batch) -> None:
        """Add a chunk to the size of an output."""
        most = int(batch.sizes.max()) * batch.itemsize if len(batch) else 0
        with self._lock:
            total, largest = self.memory.get(edge, (0, 0))
            self.memory[edge] = (total + batch.nbytes, max(largest, most))

    def covers(self, error: BaseException) -> bool:
        """Whether an error may make a sample bad, rather than the batch fail."""
        return self.policy is not None and self.policy.covers(error)

    def note_bad(self, stage: Stage, row: int, error: DaliLabError) -> None:
        """Note that a row of a stage is bad."""
        position = int(self.positions(stage)[row]) if stage.branches else row
        with self._lock:
            self.unsettled.add(position)
            self.bad.setdefault(position, Failure(error))

    def stand_in(self, position: int, origin: Origin, file: str | None) -> None:
        """Note that a sample of the sources has taken the place of a bad one."""
        with self._lock:
            failure = self.bad[position]
            failure.origin, failure.file, failure.tries = origin, file, 1
            self.origins[position] = origin
            self.unsettled.discard(position)

    def unsettle(self, position: int) -> None:
        """Begin anew to look for a sample that takes the place of a bad one."""
        failure = self.bad[position]
        failure.origin, failure.file, failure.tries = None, None, 0
        self.origins.pop(position, None)
        self.unsettled.add(position)

    def fail(self, position: int) -> None:
        """Let the batch fail with the error of a position that nothing can take."""
        error = self.bad[position].error
        self.failures.append((error.node or "", position, 1, error))

    def forget(self, edge: Edge) -> None:
        """Drop the results on an edge, which is about to be computed again."""
        self.values.pop(edge, None)
        self.missing.pop(edge, None)
        self._host.pop(edge, None)

    def leave_empty(self, stage: Stage) -> None:
        """Finish a stage that has no samples."""
        self.values.update({edge: Batch.empty(NO_TYPE) for edge in stage.exports})

    def positions(self, stage: Stage) -> npt.NDArray[np.int64]:
        """The position in the batch of each row of a stage, ``int64[rows]``."""
        found = np.arange(self.size, dtype=np.int64)
        for edge, branch in stage.branches:
            predicate = self.on_host(edge)
            decided = predicate.stacked().astype(bool) if len(predicate) else np.zeros(0, bool)
            found = found[decided if branch == 0 else ~decided]
        return found

    @property
    def left_out(self) -> list[int]:
        """Positions that are dropped from the outputs."""
        if self.policy is None:
            return []
        return sorted(row for row, failure in self.bad.items() if self.policy.answer(failure.error.node) == "skip")

    def cancel(self) -> None:
        """Stop as soon as the running calls return."""
        self.cancelled = True

    def finish(self) -> None:
        """Keep only the wanted edges, and wake the waiting threads."""
        if self.cancelled and not self.failures:
            self.failures.append(("", 0, self.size, Cancelled()))
        self.values = {edge: self.values[edge] for edge in dict.fromkeys(self.wanted) if edge in self.values}
        left_out = self.left_out
        if left_out and not self.failures:
            kept = np.delete(np.arange(self.size), left_out)
            self.values = {edge: batch.take(kept) for edge, batch in self.values.items()}
        self._host = {}
        self.finished.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all is done or has failed; `False` if the time runs out first."""
        return self.finished.wait(timeout)

    @property
    def failure(self) -> BaseException | None:
        """The failure of the first sample that failed."""
        return min(self.failures, key=lambda failure: failure[1])[3] if self.failures else None

    def outputs(self) -> list[Batch]:
        """The wanted edges.

        Raises
        ------
        BaseException
            The failure of the first sample that failed.
        """
        if self.failure is not None:
            raise self.failure
        return [self.values[edge] for edge in self.wanted]
