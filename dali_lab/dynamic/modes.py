"""When operators run, and on how many threads."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from enum import Enum
from typing import Any, ClassVar, Protocol, Self

from dali_lab.executor.pool import ThreadPool


class Pending(Protocol):
    """A call that has not run yet."""

    def evaluate(self) -> object:
        """Run it, with all that it waits for."""


class EvalMode(Enum):
    """Time at which operators run; as a context manager, for calls inside.

    Attributes
    ----------
    deferred
        When their results are needed, with all that they wait for, as one graph.
    eager, default
        When they are called.
    sync_cpu, sync_full
        As `eager`: operators have ended when their calls return.
    """

    deferred = 1
    eager = 2
    sync_cpu = 3
    sync_full = 4
    default = eager

    def __enter__(self) -> Self:
        _local.modes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _local.modes.pop()

    @staticmethod
    def current() -> EvalMode:
        """The innermost mode that is entered."""
        return _local.modes[-1]


class EvalContext:
    """Threads that operators run on; as a context manager, for calls inside.

    Parameters
    ----------
    num_threads
        By default as :func:`set_num_threads` says, or as many as there are processors.
    device_id
        Number of the GPU for operators that are placed on one.
    """

    checkpoint: ClassVar[Any]
    """The states that this context keeps; :mod:`dali_lab.dynamic.checkpoint` makes the property."""

    def __init__(self, *, num_threads: int | None = None, device_id: int | None = None) -> None:
        if num_threads is not None and num_threads < 1:
            raise ValueError(f"num_threads must be at least 1, got {num_threads}")
        self._threads = num_threads
        self._pool: ThreadPool | None = None
        self._made_for = (0, 0)
        self.device_id = device_id
        self._waiting: weakref.WeakSet[Pending] = weakref.WeakSet()

    @staticmethod
    def current() -> EvalContext:
        """The innermost context that is entered, or the default one."""
        return _local.contexts[-1] if _local.contexts else _default

    @staticmethod
    def default() -> EvalContext:
        """The context where none is entered."""
        return _default

    @property
    def num_threads(self) -> int:
        """Number of threads."""
        return self._threads or get_num_threads()

    @property
    def cuda_stream(self) -> None:
        """Streams are the executor's own."""
        return None

    @property
    def pool(self) -> ThreadPool:
        """The threads, started when they are first asked for, and anew in a process that was forked."""
        with _lock:
            wanted = (os.getpid(), self.num_threads)
            if self._pool is None or self._made_for != wanted:
                if self._pool is not None and self._made_for[0] == wanted[0]:
                    self._pool.close(0)
                self._pool, self._made_for = ThreadPool(self.num_threads, "dali-lab-dynamic"), wanted
            return self._pool

    def evaluate_all(self) -> None:
        """Run all that was called here in deferred mode and is still of use to somebody."""
        for outcome in list(self._waiting):
            outcome.evaluate()

    def remember(self, outcome: Pending) -> None:
        """Note what :meth:`evaluate_all` is to run."""
        self._waiting.add(outcome)

    def __enter__(self) -> Self:
        _local.contexts.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _local.contexts.pop()
        self.evaluate_all()


class _Local(threading.local):
    def __init__(self) -> None:
        self.modes: list[EvalMode] = [EvalMode.default]
        self.contexts: list[EvalContext] = []


_local = _Local()
_lock = threading.Lock()
_threads: int | None = None
_default = EvalContext()


def get_num_threads() -> int:
    """Threads of contexts without a number: as set, else DALI_NUM_THREADS, else one for each processor."""
    return _threads or int(os.environ.get("DALI_NUM_THREADS", 0)) or _processors()


@functools.cache
def _processors() -> int:
    return os.cpu_count() or 1


def set_num_threads(n: int | None) -> None:
    """Set the number of threads of contexts that were not given one; `None` leaves it to :func:`get_num_threads`.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is less than 1, or more than 100 for each processor.
    """
    global _threads
    if n is not None and not isinstance(n, int):
        raise TypeError(f"the number of threads must be an integer, got {n!r}")
    if n is not None and not 1 <= n <= 100 * _processors():
        raise ValueError(f"the number of threads must be at least 1, and at most 100 for each processor, got {n}")
    _threads = n
