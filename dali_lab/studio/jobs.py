"""Work that takes long, one piece after the other, on a thread of its own."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable


def attempt(work: Callable[[], None]) -> None:
    """Do a piece of work; an error in it is reported as one that ends a thread, and ends none."""
    try:
        work()
    except Exception:  # whoever waits for the work after this one has no part in it
        kind, error, trace = sys.exc_info()
        assert kind is not None
        threading.excepthook(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))


class Jobs:
    """A thread that works in the order of what it is given."""

    def __init__(self, name: str) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, work: Callable[[], None]) -> None:
        """Work to be done after what was given before."""
        with self._changed:
            self._waiting.append(work)
            self._changed.notify()

    def close(self, timeout: float = 10) -> None:
        """Forget what waits, and give what is at work this many seconds to end."""
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
