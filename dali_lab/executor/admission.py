"""Admission: the order in which batches enter the stages of a plan.

It knows neither samples nor threads: it is told when a batch is done with a stage, and says which one begins next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar


class InFlight(Protocol):
    """A batch, as admission sees it.

    Attributes
    ----------
    stage
        Number of the last stage it entered; −1 before the first.
    busy
        Whether it is running in that stage.
    left
        Whether it has left the plan.
    stopped
        Whether it must enter no further stage.
    previous, next
        Its neighbours in the queue, while in flight.
    """

    stage: int
    busy: bool
    left: bool
    previous: Self | None
    next: Self | None

    @property
    def stopped(self) -> bool: ...


B = TypeVar("B", bound=InFlight)
C = TypeVar("C", contravariant=True)


class Stages(Protocol[C]):
    """The stages as admission sees them: entered and left by batches."""

    def enter(self, batch: C, stage: int, /) -> bool:
        """Begin a stage of a batch. Returns whether there is work; if so, :meth:`Admission.stage_done` follows."""
        ...

    def leave(self, batch: C, /) -> None:
        """Finish a batch: called once for each, after its last stage or when it is stopped."""
        ...


class Admission(Generic[B]):
    """Lets batches through stages in the order in which they were submitted.

    A batch enters a stage after the batch before it has entered it, and where the stage is `in_order` after that batch
    has finished it. Calls of :class:`Stages` come one at a time. The stages are referenced only while batches are in
    flight.

    Parameters
    ----------
    in_order
        For each stage whether it takes one batch at a time.
    """

    def __init__(self, in_order: Sequence[bool]) -> None:
        self._in_order = in_order
        self._lock = threading.RLock()
        self._queue: deque[tuple[B, Stages[B]]] = deque()
        self._last: B | None = None
        self._in_flight: dict[B, Stages[B]] = {}
        self._closed = False

    def queue(self, batch: B, stages: Stages[B]) -> None:
        """Queue a batch behind those in flight; :meth:`admit` lets it in.

        A batch that is in flight already may be queued again, by a caller who was interrupted.

        Raises
        ------
        RuntimeError
            After :meth:`close`.
        """
        self._queue.append((batch, stages))
        if self._closed:
            raise RuntimeError("the pipeline is closed")

    def admit(self) -> None:
        """Let the queued batches enter every stage open to them. To be called by a thread that nothing interrupts."""
        with self._lock:
            while self._queue:
                batch, stages = self._queue.popleft()
                if batch.left or batch in self._in_flight:
                    continue
                batch.previous = self._last
                if self._last is not None:
                    self._last.next = batch
                self._last = batch
                self._in_flight[batch] = stages
                self._advance(batch)

    def stage_done(self, batch: B) -> None:
        """Note that a batch is done with the last stage it entered."""
        with self._lock:
            batch.busy = False
            self._advance(batch)

    def close(self) -> list[B] | None:
        """Refuse further batches; returns those in flight or queued, or `None` if already closed."""
        with self._lock:
            if self._closed:
                return None
            self._closed = True
            return list(dict.fromkeys((*self._in_flight, *(batch for batch, _ in self._queue))))

    def _advance(self, batch: B) -> None:
        """Let a batch enter every stage open to it, and the batch behind it every stage that this opens."""
        while not batch.busy and not batch.left:
            following = batch.stage + 1
            if following >= len(self._in_order) or batch.stopped:
                self._let_go(batch)
                return
            before = batch.previous
            if before is not None and before.stage < following + self._in_order[following]:
                return
            batch.stage = following
            batch.busy = self._in_flight[batch].enter(batch, following)
            if batch.next is not None:
                self._advance(batch.next)

    def _let_go(self, batch: B) -> None:
        batch.left = True
        behind, batch.next, batch.previous = batch.next, None, None
        if self._last is batch:
            self._last = None
        if behind is not None:
            behind.previous = None
        self._in_flight.pop(batch).leave(batch)
        if behind is not None:
            self._advance(behind)
