"""NVIDIA DALI's private classes for worker processes, over the workers of parallel sources and ``multiprocessing``."""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import queue
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.context import BaseContext
from typing import Any

import numpy.typing as npt

from dali_lab.executor.sources import workers
from dali_lab.interop.callbacks import check_batch
from dali_lab.model.sample_info import BatchInfo
from dali_lab.model.system import nameless_file
from dali_lab.schema.external import Expected, External, PythonSource, Request, make_source


def callback_and_description(source: object, cycle: object, batch_info: bool = False) -> tuple[Any, PythonSource]:
    """A function that asks a source, and the source's description."""
    described = make_source(source, cycle, batch_info=batch_info)
    return source if described.kind == "callable" else described._next, described


@dataclass
class SampleRange:
    """Samples of an epoch that are a batch, or a slice of it."""

    sample_start: int
    sample_end: int
    iteration: int
    epoch_idx: int
    slice_start: int = 0
    slice_end: int | None = None


@dataclass
class TaskArgs:
    """Work for one callback: samples, or the arguments of a call for a batch."""

    minibatch_i: int
    sample_range: SampleRange | None = None
    batch_args: tuple[Any, ...] | None = None

    @classmethod
    def make_sample(cls, sample_range: SampleRange) -> TaskArgs:
        """Samples, each by a call of its own."""
        return cls(0, sample_range)

    @classmethod
    def make_batch(cls, batch_args: tuple[Any, ...]) -> TaskArgs:
        """A batch by one call."""
        return cls(0, None, batch_args)

    def request(self, generation: int) -> Request:
        """The request to a source."""
        if (samples := self.sample_range) is not None:
            stop = samples.sample_end - samples.sample_start if samples.slice_end is None else samples.slice_end
            bounds = samples.sample_start, samples.slice_start, stop
            return Request(samples.iteration, *bounds, samples.epoch_idx, generation)
        (asked,) = self.batch_args or (0,)
        info = asked if isinstance(asked, BatchInfo) else BatchInfo(asked, 0)
        return Request(info.iteration, 0, 0, 1 << 31, info.epoch_idx, generation)


@dataclass
class Context:
    """Batches of one callback that are in flight; its worker, if a single one has to serve it."""

    source: PythonSource
    dedicated_worker_id: int | None
    task_queue: deque[Any] = field(default_factory=deque)

    @property
    def partially_received(self) -> deque[Any]:
        """The batches in flight."""
        return self.task_queue

    scheduled_minibatches = partially_received


class WorkerPool:
    """Worker processes whose callbacks are asked by their number."""

    def __init__(self, sources: Sequence[PythonSource], method: str, count: int, pickler: object) -> None:
        numbers = itertools.count()
        self.contexts = [
            Context(source, None if source.kind == "callable" else next(numbers) % count) for source in sources
        ]
        if all(context.dedicated_worker_id is not None for context in self.contexts):
            count = min(count, len(sources))
        declared = [
            External(str(index), "external_source", (Expected(None, None, None),), source)
            for index, source in enumerate(sources)
        ]
        self._workers = workers.WorkerPool(declared, count, method, pickler, 0)
        self.pool, self.pids = self._workers.pool, self._workers.pids
        self._generation = 1

    @classmethod
    def from_groups(
        cls,
        groups: Sequence[Any],
        keep_alive_queue_size: int,
        start_method: str = "fork",
        num_workers: int = 1,
        py_callback_pickler: object = None,
    ) -> WorkerPool:
        """A pool for groups of external sources; batches live as long as they are used, however many are kept."""
        sources = [replace(group.source_desc, batch=group.batch) for group in groups]
        return cls(sources, start_method, num_workers, py_callback_pickler)

    def schedule_batch(self, context_i: int, work_batch: TaskArgs) -> None:
        """Start a batch of a callback."""
        context = self.contexts[context_i]
        parts = workers.parts(
            context.source,
            context_i if context.dedicated_worker_id is None else context.dedicated_worker_id,
            work_batch.request(self._generation),
            len(self._workers.workers),
        )
        context.task_queue.append(self._workers.submit([(worker, context_i, part) for worker, part in parts]))

    def receive_batch(self, context_i: int) -> list[npt.NDArray[Any]]:
        """The next batch of a callback, as arrays over shared memory."""
        found = self._workers.wait(self.contexts[context_i].task_queue.popleft())
        for _, answer in found:
            if answer.error is not None:
                raise answer.error
        (batch,) = self._workers.batches(found)
        return batch.arrays()

    def reset(self) -> None:
        """Give up all batches in flight."""
        for index in range(len(self.contexts)):
            self.reset_context(index)

    def reset_context(self, context_i: int) -> None:
        """Give up the batches of a callback."""
        for job in self.contexts[context_i].task_queue:
            self._workers.forget(job)
        self.contexts[context_i].task_queue.clear()
        self._generation += 1

    def close(self) -> None:
        """End the processes."""
        self._workers.close()


class BufShmChunk:
    """A block of memory that processes share by its handle."""

    def __init__(self, shm_chunk_id: object, capacity: int) -> None:
        self.shm_chunk_id, self.capacity = shm_chunk_id, capacity
        self.handle = nameless_file(capacity)
        self.buf = mmap.mmap(self.handle, capacity)

    @classmethod
    def allocate(cls, shm_chunk_id: object, initial_chunk_size: int) -> BufShmChunk:
        """A new block."""
        return cls(shm_chunk_id, initial_chunk_size)

    def resize(self, size: int) -> None:
        """Make the block larger; what it holds stays."""
        self.buf.resize(size)
        self.capacity = size

    def close(self) -> None:
        """Give the memory back."""
        self.buf.close()
        os.close(self.handle)


class SharedBatchWriter:
    """Writes the samples of a batch into a block of shared memory, which grows as needed."""

    def __init__(self, shm_chunk: BufShmChunk, batch: Sequence[Any]) -> None:
        check_batch(batch)
        packed = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
        if len(packed) > shm_chunk.capacity:
            shm_chunk.resize(len(packed))
        shm_chunk.buf[: len(packed)] = packed
        self.total_size = len(packed)


@dataclass
class SharedBatchMeta:
    """Where a batch lies in its block."""

    meta_offset: int
    meta_size: int

    @classmethod
    def from_writer(cls, writer: SharedBatchWriter) -> SharedBatchMeta:
        """The place that was written."""
        return cls(0, writer.total_size)


def deserialize_batch(shm_chunk: BufShmChunk, meta: SharedBatchMeta) -> Any:
    """The batch that another process of this program has written into a block."""
    return pickle.loads(shm_chunk.buf[meta.meta_offset : meta.meta_offset + meta.meta_size])


class ShmMessageDesc:
    """A message of five numbers: worker, block, capacity, offset and bytes."""

    _FORMAT = struct.Struct("@iiQQQ")
    _NAMES = ("worker_id", "shm_chunk_id", "shm_capacity", "offset", "num_bytes")

    def __init__(self, *values: int) -> None:
        vars(self).update(zip(self._NAMES, values, strict=True))

    def get_values(self) -> tuple[int, ...]:
        """The numbers."""
        return tuple(getattr(self, name) for name in self._NAMES)

    def packed(self) -> bytes:
        """The numbers as a C structure."""
        try:
            return self._FORMAT.pack(*self.get_values())
        except struct.error as error:
            raise RuntimeError(
                "Failed to serialize object as C-like structure. Tried to populate following fields: "
                f"`{self._NAMES}` with respective values: `{self.get_values()}`"
            ) from error

    @classmethod
    def unpacked(cls, data: bytes) -> ShmMessageDesc:
        """The message of a C structure."""
        return cls(*cls._FORMAT.unpack(data))


class ShmQueue:
    """A bounded queue of messages between processes: one of ``multiprocessing``, with a block for their data."""

    def __init__(self, mp: BaseContext, capacity: int) -> None:
        self._queue = mp.Queue()
        self._room = mp.BoundedSemaphore(capacity)
        self.shm: BufShmChunk | None = BufShmChunk("queue", mmap.PAGESIZE)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "shm": None}

    def open_shm(self, handle: int) -> None:
        """Take the handle of the block in a process that has not inherited it."""
        os.close(handle)

    def put(self, msgs: Sequence[ShmMessageDesc]) -> int:
        """Append messages."""
        for packed in [message.packed() for message in msgs]:
            if not self._room.acquire(block=False):
                raise RuntimeError("The queue is full")
            self._queue.put(packed)
        return len(msgs)

    def get(self, num_samples: int | None = 1) -> list[ShmMessageDesc] | None:
        """The next messages, at least one; `None` once the queue is closed."""
        found: list[ShmMessageDesc] = []
        while num_samples is None or len(found) < num_samples:
            try:
                packed = self._queue.get(block=not found)
            except queue.Empty:
                break
            if packed is None:
                self._queue.put(None)
                break
            self._room.release()
            found.append(ShmMessageDesc.unpacked(packed))
        return found or None

    def close(self) -> None:
        """Let readers end."""
        self._queue.put(None)
        if self.shm is not None:
            self.shm.close()
            self.shm = None
