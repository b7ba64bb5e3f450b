"""A pool of worker threads that takes the most urgent task first and can be closed at any time."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

Task = Callable[[], None]


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
        for thread in self._threads:
            thread.start()

    def submit(self, urgency: tuple[int, ...], task: Task) -> None:
        """Queue a task; smaller urgencies run first.

        Raises
        ------
        RuntimeError
            If the pool is closed.
        """
        with self._ready:
            if self._closed:
                raise RuntimeError("the thread pool is closed")
            heapq.heappush(self._queue, (urgency, next(self._numbers), task))
            self._ready.notify()

    def close(self) -> None:
        """Drop what has not begun, and wait for what has."""
        with self._ready:
            self._closed = True
            self._queue.clear()
            self._ready.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

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
