"""Times at which operators run, and the threads that they run on."""

from __future__ import annotations

import os
import threading
import weakref
from enum import Enum
from typing import Any, ClassVar, Protocol, Self, SupportsIndex

from dali_lab.dynamic import kept_calls
from dali_lab.dynamic.streams import Stream, get_current_stream, stream
from dali_lab.executor.pool import ThreadPool as Workers
from dali_lab.model.system import usable_cores


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


class ThreadPool:
    """Threads that operators run on, for the contexts that it is given to: ``EvalContext(thread_pool=pool)``.

    Parameters
    ----------
    num_threads
        By default as :func:`get_num_threads` says.
    device_id
        Number of the GPU of those contexts.

    Raises
    ------
    TypeError
        If the number of threads is no integer.
    ValueError
        If it is less than 1.
    """

    def __init__(self, num_threads: int | None = None, *, device_id: int | None = None) -> None:
        if num_threads is None:
            num_threads = get_num_threads()
        if not isinstance(num_threads, SupportsIndex):
            raise TypeError(f"num_threads must be an integer, got {num_threads!r:.60}")
        if num_threads.__index__() < 1:
            raise ValueError(f"num_threads must be at least 1, got {num_threads}")
        self._count = num_threads.__index__()
        self._device_id = device_id
        self._workers: Workers | None = None
        self._process = 0

    @property
    def num_threads(self) -> int:
        """Number of threads."""
        return self._count

    @property
    def device_id(self) -> int | None:
        """Number of the GPU, as it was given."""
        return self._device_id

    @property
    def workers(self) -> Workers:
        """The threads, started when they are first asked for, and anew in a process that was forked."""
        with _lock:
            if self._workers is None or self._process != os.getpid():
                self._workers, self._process = Workers(self._count, "dali-lab-dynamic"), os.getpid()
            return self._workers

    def close(self) -> None:
        """End the threads; they start anew when they are asked for."""
        with _lock:
            if self._workers is not None and self._process == os.getpid():
                self._workers.close(0)
            self._workers = None


class EvalContext:
    """Threads that operators run on; as a context manager, for calls inside, of one thread at a time.

    Parameters
    ----------
    num_threads
        By default as :func:`set_num_threads` says, or as many as there are processors.
    device_id
        Number of the GPU for operators that are placed on one.
    cuda_stream
        A stream for :attr:`cuda_stream`.
    thread_pool
        The threads, which several contexts can share; in place of `num_threads`.

    Raises
    ------
    TypeError
        If `thread_pool` is something else.
    ValueError
        If it is given together with `num_threads`, or is for another GPU.
    """

    checkpoint: ClassVar[Any]
    """The states that this context keeps; :mod:`dali_lab.dynamic.checkpoint` makes the property."""

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
        thread_pool: ThreadPool | None = None,
    ) -> None:
        if thread_pool is not None:
            if not isinstance(thread_pool, ThreadPool):
                raise TypeError(f"thread_pool must be a ThreadPool, got {type(thread_pool).__name__}")
            if num_threads is not None:
                raise ValueError("`thread_pool` and `num_threads` cannot be specified together.")
            if None not in (device_id, thread_pool.device_id) and device_id != thread_pool.device_id:
                raise ValueError(
                    f"Device ID clash: device_id == {device_id} but thread_pool.device_id == {thread_pool.device_id}"
                )
        elif num_threads is not None:
            thread_pool = ThreadPool(num_threads, device_id=device_id)
        self._thread_pool = thread_pool
        self._entered = 0
        self._active = threading.RLock()
        self.device_id = device_id
        self._stream = stream(stream=cuda_stream, device_id=device_id)
        self._waiting: weakref.WeakSet[Pending] = weakref.WeakSet()
        self._invocations: list[Any] = []

    @staticmethod
    def current() -> EvalContext:
        """The innermost context that is entered, or the default one."""
        return _local.contexts[-1] if _local.contexts else _default

    @staticmethod
    def default() -> EvalContext:
        """The context where none is entered."""
        return _default

    @staticmethod
    def _purge_operator_cache() -> None:
        kept_calls.clear()

    @property
    def num_threads(self) -> int:
        """Number of threads."""
        return get_num_threads() if self._thread_pool is None else self._thread_pool.num_threads

    @property
    def thread_pool(self) -> ThreadPool:
        """The threads: those that were given, else as many as :func:`get_num_threads` says now."""
        return self._thread_pool or default_thread_pool(self.device_id)

    @property
    def cuda_stream(self) -> Stream | None:
        """The stream that was given, else the current one; operators run on the executor's own."""
        return self._stream or get_current_stream()

    @property
    def pool(self) -> Workers:
        """The running threads of :attr:`thread_pool`."""
        return self.thread_pool.workers

    def evaluate_all(self) -> None:
        """Run all that was called here in deferred mode and is still of use to somebody."""
        for outcome in list(self._waiting):
            outcome.evaluate()
        invocations, self._invocations = self._invocations, []
        for invocation in invocations:
            if (found := invocation()) is not None:
                found.run(self)

    def remember(self, outcome: Pending) -> None:
        """Note what :meth:`evaluate_all` is to run."""
        self._waiting.add(outcome)

    def _add_invocation(self, invocation: Any, weak: bool = True) -> None:
        """NVIDIA DALI's private name, for what has a method ``run``; a weak one is run only if somebody holds it."""
        self._invocations.append(weakref.ref(invocation) if weak else lambda: invocation)

    def cache_results(self, invocation: object, results: object) -> None:
        """Nothing: results are kept by those who hold them."""

    def forget(self, outcome: Pending) -> None:
        """Drop an outcome: it runs only where its holder asks for it."""
        self._waiting.discard(outcome)

    def __enter__(self) -> Self:
        if not self._active.acquire(blocking=False):
            raise RuntimeError("An EvalContext cannot be active in two threads simultaneously; make one for each")
        _local.contexts.append(self)
        self._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        _local.contexts.pop()
        self._entered -= 1
        try:
            if not self._entered:
                self.evaluate_all()
        finally:
            self._active.release()


class _Local(threading.local):
    def __init__(self) -> None:
        self.modes: list[EvalMode] = [EvalMode.default]
        self.contexts: list[EvalContext] = []


_local = _Local()
_lock = threading.Lock()
_threads: int | None = None
_default = EvalContext()
_default_pools: dict[tuple[int | None, int], ThreadPool] = {}


def default_thread_pool(device_id: int | None = None) -> ThreadPool:
    """The threads that contexts share which have none of their own: one pool for each GPU and number of threads.

    Pools of other numbers stay, as other contexts may be running on them.
    """
    with _lock:
        count = get_num_threads()
        return _default_pools.setdefault((device_id, count), ThreadPool(count, device_id=device_id))


def get_num_threads() -> int:
    """Threads of contexts without a number: as set, else DALI_NUM_THREADS, else one for each processor."""
    return _threads or int(os.environ.get("DALI_NUM_THREADS", 0)) or usable_cores()


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
        raise TypeError(f"The number of threads must be an integer, got {n!r}")
    if n is not None and n < 1:
        raise ValueError(f"The number of threads must be positive; got {n}.")
    if n is not None and n > 100 * usable_cores():
        raise ValueError(f"the number of threads must be at most 100 for each processor, got {n}")
    _threads = n
