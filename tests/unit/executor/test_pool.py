"""The thread pool: what happens to tasks when it closes, and how long its threads wait."""

from __future__ import annotations

import threading
import time

import pytest

from dali_lab.executor.pool import ThreadPool
from tests.programs import LIMIT


def test_a_closed_pool_drops_what_its_own_threads_submit() -> None:
    pool = ThreadPool(1)
    began, closed, through = threading.Event(), threading.Event(), threading.Event()
    ran: list[int] = []

    def task() -> None:
        began.set()
        closed.wait(LIMIT)
        pool.submit((0,), lambda: ran.append(1))
        through.set()

    pool.submit((0,), task)
    assert began.wait(LIMIT)
    assert not pool.close(0)
    closed.set()
    assert through.wait(LIMIT), "the task was interrupted"
    assert pool.close()
    assert not ran


def test_a_closed_pool_refuses_tasks_of_others() -> None:
    pool = ThreadPool(1)
    pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit((0,), lambda: None)


def test_waiting_is_counted_and_work_is_not() -> None:
    began = time.perf_counter()
    pool = ThreadPool(1)
    waited: list[float] = []
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        waited.append(pool.waited)
        assert go_on.wait(LIMIT)
        waited.append(pool.waited)

    pool.submit((0,), work)
    pool.submit((1,), done.set)
    go_on.set()
    assert done.wait(LIMIT)
    pool.close()
    assert waited[0] == waited[1]
    assert 0 < waited[0] <= pool.waited <= time.perf_counter() - began
