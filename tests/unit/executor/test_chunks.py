"""Chunks on threads alone: one stage of one batch, without an engine."""

from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.chunks import ChunkRunner
from dali_lab.executor.plan import Stage
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.executor.stage_run import StageRun
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError, SampleError
from dali_lab.schema import Call
from tests.programs import LIMIT
from tests.unit.executor.stages import SOURCE, Function, chain, failing, numbers, same, step

OUT = Edge("last")


def ran(stage: Stage, size: int | None = 2, count: int = 6, *, keep_going: bool = False) -> BatchRun:
    """A batch after a stage that ran on the calling thread."""
    pool = InlinePool()
    run = BatchRun(0, count, [OUT], known={SOURCE: numbers(count)}, keep_going=keep_going)
    ended: list[StageRun] = []
    ChunkRunner(pool, 1, Calls({"last": 7}), size=size).start(run, stage, count, ended.append)
    pool.run()
    (stage_run,) = ended
    stage_run.collect()
    return run


def noting(spans: list[tuple[int, int]], function: Function = same) -> Function:
    def run(call: Call, data: Batch) -> Batch:
        spans.append((call.start, call.count))
        return function(call, data)

    return run


def test_chunks_cover_the_batch_and_are_one_batch_again() -> None:
    spans: list[tuple[int, int]] = []
    run = ran(chain(step("last", noting(spans))), size=4)
    assert spans == [(0, 4), (4, 2)]
    batch = run.values[OUT]
    assert batch.stacked()[:, 0].tolist() == [0, 1, 2, 3, 4, 5] and batch.sources == numbers(6).sources
    assert len({id(owner) for owner in batch.owners}) == 1  # one piece of memory for all chunks


def test_a_chunk_goes_through_all_steps_before_the_next_one_begins() -> None:
    order: list[str] = []

    def named(name: str) -> Function:
        def run(call: Call, data: Batch) -> Batch:
            order.append(f"{name}{call.start}")
            return same(call, data)

        return run

    ran(chain(step("first", named("a")), step("last", named("b"), Edge("first"))), size=3)
    assert order == ["a0", "b0", "a3", "b3"]


def test_intermediate_results_are_free_when_their_chunk_has_ended() -> None:
    made: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def first(call: Call, data: Batch) -> Batch:
        alive.append(sum(reference() is not None for reference in made))
        out = np.array(data.stacked())
        made.append(weakref.ref(out))
        return Batch.dense(out, data.layout)

    run = ran(chain(step("first", first), step("last", same, Edge("first"))), size=2)
    assert OUT in run.values and alive == [0, 0, 0]


def test_a_whole_stage_is_one_chunk() -> None:
    spans: list[tuple[int, int]] = []
    ran(chain(step("last", noting(spans), whole=True), whole=True), size=2)
    assert spans == [(0, 6)]


def test_calls_know_seed_batch_and_samples() -> None:
    calls: list[Call] = []

    def keep(call: Call, data: Batch) -> Batch:
        calls.append(call)
        return same(call, data)

    ran(chain(step("last", keep)), size=6)
    (call,) = calls
    assert (call.seed, call.batch_size, call.iteration, call.transient) == (7, 6, 0, False)


def test_a_failure_ends_its_chunk_and_names_sample_file_and_line() -> None:
    spans: list[tuple[int, int]] = []
    stage = chain(step("first", failing(3, error=IndexError)), step("last", noting(spans), Edge("first")))
    run = ran(stage)
    ((node, start, count, error),) = run.failures
    assert (node, start, count) == ("first", 2, 2)
    assert isinstance(error, SampleError)
    assert (error.sample, error.source, error.origin) == (3, "3.txt", "first.py:1")
    assert spans == [(0, 2), (4, 2)]  # the other chunks went on
    assert run.stopped


def test_an_error_of_python_becomes_one_that_names_the_node() -> None:
    ((*_, error),) = ran(chain(step("last", failing(0)))).failures
    assert isinstance(error, OperatorError) and error.node == "last" and "ValueError: no 0" in str(error)


def test_with_keep_going_other_samples_go_on_and_the_rest_is_missing() -> None:
    run = ran(chain(step("first", failing(3)), step("last", same, Edge("first"))), keep_going=True)
    assert run.values[OUT].stacked()[:, 0].tolist() == [0, 1, 4, 5]
    assert run.missing[OUT] == {2, 3} and not run.stopped
    assert [failure[0] for failure in run.failures] == ["first"]  # what waited for it did not fail


@pytest.mark.parametrize("keep_going", [False, True])
def test_after_a_failure_other_steps_of_the_chunk_run_only_with_keep_going(keep_going: bool) -> None:
    spans: list[tuple[int, int]] = []
    stage = chain(step("fails", failing(3)), step("last", noting(spans)))
    run = ran(stage, keep_going=keep_going)
    assert spans == ([(0, 2), (2, 2), (4, 2)] if keep_going else [(0, 2), (4, 2)])
    assert run.stopped is not keep_going
    if keep_going:
        assert run.values[OUT].stacked()[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_time_spent_on_decoding_later_is_that_of_the_decoder() -> None:
    def defers(call: Call, data: Batch) -> Batch:
        out = same(call, data)
        out.undecoded = SimpleNamespace(seconds=100.0)  # type: ignore[assignment]
        return out

    def decodes(call: Call, data: Batch) -> Batch:
        return same(call, data)

    run = ran(chain(step("decoder", defers), step("last", decodes, Edge("decoder"))), size=6)
    assert 100 <= run.seconds["decoder"] < 200 and -100 < run.seconds["last"] < 0


def test_a_known_edge_may_lack_samples() -> None:
    pool = InlinePool()
    run = BatchRun(0, 4, [OUT], known={SOURCE: numbers(4).take([0, 1, 3])}, missing={SOURCE: [2]}, keep_going=True)
    ChunkRunner(pool, 1, Calls({}), size=1).start(run, chain(step("last")), 4, StageRun.collect)
    pool.run()
    assert run.values[OUT].stacked()[:, 0].tolist() == [0, 1, 3] and run.missing[OUT] == {2}


def test_chunks_behind_a_missing_sample_take_their_own() -> None:
    pool = InlinePool()
    run = BatchRun(
        0, 6, [OUT], known={SOURCE: numbers(6).take([0, 2, 3, 4, 5])}, missing={SOURCE: [1]}, keep_going=True
    )
    ChunkRunner(pool, 1, Calls({}), size=2).start(run, chain(step("last")), 6, StageRun.collect)
    pool.run()
    assert run.values[OUT].stacked()[:, 0].tolist() == [2, 3, 4, 5] and run.missing[OUT] == {0, 1}


def test_chunks_of_two_types_are_a_failure_of_their_node() -> None:
    def mixed(call: Call, data: Batch) -> Batch:
        return Batch.dense(np.zeros((len(data), 1), np.float32 if call.start else np.uint8))

    ((node, _, _, error),) = ran(chain(step("last", mixed)), size=3).failures
    assert node == "last"
    assert isinstance(error, SampleError) and error.sample == 3
    assert "Inconsistent data: float of shape (1,) beside uint8" in str(error)


def test_a_step_that_waits_runs_again_when_all_chunks_have_noted() -> None:
    seen: list[tuple[int, list[int]]] = []

    def waiting(call: Call, data: Batch) -> Batch:
        call.note(call.start)
        seen.append((call.start, sorted(call.gathered())))
        return same(call, data)

    run = ran(chain(step("first"), step("last", waiting, Edge("first"))))
    assert sorted(seen) == [(0, [0, 2, 4]), (2, [0, 2, 4]), (4, [0, 2, 4])]
    assert len(run.values[OUT]) == 6


def test_a_cancelled_batch_begins_no_further_step() -> None:
    begun: list[int] = []

    def cancel(call: Call, data: Batch) -> Batch:
        begun.append(call.start)
        run.cancel()
        return same(call, data)

    pool = InlinePool()
    run = BatchRun(0, 6, [OUT], known={SOURCE: numbers(6)})
    ended: list[StageRun] = []
    stage = chain(step("first", cancel), step("last", cancel, Edge("first")))
    ChunkRunner(pool, 1, Calls({}), size=2).start(run, stage, 6, ended.append)
    pool.run()
    (stage_run,) = ended
    stage_run.collect()
    assert begun == [0] and run.missing[OUT] == set(range(6))


@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_done_once_however_many_threads_there_are(threads: int) -> None:
    pool = ThreadPool(threads)
    done = threading.Semaphore(0)
    run = BatchRun(0, 64, [OUT], known={SOURCE: numbers(64)})

    def end(stage_run: StageRun) -> None:
        stage_run.collect()
        done.release()

    ChunkRunner(pool, threads, Calls({}), size=1).start(run, chain(step("last")), 64, end)
    assert done.acquire(timeout=LIMIT)
    pool.close()
    assert not done.acquire(blocking=False)
    assert run.values[OUT].stacked()[:, 0].tolist() == list(range(64))
