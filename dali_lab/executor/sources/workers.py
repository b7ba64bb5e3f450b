"""Worker processes for parallel external sources: batches come back through shared memory, without a copy."""

from __future__ import annotations

import contextlib
import functools
import itertools
import mmap
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.executor.sources.inputs import PythonInput
from dali_lab.executor.sources.worker_process import Answer, Column, work
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.model.errors import ArgumentError, OperatorError
from dali_lab.model.waiting import undisturbed
from dali_lab.schema.external import External, PythonSource, Request


class _Lease:
    """Keeps one block of a worker's shared memory in use while a batch over it lives."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: npt.NDArray[np.uint8]) -> None:
        self.memory = memory


@dataclass(eq=False)
class _Worker:
    process: Any
    connection: Connection
    blocks: dict[int, npt.NDArray[np.uint8]] = field(default_factory=dict)
    free: deque[int] = field(default_factory=deque)


@dataclass
class _Job:
    """One batch in flight: its tasks with the samples ``(start, stop)`` of each, and their answers.

    `number` is that of the batch among all that its source gives.
    """

    tasks: list[int]
    number: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)
    answers: dict[int, tuple[_Worker, Answer]] = field(default_factory=dict)


class WorkerPool:
    """Processes that run the sources of one pipeline.

    Parameters
    ----------
    sources
        Declarations of the sources.
    count
        Number of processes.
    method
        ``"fork"``, ``"spawn"`` or ``"forkserver"``.
    pickler
        Module with ``dumps`` and ``loads`` for what gives the data of a source, or a tuple of it and keyword arguments
        of both.
    batch_size
        Largest number of samples in a batch.

    Raises
    ------
    ArgumentError
        If worker processes cannot be used.
    """

    def __init__(self, sources: Sequence[External], count: int, method: str, pickler: Any, batch_size: int) -> None:
        if not isinstance(count, int) or count < 1:
            raise ArgumentError(
                "The external source cannot run in parallel mode without Python workers pool: fn.external_source("
                f"parallel=True) needs at least one worker process, got {count!r}",
                argument="py_num_workers",
            )
        if method not in multiprocessing.get_all_start_methods():
            raise ArgumentError(f"{method!r} cannot be used on this system; use 'spawn'", argument="py_start_method")
        context: Any = multiprocessing.get_context(method)
        self._sources = [replace(source, cuda_stream=None) for source in sources]
        self._batch_size = batch_size
        payload = (self._sources, [], None) if method == "fork" else _packed(self._sources, pickler)
        self.workers: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _end, self.workers, os.getpid())
        self._numbers = itertools.count()
        self._jobs: dict[int, _Job] = {}
        self._broken: OperatorError | None = None
        ours: list[Connection] = []
        for index in range(count):
            here, there = multiprocessing.Pipe()
            ours.append(here)
            process = context.Process(
                target=work,
                args=(there, *payload, os.getpid(), ours if method == "fork" else []),
                name=f"dali-lab-worker-{index}",
                daemon=True,
            )
            process.start()
            there.close()
            self.workers.append(_Worker(process, here))

    def open(self, external: External, *, tolerant: bool = False) -> ParallelInput:
        """The source of a declaration that the pool was made for."""
        index = [source.node for source in self._sources].index(external.node)
        return ParallelInput(external, self, index, self._batch_size, tolerant=tolerant)

    def shared_memory(self) -> list[int]:
        """Bytes of each block of shared memory that workers hold."""
        return [memory.nbytes for worker in self.workers for memory in worker.blocks.values()]

    def pids(self) -> list[int]:
        """Numbers of the processes."""
        return [worker.process.pid for worker in self.workers]

    @property
    def pool(self) -> Any:
        """A stand-in for NVIDIA DALI's pool, for programs that look at its processes and its observer, an ended one."""
        processes = [worker.process for worker in self.workers]
        return SimpleNamespace(_processes=processes, _observer=SimpleNamespace(thread=threading.Thread()))

    def close(self) -> None:
        """End the processes. Can be called again."""
        self._finalizer()

    def submit(self, requests: Sequence[tuple[int, int, Request]]) -> _Job:
        """Start a batch: for each part of it the worker, the number of the source, and the request."""
        job = _Job([])
        for worker_index, source, request in requests:
            worker = self.workers[worker_index % len(self.workers)]
            number = next(self._numbers)
            job.tasks.append(number)
            job.spans.append((request.start, request.stop))
            self._jobs[number] = job
            released = [worker.free.popleft() for _ in range(len(worker.free))]
            try:
                worker.connection.send((number, source, request, released))
            except (BrokenPipeError, OSError):
                self._fail(worker)
        return job

    def forget(self, job: _Job) -> None:
        """Give up a batch; late answers are dropped."""
        for number in job.tasks:
            self._jobs.pop(number, None)
        for worker, answer in job.answers.values():
            self._release(worker, answer)

    def wait(self, job: _Job) -> list[tuple[_Worker, Answer]]:
        """The answers of all parts of a batch, in order.

        Raises
        ------
        OperatorError
            If a worker process has died.
        """
        while len(job.answers) < len(job.tasks):
            if self._broken is not None:
                raise self._broken
            by_handle: dict[Any, _Worker] = {}
            for worker in self.workers:
                by_handle[worker.connection] = worker
                by_handle[worker.process.sentinel] = worker
            ready = multiprocessing.connection.wait(list(by_handle))
            # Anything a process sent before it died is read first.
            for handle in sorted(ready, key=lambda found: not isinstance(found, Connection)):
                worker = by_handle[handle]
                if isinstance(handle, Connection) or worker.connection.poll():
                    undisturbed(functools.partial(self._receive, worker))
                else:
                    self._fail(worker)
        return [job.answers[number] for number in job.tasks]

    def _receive(self, worker: _Worker) -> None:
        try:
            answer: Answer = worker.connection.recv()
            if answer.new_block:
                self._attach(worker, answer)
        except (EOFError, ConnectionError, OSError):
            self._fail(worker)
            return
        for block in answer.dropped:
            worker.blocks.pop(block, None)
        job = self._jobs.pop(answer.task, None)
        if job is None:
            self._release(worker, answer)
        else:
            job.answers[answer.task] = (worker, answer)

    def _attach(self, worker: _Worker, answer: Answer) -> None:
        with socket.fromfd(worker.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            _, handles, _, _ = socket.recv_fds(channel, 1, 1)
        if not handles:
            raise EOFError
        handle = handles[0]
        try:
            mapped = mmap.mmap(handle, answer.block_size)
        finally:
            os.close(handle)
        worker.blocks[answer.block] = np.frombuffer(mapped, np.uint8)

    def _release(self, worker: _Worker, answer: Answer) -> None:
        if answer.block >= 0:
            worker.free.append(answer.block)

    def _fail(self, worker: _Worker) -> None:
        worker.process.join(1)
        code = worker.process.exitcode
        how = f"with exit code {code}"
        if code is not None and code < 0:
            how = f"killed by signal {-code} ({signal.Signals(-code).name})"
        self._broken = OperatorError(
            f"a worker process of a parallel source (process {worker.process.pid}) has ended unexpectedly, {how};"
            " the pipeline has to be built again"
        )

    def batches(self, found: Sequence[tuple[_Worker, Answer]]) -> list[Batch]:
        """The outputs of a batch, from the parts that have no error."""
        parts: list[list[Batch]] = []
        for worker, answer in found:
            lease, base = None, 0
            if answer.block >= 0:
                memory = worker.blocks[answer.block]
                lease, base = _Lease(memory), int(memory.ctypes.data)
                weakref.finalize(lease, worker.free.append, answer.block).atexit = False
            parts.append([_column(column, lease, base) for column in answer.columns])
        return [Batch.concat(list(columns)) for columns in zip(*parts, strict=True)]


def _column(column: Column, lease: _Lease | None, base: int) -> Batch:
    dtype = DALIDataType(column.dtype)
    shapes = np.array(column.shapes, np.int64).reshape(len(column.shapes), column.ndim)
    sizes = shapes.prod(axis=1) * numpy_dtype(dtype).itemsize
    if column.data is not None:
        memory = np.frombuffer(column.data, np.uint8)
        owner: Any = memory
        base = int(memory.ctypes.data) if memory.size else 0
    else:
        owner = lease
    addresses = base + column.offset + np.cumsum(sizes) - sizes
    return Batch(addresses, shapes, dtype, column.layout, (owner,) if owner is not None else ())


def _packed(sources: list[External], pickler: object) -> tuple[list[External], list[bytes], Any]:
    """Sources for a fresh interpreter: without their Python objects, these pickled, and how to unpickle each."""
    from dali_lab.executor.sources import pickling

    module: Any = pickling
    dump_options: dict[str, Any] = {}
    load_options: dict[str, Any] = {}
    if isinstance(pickler, tuple):
        module = pickler[0]
        dump_options = pickler[1] if len(pickler) > 1 else {}
        load_options = pickler[2] if len(pickler) > 2 else {}
    elif pickler is not None:
        module = pickler
    try:
        packed = [module.dumps(each.source and each.source.source, **dump_options) for each in sources]
        bare = [replace(each, source=each.source and replace(each.source, source=None)) for each in sources]
        return bare, packed, (module.loads, load_options)
    except Exception as error:  # a pickler, especially the user's, may raise anything
        raise ArgumentError(
            f"cannot be sent to a process that is started afresh: {error}. Define it at the top level of a module,"
            " use py_start_method='fork', or give py_callback_pickler a module such as dill.",
            argument="source",
            operator="external_source",
        ) from error


def _taken(answer: Answer) -> BaseException:
    """The error of an answer, which keeps it no longer: raised, it holds on to all that knows the answer."""
    error, answer.error = answer.error, None
    assert error is not None
    return error


def _end(workers: list[_Worker], pid: int) -> None:
    if os.getpid() != pid:
        return
    for worker in workers:
        with contextlib.suppress(OSError, ValueError):  # it may have ended already
            worker.connection.send(None)
    _join(workers)
    for end in (BaseProcess.terminate, BaseProcess.kill):
        for worker in workers:
            end(worker.process)
        _join(workers)
    for worker in workers:
        worker.connection.close()


def _join(workers: list[_Worker]) -> None:
    """Wait until all processes have ended, for at most a second."""
    until = time.monotonic() + 1
    for worker in workers:
        worker.process.join(max(0.0, until - time.monotonic()))


def parts(source: PythonSource, index: int, asked: Request, workers: int) -> list[tuple[int, Request]]:
    """The parts of a batch, each with the number of its worker: one for a batch, several for single samples.

    An iterable is served by the worker `index`, as its state lies there.
    """
    if source.kind != "callable":
        return [(index, asked)]
    if source.batch:
        return [(asked.iteration, asked)]
    bounds = np.linspace(asked.start, asked.stop, min(workers, asked.stop - asked.start) + 1).astype(int).tolist()
    return [
        (number, replace(asked, start=start, stop=stop))
        for number, (start, stop) in enumerate(itertools.pairwise(bounds))
    ]


class ParallelInput(PythonInput):
    """Draws from a source in worker processes: keeps a few batches ahead, and returns them in order."""

    def __init__(
        self, external: External, pool: WorkerPool, index: int, batch_size: int, *, tolerant: bool = False
    ) -> None:
        super().__init__(external, tolerant=tolerant)
        assert external.source is not None
        self._described = external.source
        self._pool = pool
        self._index = index
        self._batch_size = batch_size
        self._jobs: deque[_Job] = deque()
        self._generation = 1

    def _ask(self, request: Request) -> tuple[Sequence[Batch], dict[int, BaseException]]:
        """The next batch; errors of the source have the worker's traceback as their cause."""
        self._drop_given()
        if self._jobs and self._jobs[0].number != self.given:  # the caller was interrupted
            self._drop()
        while len(self._jobs) <= self.external.ahead:
            undisturbed(functools.partial(self._schedule, request))
        job = self._jobs[0]  # it stays there if the caller is interrupted while it waits
        found = self._pool.wait(job)
        failed: dict[int, BaseException] = {}
        for (start, stop), (_, answer) in zip(job.spans, found, strict=True):
            failed.update({start + row: error for row, error in answer.failed.items()})
            if answer.error is None:
                continue
            if not request.tolerant or isinstance(answer.error, StopIteration):
                self._jobs.popleft()
                self._pool.forget(job)
                if all(each.given for _, each in found):
                    self._note_given(request)
                elif self._indexed or isinstance(answer.error, StopIteration):
                    self._drop()
                raise _taken(answer)
            failed.update(dict.fromkeys(range(start, stop), answer.error))
        if all(answer.error is not None for _, answer in found):
            self._jobs.popleft()
            raise _taken(next(answer for _, answer in found if answer.error is not None))
        self._note_given(request)
        batches = self._pool.batches([part for part in found if part[1].error is None])
        if any(answer.error is not None for _, answer in found):
            order = np.zeros(job.spans[-1][1], np.int64)
            good = [span for span, (_, answer) in zip(job.spans, found, strict=True) if answer.error is None]
            rows = np.concatenate([np.arange(*span) for span in good])
            order[rows] = np.arange(len(rows))
            batches = [batch.take(order) for batch in batches]
        return batches, failed

    def _schedule(self, request: Request) -> None:
        """Start the batch after those in flight."""
        lead = len(self._jobs)
        asked = replace(
            request,
            iteration=request.iteration + lead,
            first_sample=request.first_sample + lead * self._batch_size,
            generation=self._generation,
        )
        found = parts(self._described, self._index, asked, len(self._pool.workers))
        job = self._pool.submit([(worker, self._index, part) for worker, part in found])
        job.number = self.given + lead
        self._jobs.append(job)

    def _drop_given(self) -> None:
        """Drop the batches that were given: in one step with that, Ctrl-C could come between."""
        while self._jobs and self._jobs[0].number < self.given:
            self._jobs.popleft()

    def reset(self) -> None:
        """Drop the batches started ahead, and restart an exhausted iterable."""
        super().reset()
        self._drop_given()
        # An iterable cannot give them again; they belong to the next epoch.
        if self._described.kind == "callable" or not self._jobs:
            self._drop()

    def _drop(self) -> None:
        self._drop_given()
        for job in self._jobs:
            self._pool.forget(job)
        self._jobs.clear()
        self._generation += 1

    def _take_back(self, place: tuple[int, int, int]) -> None:
        self._drop()
        super()._take_back(place)

    def close(self) -> None:
        self._pool.close()
