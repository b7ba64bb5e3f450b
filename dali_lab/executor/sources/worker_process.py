"""Main loop of a worker process: draws from sources and writes their batches into shared memory."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError
from dali_lab.model.incoming import UNSUPPORTED, incoming_batch, write_samples
from dali_lab.model.system import nameless_file
from dali_lab.schema.external import External, Request

CAN_SHARE = sys.platform != "win32"
_ALIGNMENT = 64


@dataclass
class Column:
    """One output of a batch or of a part of it: offsets of its samples in the block, or the bytes themselves."""

    dtype: int
    layout: str
    shapes: list[tuple[int, ...]]
    ndim: int
    offset: int
    data: bytes | None = None


@dataclass
class Answer:
    """A worker's answer to one task.

    Attributes
    ----------
    block
        Number of the block of shared memory, or −1.
    new_block, block_size
        Whether the block is new, in which case its handle follows.
    dropped
        Blocks that the worker has freed.
    failed
        Errors of single samples, by their index in the task; anything stands in their places.
    given
        Whether the source gave its data, though these may be refused.
    """

    task: int
    columns: list[Column] = field(default_factory=list)
    error: BaseException | None = None
    block: int = -1
    new_block: bool = False
    block_size: int = 0
    dropped: list[int] = field(default_factory=list)
    failed: dict[int, BaseException] = field(default_factory=dict)
    given: bool = False


class RemoteTraceback(Exception):
    """The traceback of an error in a worker process, as text."""

    def __str__(self) -> str:
        return f"\n\nIn the worker process:\n{self.args[0]}"


@dataclass
class _Failure:
    """An error with the traceback that pickling would lose."""

    error: BaseException

    def sendable(self) -> BaseException:
        """The error itself if it can be pickled, else an equivalent one."""
        text = "".join(traceback.format_exception(self.error))
        error = self.error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # any error class may fail in any way
            error = OperatorError(f"{type(self.error).__name__}: {self.error}")
        return _WithTraceback(error, text)


class _WithTraceback(Exception):
    """Carries an error and its traceback through a pipe."""

    def __init__(self, error: BaseException, text: str) -> None:
        super().__init__(error, text)
        self.error = error
        self.text = text

    def __reduce__(self) -> Any:
        return _arrived, (self.error, self.text)


def _arrived(error: BaseException, text: str) -> BaseException:
    error.__cause__ = RemoteTraceback(text)
    return error


class _Blocks:
    """A worker's shared memory: blocks that the consumer returns when their batch is gone."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[mmap.mmap, int, int]] = {}
        self._free: list[int] = []
        self._next = 0

    def release(self, numbers: Sequence[int]) -> None:
        """Take blocks back."""
        self._free.extend(number for number in numbers if number in self._blocks)

    def take(self, size: int, answer: Answer) -> tuple[npt.NDArray[np.uint8], int]:
        """Memory of at least `size` bytes and its handle; the block is recorded in the answer."""
        fitting = [number for number in self._free if self._blocks[number][1] >= size]
        if fitting:
            number = min(fitting, key=lambda found: self._blocks[found][1])
            self._free.remove(number)
            mapped, capacity, handle = self._blocks[number]
            answer.block, answer.block_size = number, capacity
            return np.frombuffer(mapped, np.uint8), handle
        for number in self._free:
            mapped, _, handle = self._blocks.pop(number)
            os.close(handle)
            answer.dropped.append(number)
        self._free.clear()
        capacity = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        handle = nameless_file(capacity)
        mapped = mmap.mmap(handle, capacity)
        number = self._next
        self._next += 1
        self._blocks[number] = (mapped, capacity, handle)
        answer.block, answer.block_size, answer.new_block = number, capacity, True
        return np.frombuffer(mapped, np.uint8), handle


def work(
    connection: Connection,
    sources: Sequence[External],
    packed: Sequence[bytes],
    loads: tuple[Callable[..., Any], dict[str, Any]] | None,
    parent: int,
    inherited: Sequence[Connection],
) -> None:
    """Serve tasks until the parent process says so or is gone.

    The Python objects of `sources` come apart, as `packed`, if there is a function that unpickles them.
    """
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if loads is not None:
        for source, data in zip(sources, packed, strict=True):
            if source.source is not None:
                source.source.source = loads[0](data, **loads[1])
    blocks = _Blocks()
    while True:
        while not connection.poll(5):
            if os.getppid() != parent:
                return
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        if task is None:
            return
        number, source, request, released = task
        blocks.release(released)
        try:
            _serve(connection, Answer(number), sources[source], request, blocks)
        except (BrokenPipeError, ConnectionError):
            return


def _serve(connection: Connection, answer: Answer, source: External, request: Request, blocks: _Blocks) -> None:
    handle = -1
    try:
        assert source.source is not None
        count = request.stop - request.start
        columns, failed = source.source.ask_apart(request)
        answer.given = True
        answer.failed = {row: _Failure(error).sendable() for row, error in failed.items()}
        batches = [
            incoming_batch(
                data, layout=expected.layout, dtype=expected.dtype, ndim=expected.ndim, limit=count, copy=False
            )
            for data, expected in zip(columns, source.outputs, strict=False)
        ]
        handle = _write(batches, answer, source.bytes_per_sample * count, blocks)
    except StopIteration:
        answer.error = StopIteration()
    except Exception as error:  # an error in the user's code is raised again in the main process
        if isinstance(error, OperatorError) and error.code == "data_unsupported":
            error.message = f"{UNSUPPORTED} something else. {error.message}"
        answer.error = _Failure(error).sendable()
    connection.send(answer)
    if answer.new_block:
        # Not by send_handle: on macOS, and since Python 3.14 everywhere, it would take the next task for a receipt.
        with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            socket.send_fds(channel, [b"F"], [handle])


def _write(batches: Sequence[Batch], answer: Answer, hint: int, blocks: _Blocks) -> int:
    offsets, end = [], 0
    for batch in batches:
        offsets.append(end)
        end += -(-batch.nbytes // _ALIGNMENT) * _ALIGNMENT
    handle, memory = -1, None
    if CAN_SHARE:
        memory, handle = blocks.take(max(end, hint), answer)
    for batch, offset in zip(batches, offsets, strict=True):
        shapes = [tuple(row) for row in batch.shapes.tolist()]
        column = Column(int(batch.dtype), batch.layout, shapes, batch.ndim, offset)
        if memory is not None:
            write_samples(batch, memory[offset : offset + batch.nbytes])
        else:
            data = np.empty(batch.nbytes, np.uint8)
            write_samples(batch, data)
            column.data, column.offset = data.tobytes(), 0
        answer.columns.append(column)
    return handle
