"""The contract at the head of the engine's module, sentence by sentence."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.engine import Engine
from dali_lab.executor.failures import Cancelled
from dali_lab.executor.plan import Plan
from dali_lab.executor.pool import InlinePool
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError, SampleError
from dali_lab.schema import Call
from tests.programs import LIMIT
from tests.unit.executor.stages import SOURCE, FunctionStep, chain, failing, numbers, plan, same, step

OUT = Edge("last")
COUNT = 4


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    made: list[Engine] = []
    yield made
    for engine in made:
        engine.close()


def made(engines: list[Engine], planned: Plan, **how: Any) -> Engine:
    engines.append(Engine(planned, 2, {}, **how))
    return engines[-1]


def submitted(engine: Engine, batches: int = 1, **how: Any) -> list[BatchRun]:
    return [engine.start(engine.prepare(i, COUNT, known={SOURCE: numbers(COUNT)}, **how)) for i in range(batches)]


def two_stages(first: Any = same, second: Any = same, *, in_order: bool = False) -> Plan:
    return plan(
        chain(step("first", first, in_order=in_order)),
        chain(step("last", second, Edge("first"), whole=True), whole=True),
        outputs=["last"],
    )


# 1. Order


def test_what_was_drawn_is_counted_in_the_order_of_batches(engines: list[Engine]) -> None:
    seen: dict[int, set[int]] = {}

    def drawing(call: Call, data: Batch) -> Batch:
        seen.setdefault(call.iteration, set()).add(call.drawn_before)
        return same(call, data)

    engine = made(engines, two_stages(drawing, drawing), chunk=1)
    runs = submitted(engine, 5)
    assert all(run.wait(LIMIT) for run in runs)
    assert seen == {i: {i * COUNT} for i in range(5)}
    assert runs[2].drawn_after == {"first": 3 * COUNT, "last": 3 * COUNT}


def test_an_operator_in_order_sees_one_batch_after_the_other(engines: list[Engine]) -> None:
    order: list[int] = []

    def slow_at_first(call: Call, data: Batch) -> Batch:
        threading.Event().wait(0.05 if call.iteration == 0 else 0)
        order.append(call.iteration)
        return same(call, data)

    engine = made(engines, two_stages(slow_at_first, in_order=True), chunk=COUNT)
    assert all(run.wait(LIMIT) for run in submitted(engine, 4))
    assert order == [0, 1, 2, 3]


def test_a_batch_is_finished_before_its_callback_is_called_once(engines: list[Engine]) -> None:
    told: list[bool] = []
    engine = made(engines, two_stages())
    (run,) = submitted(engine, callback=lambda run: told.append(run.finished.is_set()))
    run.wait(LIMIT)
    engine.close()
    assert told == [True]


# 2. An operator fails


def test_other_chunks_end_the_stage_and_no_further_stage_is_entered(engines: list[Engine]) -> None:
    entered: list[int] = []

    def noting(call: Call, data: Batch) -> Batch:
        entered.append(call.iteration)
        return same(call, data)

    engine = made(engines, two_stages(failing(1, 3), noting), chunk=1)
    (run,) = submitted(engine)
    assert run.wait(LIMIT)
    assert sorted(failure[1] for failure in run.failures) == [1, 3]
    assert not entered and engine.drawn["first"] == COUNT and engine.drawn["last"] == 0


def test_the_failure_of_the_first_sample_is_raised_whichever_came_first(engines: list[Engine]) -> None:
    later = threading.Event()

    def last_sample_first(call: Call, data: Batch) -> Batch:
        if call.start == 2:
            later.set()
            raise call.problem("too late", sample=0)
        if call.start == 1:
            later.wait(LIMIT)
            raise call.problem("bad", sample=0)
        return same(call, data)

    engine = made(engines, two_stages(last_sample_first), chunk=1)
    (run,) = submitted(engine)
    run.wait(LIMIT)
    with pytest.raises(SampleError, match=r"node 'first'\), sample 1: bad\n  file: 1.txt\n  placed at: first.py:1"):
        run.outputs()


@pytest.mark.parametrize("whole", [False, True])
def test_a_function_that_would_end_the_program_ends_no_thread(engines: list[Engine], whole: bool) -> None:
    def leaving(call: Call, data: Batch) -> Batch:
        if call.iteration < 4:
            raise SystemExit(3)
        return same(call, data)

    engine = made(engines, two_stages(*([same, leaving] if whole else [leaving, same])), chunk=1)
    *ended, last = submitted(engine, 5)
    for run in ended:
        assert run.wait(LIMIT)
        with pytest.raises(OperatorError, match="SystemExit: 3"):
            run.outputs()
    assert last.wait(LIMIT) and len(last.outputs()[0]) == COUNT


def test_an_interrupted_caller_that_runs_the_tasks_itself_is_told(engines: list[Engine]) -> None:
    def interrupted(call: Call, data: Batch) -> Batch:
        raise KeyboardInterrupt

    pool = InlinePool()
    engine = made(engines, two_stages(interrupted), pool=pool)
    (run,) = submitted(engine)
    pool.run()
    with pytest.raises(KeyboardInterrupt):
        run.outputs()


def test_a_stage_that_cannot_begin_fails_its_batch_alone(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = made(engines, two_stages())
    monkeypatch.setattr("dali_lab.executor.chunks.StageRun", lambda *arguments: _raise(MemoryError("none left")))
    failed = submitted(engine, 3)
    assert all(run.wait(LIMIT) for run in failed)
    with pytest.raises(MemoryError, match="none left"):
        failed[0].outputs()
    monkeypatch.undo()
    (run,) = submitted(engine)
    assert run.wait(LIMIT) and len(run.outputs()[0]) == COUNT


def _raise(error: Exception) -> None:
    raise error


def test_batches_before_and_after_a_failure_run(engines: list[Engine]) -> None:
    def second_batch(call: Call, data: Batch) -> Batch:
        if call.iteration == 1:
            raise ValueError("this one")
        return same(call, data)

    engine = made(engines, two_stages(second_batch))
    before, failed, after = submitted(engine, 3)
    assert after.wait(LIMIT) and before.outputs()[0].stacked()[:, 0].tolist() == [0, 1, 2, 3]
    with pytest.raises(OperatorError, match="this one"):
        failed.outputs()
    assert len(after.outputs()[0]) == COUNT
    (new,) = submitted(engine)
    assert new.wait(LIMIT) and len(new.outputs()[0]) == COUNT
    assert engine.drawn == {"first": 4 * COUNT, "last": 3 * COUNT}


def test_chunks_that_differ_are_a_failure_of_their_node(engines: list[Engine]) -> None:
    def mixed(call: Call, data: Batch) -> Batch:
        return Batch.dense(np.zeros((len(data), 1), np.float32 if call.start else np.uint8))

    engine = made(engines, two_stages(mixed), chunk=2)
    (run,) = submitted(engine)
    run.wait(LIMIT)
    with pytest.raises(SampleError, match=r"node 'first'.*sample 2"):
        run.outputs()


# 4. With `keep_going`


def test_with_keep_going_all_stages_run_on_the_samples_that_are_there(engines: list[Engine]) -> None:
    planned = plan(
        chain(step("first", failing(2))),
        chain(step("last", same, Edge("first"))),
        chain(step("aside")),
        outputs=["last", "aside"],
    )
    engine = made(engines, planned, chunk=1, keep_going=True)
    (run,) = submitted(engine)
    run.wait(LIMIT)
    assert run.values[OUT].stacked()[:, 0].tolist() == [0, 1, 3] and run.missing[OUT] == {2}
    assert len(run.values[Edge("aside")]) == COUNT
    assert [(node, start) for node, start, *_ in run.failures] == [("first", 2)]


# 5. Cancelling


def test_a_cancelled_batch_says_so_unless_something_failed_before(engines: list[Engine]) -> None:
    begun, go = threading.Event(), threading.Event()

    def held(call: Call, data: Batch) -> Batch:
        begun.set()
        go.wait(LIMIT)
        return same(call, data)

    engine = made(engines, two_stages(held), chunk=COUNT)
    (run,) = submitted(engine)
    assert begun.wait(LIMIT)
    run.cancel()
    assert not run.wait(0.05)  # not before its call has returned
    go.set()
    assert run.wait(LIMIT)
    with pytest.raises(Cancelled):
        run.outputs()
    assert engine.drawn["last"] == 0


def test_closing_finishes_all_batches_and_closes_operators_when_no_thread_runs_them() -> None:
    begun, go = threading.Event(), threading.Event()

    def held(call: Call, data: Batch) -> Batch:
        begun.set()
        go.wait(LIMIT)
        return same(call, data)

    planned = two_stages(held)
    engine = Engine(planned, 1, {}, chunk=COUNT)
    runs = submitted(engine, 3)
    assert begun.wait(LIMIT)
    engine.close(0.05)
    assert all(run.finished.is_set() for run in runs)
    for run in runs:
        with pytest.raises(Cancelled):
            run.outputs()
    operator = planned.stages[0].steps[0].operator
    assert isinstance(operator, FunctionStep) and operator.closed == 0  # its call has not returned
    with pytest.raises(RuntimeError, match="closed"):
        submitted(engine)
    go.set()
    engine.close()
    planned = two_stages()
    engine = Engine(planned, 1, {})
    for _ in range(2):
        engine.close()
    assert [step.operator.closed for step in planned.steps() if isinstance(step.operator, FunctionStep)] == [1, 1]


def test_an_engine_goes_at_once_when_it_is_dropped(engines: list[Engine]) -> None:
    engine = Engine(two_stages(), 1, {}, memory=True)
    (run,) = submitted(engine)
    assert run.wait(LIMIT)
    engine.close()
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_closing_an_engine_whose_threads_end_closes_its_operators(timeout: float | None) -> None:
    planned = two_stages()
    engine = Engine(planned, 1, {})
    engine.close(timeout)
    operators = [step.operator for stage in planned.stages for step in stage.steps]
    assert operators and all(isinstance(each, FunctionStep) and each.closed == 1 for each in operators)
