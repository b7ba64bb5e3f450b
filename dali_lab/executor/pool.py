"""Pool of worker threads that runs the most urgent task first and can be closed at any time."""

from __future__ import annotations

import atexit
import contextvars
import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable

from dali_lab.model import buffers
from dali_lab.model.lifetime import ended_at_exit

Task = Callable[[], None]
Part = Callable[[], bool]
"""Runs one unit of shared work; returns whether units remain."""
_interpreter_ends = threading.Event()


class _Shared:
    """Work that one thread offers to idle threads; `seconds` is the CPU time they spent on it."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.helpers = 0
        self.seconds = 0.0
        self.error: BaseException | None = None

    def help(self) -> bool:
        """Run one unit; returns whether units remain."""
        began = time.thread_time()
        try:
            return self.part()
        except BaseException as error:  # raised by the thread that offered the work
            self.error = error
            return False
        finally:
            self.seconds += time.thread_time() - began


class ThreadPool:
    """Threads that run tasks in order of urgency, and help each other when idle.

    They run in copies of the context that the pool is made in.

    Tasks must not raise: they keep their own errors.

    Attributes
    ----------
    waited
        Seconds that the threads have waited for work, all together; those that still wait are not in it.
    """

    def __init__(self, threads: int, name: str = "dali-lab") -> None:
        # Before the threads: a process that is forked while one of them imports Numba could not import it any more.
        import dali_lab.kernels.cpu.memory  # noqa: F401

        self._queue: list[tuple[tuple[int, ...], int, Task]] = []
        self._offered: list[_Shared] = []
        self._numbers = itertools.count()
        # Ctrl-C in a method of a condition would leave the lock locked; callers take the lock itself.
        self._lock = lock = threading.Lock()
        self._ready, self._helped = threading.Condition(lock), threading.Condition(lock)
        self._closed = False
        self.waited = 0.0
        self._threads: list[threading.Thread] = []
        _pools.add(self)
        buffers.keep_for(self)
        for index in range(threads):
            thread = threading.Thread(
                target=contextvars.copy_context().run, args=(self._work,), name=f"{name}-{index}", daemon=True
            )
            with lock:  # the interpreter may be exiting, and then joins the threads that have started
                if self._closed:
                    return
                thread.start()
                self._threads.append(thread)

    def submit(self, urgency: tuple[int, ...], task: Task) -> None:
        """Queue a task; smaller urgencies run first.

        A closed pool drops what its own threads submit, as it drops the tasks that wait. When the interpreter exits,
        daemon threads that still run pipelines are left waiting, as it ends them anyway.

        Raises
        ------
        RuntimeError
            If the pool is closed, to other threads.
        """
        with self._lock:
            if self._closed:
                current = threading.current_thread()
                if current in self._threads or (_interpreter_ends.is_set() and current.daemon):
                    return
                raise RuntimeError("the thread pool is closed")
            heapq.heappush(self._queue, (urgency, next(self._numbers), task))
            self._ready.notify()

    def share(self, work: Callable[[], object], part: Part) -> float:
        """Run `work`, with idle threads running `part` meanwhile, until no units remain.

        Returns
        -------
        float
            Seconds of CPU time that the other threads spent on it.

        Raises
        ------
        BaseException
            The error that `part` raised.
        """
        shared = _Shared(part)
        with self._ready:
            self._offered.append(shared)
            self._ready.notify(len(self._threads))
        try:
            work()
        finally:
            with self._ready:
                self._withdraw(shared)
                while shared.helpers:
                    self._helped.wait()
        if shared.error is not None:
            raise shared.error
        return shared.seconds

    def close(self, timeout: float | None = None) -> bool:
        """Drop the tasks that have not begun, and wait for the others, at most `timeout` seconds if given.

        Returns
        -------
        bool
            Whether all threads have ended.
        """
        with self._ready:
            self._closed = True
            self._queue.clear()
            self._ready.notify_all()
        buffers.release(self)
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
                began = time.perf_counter()
                while not self._queue and not self._offered and not self._closed:
                    self._ready.wait()
                self.waited += time.perf_counter() - began
                if self._closed:
                    return
                shared = None if self._queue else self._offered[0]
                if shared is None:
                    _, _, task = heapq.heappop(self._queue)
                else:
                    shared.helpers += 1
            if shared is None:
                task()
                del task
            else:
                self._help(shared)

    def _help(self, shared: _Shared) -> None:
        more = shared.help()
        with self._ready:
            shared.helpers -= 1
            if not more:
                self._withdraw(shared)
            if not shared.helpers:
                self._helped.notify_all()

    def _withdraw(self, shared: _Shared) -> None:
        """Stop offering this work; lock held."""
        if shared in self._offered:
            self._offered.remove(shared)


class InlinePool:
    """Runs tasks on the calling thread, one after the other; it never waits for them."""

    waited = 0.0

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()
        buffers.keep_for(self)

    def submit(self, urgency: tuple[int, ...], task: Task) -> None:
        """Add a task; they run in the order of submission."""
        self._tasks.append(task)

    def share(self, work: Callable[[], object], part: Part) -> float:
        """Run `work`: there is no other thread to share it with."""
        work()
        return 0.0

    def run(self) -> None:
        """Run the tasks, and those that they add."""
        while self._tasks:
            self._tasks.popleft()()

    def close(self, timeout: float | None = None) -> bool:
        """Drop the tasks."""
        self._tasks.clear()
        buffers.release(self)
        return True


_pools = ended_at_exit(ThreadPool.close)
"""Their threads end before the interpreter does: a kernel that returns into a finalized interpreter would crash."""
atexit.register(_interpreter_ends.set)  # called first
