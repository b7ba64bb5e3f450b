"""Waits that Ctrl-C ends whenever it comes, and that it leaves in order.

A signal that arrives in the moment before a thread begins to wait does not wake it; so it looks up now and then. The
classes of :mod:`threading` that wait take locks in Python code, where Ctrl-C leaves them locked for ever; those here
take none that another thread needs.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
import time
from collections.abc import Callable

_SECONDS = 0.5


def wait_for(wait: Callable[[float], object]) -> None:
    """Call `wait`, which takes the seconds after which it gives up, until its result is true."""
    while not wait(_SECONDS):
        pass


class Flag:
    """Something that happens once, and that threads may wait for."""

    __slots__ = ("_gate", "_set")

    def __init__(self) -> None:
        self._set = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def set(self) -> None:
        """Note that it has happened, and wake the threads that wait. Can be called again."""
        self._set = True
        self._open()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has happened, at most `timeout` seconds if given; whether it has."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._set:
            left = _SECONDS if until is None else min(_SECONDS, until - time.monotonic())
            if left <= 0:
                return False
            if self._gate.acquire(timeout=left):
                self._open()
        return True

    def _open(self) -> None:
        """Let the next thread through the gate, if it is closed."""
        with contextlib.suppress(RuntimeError):
            self._gate.release()


def undisturbed(work: Callable[[], None]) -> None:
    """Call `work` where Ctrl-C does not reach it; an interrupted caller leaves when it is done.

    Raises
    ------
    BaseException
        What `work` raises.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    done = Flag()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    interruption: BaseException | None = None
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the system has no thread left
        run()
    except BaseException as error:  # the thread has started
        interruption = error
    while not done.is_set():
        try:
            done.wait()
        except BaseException as error:
            interruption = error
    if interruption is not None:
        raise interruption
    if errors:
        raise errors[0]


class Changes:
    """Wakes threads that wait for a state of theirs as soon as somebody says that it may have changed."""

    __slots__ = ("_lock", "_next")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = Flag()

    def tell(self) -> None:
        """Say that the state has changed."""
        with self._lock:
            self._next.set()
            self._next = Flag()

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds`, which is called at once, after each change and now and then, returns a true value."""
        while True:
            change = self._next
            if holds():
                return
            change.wait(_SECONDS)
