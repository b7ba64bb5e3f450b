"""Admission alone: the order in which batches enter stages, with batches that hold nothing."""

from __future__ import annotations

import pytest

from dali_lab.executor.admission import Admission


class Batch:
    """A batch as admission sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = -1
        self.busy = self.left = self.stopped = False
        self.previous: Batch | None = None
        self.next: Batch | None = None


class Log:
    """Stages that write down what happens; those in `empty` have no work."""

    def __init__(self, empty: tuple[int, ...] = ()) -> None:
        self.events: list[str] = []
        self.empty = empty

    def enter(self, batch: Batch, stage: int, /) -> bool:
        self.events.append(f"{batch.name}{stage}")
        return stage not in self.empty

    def leave(self, batch: Batch, /) -> None:
        self.events.append(f"{batch.name} left")


def _submitted(in_order: list[bool], names: str, log: Log) -> tuple[Admission[Batch], list[Batch]]:
    admission: Admission[Batch] = Admission(in_order)
    batches = [Batch(name) for name in names]
    for batch in batches:
        admission.queue(batch, log)
    admission.admit()
    return admission, batches


def test_a_batch_enters_a_stage_after_the_batch_before_it() -> None:
    log = Log()
    admission, (a, b) = _submitted([False, False], "ab", log)
    assert log.events == ["a0", "b0"]
    admission.stage_done(b)
    assert log.events == ["a0", "b0"]  # b could go on, but a has not entered stage 1
    admission.stage_done(a)
    assert log.events == ["a0", "b0", "a1", "b1"]
    admission.stage_done(b)
    admission.stage_done(a)
    assert log.events[4:] == ["b left", "a left"]


def test_a_stage_in_order_is_entered_when_the_batch_before_has_ended_it() -> None:
    log = Log()
    admission, (a, b, c) = _submitted([True, False], "abc", log)
    assert log.events == ["a0"]
    admission.stage_done(a)
    assert log.events == ["a0", "a1", "b0"]
    admission.stage_done(a)
    assert log.events == ["a0", "a1", "b0", "a left"]
    admission.stage_done(b)
    assert log.events[4:] == ["b1", "c0"]
    admission.stage_done(c)
    admission.stage_done(b)
    assert log.events[6:] == ["c1", "b left"]


def test_a_stage_without_work_is_passed_at_once() -> None:
    log = Log(empty=(0, 1))
    admission, (a,) = _submitted([False, True, False], "a", log)
    assert log.events == ["a0", "a1", "a2"]
    admission.stage_done(a)
    assert log.events[3:] == ["a left"] and a.left


def test_a_stopped_batch_enters_no_further_stage_and_holds_nobody_up() -> None:
    log = Log()
    admission, (a, b) = _submitted([False, True], "ab", log)
    admission.stage_done(b)
    a.stopped = True
    admission.stage_done(a)
    assert log.events == ["a0", "b0", "a left", "b1"]
    assert b.previous is None and a.next is None


def test_a_batch_is_admitted_once_though_an_interrupted_caller_queues_it_again() -> None:
    log = Log()
    admission, (a, b) = _submitted([False], "ab", log)
    admission.stage_done(a)
    for batch in (a, b):
        admission.queue(batch, log)
    admission.admit()
    admission.stage_done(b)
    assert log.events == ["a0", "b0", "a left", "b left"]


def test_a_closed_admission_takes_no_batch_and_tells_what_is_in_flight() -> None:
    log = Log()
    admission, (a, b) = _submitted([False], "ab", log)
    admission.stage_done(a)
    assert admission.close() == [b]
    assert admission.close() is None
    with pytest.raises(RuntimeError, match="closed"):
        admission.queue(Batch("c"), log)
    admission.stage_done(b)
    assert log.events[-1] == "b left"
