"""The side of the proxy that runs the pipeline, in the main process."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import secrets
import socket
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from types import TracebackType
from typing import Any, Self

from dali_lab.executor.bad_samples import BadSample
from dali_lab.executor.sources.inputs import FedInput
from dali_lab.interop.proxy.client import (
    BatchId,
    DALIOutputBatchRef,
    DALIPipelineRunRef,
    Proxy,
    live_runs,
)
from dali_lab.interop.pytorch.tensors import to_torch_tensor
from dali_lab.model.errors import ArgumentTypeError, GraphError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator

Request = tuple[BatchId, Mapping[str, list[Any]]]
Outputs = tuple[Any, ...] | BaseException


@dataclass
class _Board:
    """Requests that arrived and outputs that wait to be taken; all threads of a server share it."""

    requests: queue.Queue[Request | None] = field(default_factory=queue.Queue)
    outputs: dict[BatchId, Outputs] = field(default_factory=dict)
    expected: set[BatchId] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)
    gone: set[tuple[int, str]] = field(default_factory=set)
    connections: list[Connection] = field(default_factory=list)
    running: bool = False
    _answers: int = 0

    def request(self, batch: BatchId, data: Mapping[str, list[Any]]) -> None:
        """Take a request."""
        with self.changed:
            self.expected.add(batch)
        self.requests.put((batch, data))

    def answer(self, batch: BatchId, outputs: Outputs) -> None:
        """Put up the outputs of a run."""
        with self.changed:
            self.expected.discard(batch)
            self.outputs[batch] = outputs
            self._answers += 1
            if self._answers % 64 == 0:
                self._sweep()
            self.changed.notify_all()

    def _sweep(self) -> None:
        """Drop outputs that nobody can ask for any more, such as those of a loop that was left early; lock held."""
        here = os.getpid()
        for batch in [batch for batch in self.outputs if batch not in live_runs]:
            if batch[0] == here or batch[:2] in self.gone:
                del self.outputs[batch]

    def connected(self, connection: Connection) -> None:
        """Note a new worker."""
        with self.changed:
            self.connections.append(connection)
            self._sweep()

    def take(self, batch: BatchId) -> tuple[Any, ...]:
        """Wait for the outputs of a run and take them.

        Raises
        ------
        RuntimeError
            If they can never come.
        """
        with self.changed:
            while batch not in self.outputs:
                if not self.running:
                    raise RuntimeError(
                        "the DALI server is not running: use it in a 'with' block, or call start_thread()"
                    )
                if batch[:2] in self.gone and batch not in self.expected:
                    raise RuntimeError(f"the worker process {batch[0]} ended before its batch reached the DALI server")
                self.changed.wait(1.0)
            found = self.outputs.pop(batch)
        if isinstance(found, BaseException):
            raise found
        return found


class DALIServer:
    """Runs a pipeline on samples that the workers of a ``DataLoader`` send.

    Parameters
    ----------
    pipeline
        A pipeline with inputs: external sources without a source. Their names are the proxy's arguments.
    deterministic
        Run batches in the order in which the main process takes them, at the cost of speed.

    Raises
    ------
    GraphError
        If the pipeline has no inputs.

    Examples
    --------
    >>> with DALIServer(pipeline) as server:  # doctest: +SKIP
    ...     dataset = ImageFolder(root, transform=server.proxy, loader=read_path)
    ...     for images, labels in DataLoader(server, dataset, batch_size=64, num_workers=4):
    ...         train(images, labels)
    """

    def __init__(self, pipeline: Pipeline, deterministic: bool = False) -> None:
        if not isinstance(pipeline, Pipeline):
            raise ArgumentTypeError(f"Expected an NVIDIA DALI pipeline, got: {pipeline!r:.60}", argument="pipeline")
        self._pipe = pipeline
        # Named as the person named them; nodes without a name have one in the graph.
        names = [
            name
            for name, node in pipeline.graph.nodes.items()
            if find_operator(node.op).python_objects == ("source",) and node.arguments.get("source") is None
        ]
        if not names:
            raise GraphError(
                "The provided pipeline doesn't have any inputs: it needs an external_source without a source"
            )
        self._board = _Board()
        self._key = secrets.token_bytes(16)
        self._listener = Listener(authkey=self._key)
        self._threads: list[threading.Thread] = []
        self._proxy = Proxy(names, pipeline.num_outputs, self._listener.address, self._key, deterministic)
        self._proxy._submit = self._board.request
        self._pid = os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._board, self._listener, self._threads, self._pid)

    @property
    def proxy(self) -> Proxy:
        """Stand-in for the pipeline in a dataset; it can be sent to workers."""
        return self._proxy

    @property
    def bad_samples(self) -> list[BadSample]:
        """The bad samples so far; see :attr:`dali_lab.Pipeline.bad_samples`."""
        return self._pipe.bad_samples

    def _checkpoint(self) -> bytes | None:
        """The state of the pipeline behind the last batch that was taken; `None` where batches do not depend on it.

        Raises
        ------
        ValueError
            If it is not known.
        """
        runner = self._pipe._built()
        if not runner.engine.seeds and all(isinstance(source, FedInput) for source in runner.sources.values()):
            return None
        kind = "draws random numbers" if runner.engine.seeds else "has sources of its own"
        if not self._proxy.deterministic:
            raise ValueError(
                f"the pipeline {kind}, and batches reach it in another order than they are taken in:"
                " only a DALIServer with deterministic=True has an exact state"
            )
        if not self._pipe.enable_checkpointing:
            raise ValueError(f"the pipeline {kind}, and was made without enable_checkpointing=True")
        return self._pipe.checkpoint()

    def _go_on_from(self, checkpoint: bytes | None) -> None:
        """Build the pipeline anew, to go on from a checkpoint; batches that were asked for are dropped."""
        if checkpoint is None:
            return
        running = self._board.running
        self.stop_thread()
        try:
            self._pipe._go_on_from(checkpoint)
        finally:
            if running:
                self.start_thread()

    def start_thread(self) -> None:
        """Start serving; a ``with`` block does it too."""
        if self._board.running:
            return
        self._pipe.build()
        self._board.running = True
        self._threads[:] = [
            threading.Thread(target=_accept, args=(self._board, self._listener), name="dali-proxy-accept", daemon=True),
            threading.Thread(target=_serve, args=(self._board, self._pipe), name="dali-proxy-run", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def stop_thread(self) -> None:
        """Stop serving; outputs that nobody took are dropped."""
        _stop(self._board, self._listener, self._threads)

    def _is_thread_running(self) -> bool:
        return self._board.running

    def __enter__(self) -> Self:
        self.start_thread()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_thread()

    def produce_data(self, obj: object) -> Any:
        """Put outputs in place of all references in a structure.

        Parameters
        ----------
        obj
            Lists, tuples, dictionaries and objects with attributes, nested in any way; lists, dictionaries and objects
            are changed in place.

        Returns
        -------
        Any
            The structure with tensors.

        Raises
        ------
        BaseException
            The error of the pipeline for this batch; other batches are not concerned.
        """
        return _Producer(self).produce(obj)

    def outputs_of(self, run: DALIPipelineRunRef) -> tuple[Any, ...]:
        """Wait for the outputs of a run."""
        if not run.is_scheduled:
            self._proxy.send(run)
        return self._board.take(run.batch_id)


class _Producer:
    """One pass over a structure; each run is waited for once, and each object is visited once."""

    def __init__(self, server: DALIServer) -> None:
        self._server = server
        self._runs: dict[BatchId, tuple[Any, ...]] = {}
        self._done: dict[int, Any] = {}
        self._kept: list[Any] = []

    def produce(self, item: object) -> Any:
        if isinstance(item, DALIOutputBatchRef):
            key = item.pipe_run_ref.batch_id
            if key not in self._runs:
                self._runs[key] = self._server.outputs_of(item.pipe_run_ref)
            return self._runs[key][item.output_idx]
        if id(item) in self._done:
            return self._done[id(item)]
        self._kept.append(item)  # so that its id is not given to another object
        self._done[id(item)] = item
        result = item
        if isinstance(item, list):
            item[:] = [self.produce(value) for value in item]
        elif isinstance(item, dict):
            for key in list(item):
                item[key] = self.produce(item[key])
        elif isinstance(item, tuple):
            values = [self.produce(value) for value in item]
            result = type(item)(*values) if hasattr(item, "_fields") else type(item)(values)
        elif hasattr(item, "__dict__") and not isinstance(item, type) and not hasattr(item, "__array__"):
            for name, value in list(vars(item).items()):
                made = self.produce(value)
                if made is not value:
                    setattr(item, name, made)
        self._done[id(item)] = result
        return result


def _accept(board: _Board, listener: Listener) -> None:
    while board.running:
        try:
            connection = listener.accept()
        except (OSError, EOFError):
            continue
        if not board.running:
            connection.close()
            return
        board.connected(connection)
        threading.Thread(target=_read, args=(board, connection), name="dali-proxy-read", daemon=True).start()


def _read(board: _Board, connection: Connection) -> None:
    """Take the requests of one worker until it ends."""
    who: tuple[int, str] | None = None
    try:
        while True:
            batch, data = pickle.loads(connection.recv_bytes())
            who = batch[:2]
            board.request(batch, data)
    except (EOFError, OSError):
        pass
    except TypeError:
        # Closed from another thread between two system calls: the handle is gone then.
        if not connection.closed:
            raise
    finally:
        with board.changed:
            if who is not None:
                board.gone.add(who)
            if connection in board.connections:
                board.connections.remove(connection)
            board.changed.notify_all()
        connection.close()


def _serve(board: _Board, pipeline: Pipeline) -> None:
    """Run the pipeline on requests, keeping as many in flight as the pipeline does."""
    runner = pipeline._built()
    inputs = {name: source for name, source in runner.sources.items() if isinstance(source, FedInput)}
    flying: deque[BatchId] = deque()
    while True:
        request: Request | None = None
        try:
            room = len(flying) < runner.settings.ahead
            request = board.requests.get(block=not flying) if room else None
        except queue.Empty:
            room = False
        if room and request is None:
            return
        if request is not None:
            batch, data = request
            try:
                # All inputs are converted before one of them is fed: a bad one must not shift the others.
                batches = {name: inputs[name].convert(0, values, runner.batch_size) for name, values in data.items()}
                for name, converted in batches.items():
                    inputs[name].push(converted)
                while not runner.schedule() and flying:  # behind a failed batch, once that is taken
                    _answer(board, flying.popleft(), pipeline)
                flying.append(batch)
            except Exception as error:  # it is raised where the batch is taken
                board.answer(batch, error)
        else:
            _answer(board, flying.popleft(), pipeline)


def _answer(board: _Board, batch: BatchId, pipeline: Pipeline) -> None:
    """Put up the oldest outputs of a pipeline as those of a batch."""
    try:
        board.answer(batch, tuple(to_torch_tensor(out.as_cpu()) for out in pipeline.share_outputs()))
    except Exception as error:  # it is raised where the batch is taken
        board.answer(batch, error)


def _stop(board: _Board, listener: Listener, threads: list[threading.Thread]) -> None:
    if not board.running:
        return
    with board.changed:
        board.running = False
        board.changed.notify_all()
    board.requests.put(None)
    _wake(listener)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(5)
    with board.changed:
        board.outputs.clear()
        board.expected.clear()
        for connection in board.connections:
            connection.close()
        board.connections.clear()
    while not board.requests.empty():
        board.requests.get_nowait()


def _wake(listener: Listener) -> None:
    """Have the thread that accepts look up, if it has not ended already.

    Nothing is read: a thread that ended over another connection would never answer.
    """
    address = listener.address
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as caller:
        caller.settimeout(1)
        caller.connect(address)


def _close(board: _Board, listener: Listener, threads: list[threading.Thread], pid: int) -> None:
    if os.getpid() == pid:
        _stop(board, listener, threads)
        listener.close()
