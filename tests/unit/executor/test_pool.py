"""The thread pool: what happens to tasks when it closes."""

from __future__ import annotations

import threading

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
