"""A pool of worker threads that takes the most urgent task first and can be closed at any time."""

from __future__ import annotations

import atexit
import heapq
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable

Task = Callable[[], None]
_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()
_interpreter_ends = threading.Event()


class ThreadPool:
    """Threads that run tasks in order of their urgency.

    Tasks must not raise: what goes wrong is theirs to keep.
    """

    def __init__(self, threads: int, name: str = "dali-lab") -> None:
        self._queue: list[tuple[tuple[int, ...], int, Task]] = []
        self._numbers = itertools.count()
        self._ready = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{index}", daemon=True) for index in range(threads)
        ]
        _pools.add(self)
        for thread in self._threads:
            thread.start()

    def submit(self, urgency: tuple[int, ...], task: Task) -> None:
        """Queue a task; smaller urgencies run first.

        When the interpreter ends, daemon threads that still run pipelines are left waiting, as it ends them anyway.

        Raises
        ------
        RuntimeError
            If the pool is closed.
        """
        with self._ready:
            if self._closed:
                if _interpreter_ends.is_set() and threading.current_thread().daemon:
                    return
                raise RuntimeError("the thread pool is closed")
            heapq.heappush(self._queue, (urgency, next(self._numbers), task))
            self._ready.notify()

    def close(self, timeout: float | None = None) -> bool:
        """Drop what has not begun, and wait for what has, for `timeout` seconds if that is given.

        Returns
        -------
        bool
            Whether all threads have ended.
        """
        with self._ready:
            self._closed = True
            self._queue.clear()
            self._ready.notify_all()
        current = threading.current_thread()
        if timeout is not None and current.name.startswith("dali-lab"):
            return False
        until = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            if thread is not current:
                thread.join(None if until is None else max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._queue and not self._closed:
                    self._ready.wait()
                if self._closed:
                    return
                _, _, task = heapq.heappop(self._queue)
            task()
            del task


@atexit.register
def _close_pools() -> None:
    """End all threads before the interpreter goes: a kernel that returns into a finalized interpreter would crash."""
    _interpreter_ends.set()
    for pool in list(_pools):
        pool.close()


if hasattr(os, "register_at_fork"):
    # A forked child has none of the threads, and must not wait for a lock that one of them held.
    os.register_at_fork(after_in_child=_pools.clear)
