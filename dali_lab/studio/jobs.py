"""Work that takes long, one piece after the other, on a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


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
            work()
