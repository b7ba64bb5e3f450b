"""Idle threads help with the work of others, and each sample is done once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from dali_lab.executor.pace import Effort, Pace
from dali_lab.executor.pool import ThreadPool
from dali_lab.kernels.cpu.machine.instructions import take
from dali_lab.kernels.cpu.memory import kernel
from tests.programs import LIMIT


@kernel
def _count(taken: Any, seen: Any) -> None:
    while True:
        place = take(taken.ctypes.data)
        if place >= seen.shape[0]:
            break
        seen[place] += 1


def test_no_place_is_taken_twice() -> None:
    taken, seen = np.zeros(1, np.int64), np.zeros(2_000_000, np.int64)
    threads = [threading.Thread(target=_count, args=(taken, seen)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (seen == 1).all()


def in_pool(pool: ThreadPool, task: Any) -> Any:
    """Result of a task on a thread of the pool; raises its error."""
    result: list[Any] = []
    done = threading.Event()

    def run() -> None:
        try:
            result.append(task())
        except Exception as error:
            result.append(error)
        done.set()

    pool.submit((0,), run)
    assert done.wait(LIMIT)
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def test_idle_threads_help_until_nothing_is_left() -> None:
    pool = ThreadPool(3)
    both, helpers, calls = threading.Barrier(3, timeout=LIMIT), set(), []

    def part() -> bool:
        helpers.add(threading.get_ident())
        calls.append(1)
        if len(calls) <= 2:
            both.wait()
        return False

    try:
        in_pool(pool, lambda: pool.share(both.wait, part))
        assert len(helpers) == len(calls) == 2
        assert in_pool(pool, lambda: pool.share(lambda: None, part)) >= 0
    finally:
        pool.close()


def test_the_owner_waits_for_those_that_help() -> None:
    pool = ThreadPool(2)
    begun, ended = threading.Event(), []

    def part() -> bool:
        begun.set()
        threading.Event().wait(0.05)
        ended.append(1)
        return False

    try:
        in_pool(pool, lambda: pool.share(lambda: begun.wait(LIMIT), part))
        assert ended == [1]
    finally:
        pool.close()


def test_tasks_come_before_help() -> None:
    pool = ThreadPool(2)
    order, done = [], threading.Event()

    def part() -> bool:
        order.append("help")
        done.set()
        return False

    def work() -> None:
        done.wait(LIMIT)

    try:
        with pool._ready:
            pool._queue.append(((1,), -2, lambda: (pool.share(work, part), None)[1]))
            pool._queue.append(((2,), -1, lambda: order.append("task")))
            pool._ready.notify_all()
        assert done.wait(LIMIT)
        assert order[0] == "task"
    finally:
        pool.close()


def test_what_a_helper_raises_is_raised() -> None:
    pool = ThreadPool(2)
    begun = threading.Event()

    def part() -> bool:
        begun.set()
        raise ValueError("of the helper")

    try:
        with pytest.raises(ValueError, match="of the helper"):
            in_pool(pool, lambda: pool.share(lambda: begun.wait(LIMIT), part))
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("threads", "shared", "chunk"),
    [(2, 0.0, 32), (2, 0.95, 64), (16, 0.0, 4), (16, 0.93, 64), (16, 0.5, 8), (1, 0.0, 64)],
)
def test_what_is_shared_needs_fewer_chunks(threads: int, shared: float, chunk: int) -> None:
    pace = Pace(threads)
    pace.note(0, 64, Effort(64 * 5.5e-4, shared * 64 * 5.5e-4))
    assert pace.chunk_size(0, 64) == chunk


def test_helpers_take_about_a_millisecond_at_a_time() -> None:
    pace = Pace(2)
    assert pace.part_size(0) == 1
    pace.note(0, 64, Effort(64 * 5.5e-4))
    pace.note(1, 64, Effort(64 * 6e-5))
    assert [pace.part_size(stage) for stage in (0, 1)] == [2, 17]
