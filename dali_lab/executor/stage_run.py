"""One stage of one batch while its chunks run: memory for its outputs, its chunks, and their results."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.failures import mismatch
from dali_lab.executor.pace import Effort
from dali_lab.executor.plan import Stage, Step
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.model.errors import SampleError
from dali_lab.schema.call import Notes

Span = tuple[int, int]


class Placement:
    """Memory for a whole output batch, shared by its chunks; allocated once the first of them has a shape."""

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
                self._buffer = buffer(size * self._total)
            elif (shape, dtype) != (self._shape, self._dtype):
                return None
            memory = self._buffer
        addresses = memory.ctypes.data + size * np.arange(start, start + len(shapes), dtype=np.int64)
        return Batch(addresses, shapes, dtype, layout, (memory,))

    def holds(self, batch: Batch) -> bool:
        """Whether a batch lies in this memory, with samples that all have its shape."""
        return any(owner is self._buffer for owner in batch.owners) and batch.is_uniform()


@dataclass(eq=False)
class Chunk:
    """Samples ``start … stop - 1`` of a batch, moving through the steps of a stage.

    `position` is the next step, `local` the results of earlier steps, `failed` the nodes without a result, `effort` the
    CPU time so far. `lost` are the samples that a call went on without, and `stand_ins` those among them in whose place
    it had another. `alone` says that the chunk is one sample that takes the place of a bad one: its failure is that of
    the try, and kept in `error`. `plain` says that it is computed without the stage's cache; `aside` is where its steps
    leave what is kept all the same.
    """

    index: int
    start: int
    stop: int
    position: int = 0
    local: dict[Edge, Batch] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    effort: Effort = field(default_factory=Effort)
    lost: dict[int, SampleError] = field(default_factory=dict)
    stand_ins: dict[int, int] = field(default_factory=dict)
    alone: bool = False
    error: BaseException | None = None
    plain: bool = False
    aside: list[Batch] | None = None


class StageRun:
    """One stage of one batch while its chunks run.

    Attributes
    ----------
    parts
        For each edge that leaves the stage, the results of the chunks by their samples ``(start, stop)``; a later one
        replaces samples of an earlier one.
    notes
        Facts that the chunks share, by node; see :meth:`~dali_lab.schema.call.Call.note`.
    waiting
        Chunks that continue once all others have noted something.
    stood_in
        Bad samples in whose place a chunk had another one of its samples, with that one.
    numbers
        Results of nodes that give a number for each sample, made by the first chunk for all; `making` guards them.
    """

    def __init__(self, run: BatchRun, stage: Stage, count: int, chunk: int, done: Callable[[StageRun], None]) -> None:
        self.run, self.stage, self.count, self.done = run, stage, count, done
        self.chunks = [
            Chunk(index, start, min(start + chunk, count)) for index, start in enumerate(range(0, count, chunk))
        ]
        several = len(self.chunks) > 1
        self.parts: dict[Edge, dict[Span, Batch]] = {edge: {} for edge in stage.exports}
        # A replacement goes where the bad sample was, so that outputs remain one piece of memory.
        placed = several or run.policy is not None
        self.places = {edge: Placement(count) for edge in stage.exports} if placed else {}
        self.notes = {step.node.id: Notes() for step in (*stage.steps, *stage.plain)} if several else {}
        self.waiting: list[Chunk] = []
        self.stood_in: dict[int, int] = {}
        self.numbers: dict[str, Sequence[Batch]] = {}
        self.making = threading.Lock()
        self.pending = 0
        self._lock = threading.Lock()

    def chunk_ended(self) -> bool:
        """Note that a chunk has ended or waits. Returns whether it was the last."""
        with self._lock:
            self.pending -= 1
            return not self.pending

    def take_ready(self) -> list[Chunk]:
        """The chunks waiting at the earliest such step: all have noted there."""
        if not self.waiting or self.run.stopped:
            return []
        names = [self.stage.steps_of(chunk.plain)[chunk.position].node.id for chunk in self.waiting]
        first = next(step.node.id for step in self.stage.steps if step.node.id in names)
        ready = [chunk for chunk, name in zip(self.waiting, names, strict=True) if name == first]
        self.waiting = [chunk for chunk, name in zip(self.waiting, names, strict=True) if name != first]
        self.notes[first].complete = True
        return ready

    def add(self, chunk: Chunk) -> None:
        """Keep the results of a chunk that leave the stage."""
        with self._lock:
            for edge, parts in self.parts.items():
                if edge in chunk.local:
                    parts[chunk.start, chunk.stop] = chunk.local[edge]

    @property
    def noted(self) -> bool:
        """Whether chunks told each other facts, so that a sample depends on the others."""
        return any(notes.facts for notes in self.notes.values())

    def first_good(self, edge: Edge) -> tuple[Span, Batch] | None:
        """The results on an edge that hold the first sample that is not bad, if there is one."""
        positions = self.run.positions(self.stage).tolist()
        spans = sorted(self.parts[edge].items(), key=_span)
        return next(
            (item for item in spans if any(positions[row] not in self.run.bad for row in range(*item[0]))), None
        )

    def note_unlike(self) -> None:
        """Note samples as bad whose results differ in kind from those of the first good one."""
        run = self.run
        for edge, parts in self.parts.items():
            if len(parts) < 2 or all(same_kind(part, next(iter(parts.values()))) for part in parts.values()):
                continue
            first = self.first_good(edge)
            for (start, stop), part in parts.items():
                if first is None or not len(part) or same_kind(part, first[1]):
                    continue
                error = mismatch(self._step(edge).node, [(first[0][0], first[1]), (start, part)])
                if run.covers(error):
                    for row in range(start, stop):
                        run.note_bad(self.stage, row, error)

    def confirm_stand_ins(self) -> None:
        """Unsettle bad samples again where the sample that stood in turned out to be bad, too."""
        for row, other in self.stood_in.items():
            if other in self.run.bad:
                self.run.unsettle(row)
        self.stood_in.clear()

    def collect(self) -> None:
        """Join the results of the chunks."""
        run = self.run
        for edge, parts in self.parts.items():
            if len(parts) < len(self.chunks):
                covered = {row for start, stop in parts for row in range(start, stop)}
                if len(covered) < self.count:
                    run.missing[edge] = set(range(self.count)) - covered
            if not parts:
                continue
            try:
                run.values[edge] = joined([(start, part) for (start, _), part in parts.items()])
            except ValueError:
                if all(failed != edge.node for failed, *_ in run.failures):
                    filled = [(start, part) for (start, _), part in sorted(parts.items(), key=_span) if len(part)]
                    run.failures.append((edge.node, 0, run.size, mismatch(self._step(edge).node, filled)))

    def _step(self, edge: Edge) -> Step:
        return next(step for step in self.stage.steps if step.node.id == edge.node)


def _span(item: tuple[Span, Batch]) -> Span:
    return item[0]


def same_kind(one: Batch, other: Batch) -> bool:
    """Whether samples of both can be in one batch: one dtype, one number of dimensions."""
    return (one.dtype, one.ndim) == (other.dtype, other.ndim)


def joined(parts: Sequence[tuple[int, Batch]]) -> Batch:
    """The samples of parts in order, without copying; a later part replaces samples of an earlier one.

    Parameters
    ----------
    parts
        Each with the index of its first sample.

    Raises
    ------
    ValueError
        If the parts differ in dtype or number of dimensions.
    """
    ordered = sorted(parts, key=lambda part: part[0])
    if all(start + len(part) <= after for (start, part), (after, _) in itertools.pairwise(ordered)):
        return Batch.concat([part for _, part in ordered])
    rows = np.concatenate([np.arange(start, start + len(part), dtype=np.int64) for start, part in parts])
    place = np.full(int(rows.max()) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))  # of several places for one row the last remains
    return Batch.concat([part for _, part in parts]).take(place[place >= 0])
