"""One batch on its way through the engine: what is finished, what failed, and where its chunks write."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dali_lab.executor.pace import Effort
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.schema.call import Notes
from dali_lab.schema.operator import Draw

if TYPE_CHECKING:
    from dali_lab.executor.engine import Engine


class Cancelled(Exception):
    """The result is no longer wanted."""


class Placement:
    """Memory for a whole output batch, shared by its chunks once the first of them has shown a shape."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._shape: tuple[int, ...] | None = None
        self._dtype: DALIDataType | None = None
        self._buffer: npt.NDArray[np.uint8] | None = None

    def place(self, start: int, shapes: npt.NDArray[np.int64], dtype: DALIDataType, layout: str) -> Batch | None:
        if not len(shapes) or not (shapes == shapes[0]).all():
            return None
        shape = tuple(shapes[0].tolist())
        size = int(np.prod(shape, dtype=np.int64)) * numpy_dtype(dtype).itemsize
        with self._lock:
            if self._buffer is None:
                self._shape, self._dtype = shape, dtype
                self._buffer = np.empty(size * self._total, np.uint8)
            elif (shape, dtype) != (self._shape, self._dtype):
                return None
            buffer = self._buffer
        addresses = buffer.ctypes.data + size * np.arange(start, start + len(shapes), dtype=np.int64)
        return Batch(addresses, shapes, dtype, layout, (buffer,))


@dataclass(eq=False)
class Chunk:
    """Samples ``start … stop - 1`` of a batch on their way through the steps of a stage.

    `position` is the step that comes next, `local` what those before it made, `failed` the nodes that have no result,
    `effort` the CPU time that it took so far.
    """

    index: int
    start: int
    stop: int
    position: int = 0
    local: dict[Edge, Batch] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    effort: Effort = field(default_factory=Effort)

    def lacks(self, run: BatchRun, edge: Edge) -> bool:
        """Whether there is no data on an edge for some of the samples."""
        if edge in self.local:
            return False
        if edge.node in self.failed or edge not in run.values:
            return True
        absent = run.missing.get(edge)
        return bool(absent) and any(self.start <= i < self.stop for i in absent or ())


class BatchRun:
    """One batch on its way.

    Attributes
    ----------
    iteration
        Batch number.
    size
        Samples in it.
    values
        Finished edges.
    failures
        What went wrong: ``(node, first sample, number of samples, error)``.
    seconds
        Time spent in each node, summed over threads.
    notes
        What the chunks of the stage have noted, by node.
    waiting
        Chunks of the stage that go on when all others have noted something.
    """

    def __init__(self, engine: Engine, iteration: int, size: int, draws: Mapping[str, Draw]) -> None:
        self.engine = engine
        self.iteration = iteration
        self.size = size
        self.draws = draws
        self.values: dict[Edge, Batch] = {}
        self.failures: list[tuple[str, int, int, BaseException]] = []
        self.seconds: dict[str, float] = defaultdict(float)
        self.drawn_before: dict[str, int] = {}
        self.drawn_after: dict[str, int] = {}
        self.missing: dict[Edge, set[int]] = {}
        self.host: dict[Edge, Batch] = {}
        self.host_lock = threading.Lock()
        self.memory: dict[Edge, tuple[int, int]] = {}
        self.stage = -1
        self.pending = 0
        self.parts: dict[Edge, list[Batch | None]] = {}
        self.places: dict[Edge, Placement] = {}
        self.bounds: list[tuple[int, int]] = []
        self.notes: dict[str, Notes] = {}
        self.waiting: list[Chunk] = []
        self.previous: BatchRun | None = None
        self.next: BatchRun | None = None
        self.finished = threading.Event()
        self.cancelled = False
        self.callback: Callable[[BatchRun], None] | None = None

    def count_memory(self, edge: Edge, batch: Batch) -> None:
        """Add a chunk to what is known of an output's size."""
        most = int(batch.sizes.max()) * batch.itemsize if len(batch) else 0
        with self.engine._lock:
            total, largest = self.memory.get(edge, (0, 0))
            self.memory[edge] = (total + batch.nbytes, max(largest, most))

    def cancel(self) -> None:
        """Stop as soon as the calls that run now return."""
        self.cancelled = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all is done or has failed; `False` when the time ran out first."""
        return self.finished.wait(timeout)

    def outputs(self) -> list[Batch]:
        """The planned outputs.

        Raises
        ------
        BaseException
            What the first failing sample raised.
        """
        if self.failures:
            raise min(self.failures, key=lambda failure: failure[1])[3]
        return [self.values[edge] for edge in self.engine.plan.outputs]
