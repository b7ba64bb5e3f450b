"""A background thread that runs long jobs one after the other."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable


def attempt(work: Callable[[], None]) -> None:
    """Run a job; an error is reported like an uncaught one of a thread, but the thread goes on."""
    try:
        work()
    except Exception:  # later jobs must run in spite of this error
        kind, error, trace = sys.exc_info()
        assert kind is not None
        threading.excepthook(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))


class Jobs:
    """A thread that runs jobs in the order in which they were put."""

    def __init__(self, name: str) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, work: Callable[[], None]) -> None:
        """Queue a job."""
        with self._changed:
            self._waiting.append(work)
            self._changed.notify()

    def close(self, timeout: float = 10) -> None:
        """Drop the queued jobs, and give the running one this many seconds to end."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                work = self._waiting.popleft()
            attempt(work)
            del work  # with the request in it, while nothing else comes
