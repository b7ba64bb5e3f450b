"""Device memory of a plan: size and lifetime of each result, and the peak."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dali_lab.executor.foresight import Kind, foresee
from dali_lab.executor.plan import Plan
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.model.errors import OutOfDeviceMemory


@dataclass(frozen=True)
class Row:
    """One result on the device.

    Attributes
    ----------
    edge
        The edge of the result.
    nbytes
        Bytes of a batch of it.
    largest
        Bytes of its largest sample.
    first, last
        Steps of the plan between which it is kept, counted from 0.
    seen
        Whether a batch has shown it; otherwise it follows from the operators' declarations.
    """

    edge: Edge
    nbytes: int
    largest: int
    first: int
    last: int
    seen: bool = True


@dataclass(frozen=True)
class MemoryTable:
    """The results of a batch on a device.

    Attributes
    ----------
    rows
        In the order in which they are made.
    peak
        The most bytes at one time.
    """

    rows: tuple[Row, ...]
    peak: int

    def __str__(self) -> str:
        width = max((len(str(row.edge)) for row in self.rows), default=4)
        lines = [f"{'result':<{width}}  {'a batch':>10}  {'its largest sample':>18}  {'known':>8}  kept for steps"]
        for row in self.rows:
            sizes = f"{_mib(row.nbytes):>10}  {_mib(row.largest):>18}  {'seen' if row.seen else 'declared':>8}"
            lines.append(f"{row.edge!s:<{width}}  {sizes}  {row.first} to {row.last}")
        lines.append(f"at most {_mib(self.peak)} at a time for one batch")
        return "\n".join(lines)


def memory_table(
    plan: Plan, sizes: Mapping[Edge, tuple[int, int]], declared: Mapping[Edge, tuple[int, int]] | None = None
) -> MemoryTable:
    """The table for a plan.

    Parameters
    ----------
    plan
        With a device.
    sizes
        Bytes of the largest batch and of the largest sample of each result so far.
    declared
        The same for results that no batch has shown; results in neither are left out.
    """
    steps = plan.steps()
    places = {step.node.id: place for place, step in enumerate(steps)}
    last = {edge: place for place, step in enumerate(steps) for edge in step.needed}
    for edge in plan.outputs:
        last[edge] = len(steps)
    rows = []
    for edge, (nbytes, largest) in {**(declared or {}), **sizes}.items():
        place = places.get(edge.node)
        if place is not None and steps[place].gpu:
            rows.append(Row(edge, nbytes, largest, place, max(place, last.get(edge, place)), edge in sizes))
    rows.sort(key=lambda row: (row.first, row.edge.output))
    peak = max(
        (sum(row.nbytes for row in rows if row.first <= place <= row.last) for place in range(len(steps) + 1)),
        default=0,
    )
    return MemoryTable(tuple(rows), peak)


class MemoryPlan:
    """Device memory that the batches of a plan need: from the operators' declarations, corrected by batches seen.

    Parameters
    ----------
    plan
        With a device.
    batch_size
        Most samples of a batch; 0 plans nothing ahead.

    Attributes
    ----------
    sizes
        Bytes of the largest batch and of the largest sample of each result so far.
    """

    def __init__(self, plan: Plan, batch_size: int) -> None:
        self.plan = plan
        self.batch_size = batch_size
        self.sizes: dict[Edge, tuple[int, int]] = {}
        self._kinds: dict[Edge, Kind] = {}
        self._reserved = 0
        self._grown = True
        self._lock = threading.Lock()

    def note(self, edge: Edge, batch: Batch) -> None:
        """Note the size of a result."""
        most = int(batch.sizes.max(initial=0)) * batch.itemsize
        with self._lock:
            total, largest = self.sizes.get(edge, (0, 0))
            if total >= batch.nbytes and largest >= most:
                return
            self.sizes[edge] = (max(total, batch.nbytes), max(largest, most))
            self._grown = True
        self.note_kind(edge, batch)

    def note_kind(self, edge: Edge, batch: Batch) -> None:
        """Note shape and type of a batch, including one already on the device."""
        kind = Kind.of(batch)
        with self._lock:
            known = self._kinds.get(edge)
            self._kinds[edge] = kind if known is None else known.joined(kind)

    def table(self) -> MemoryTable:
        """All sizes known so far."""
        with self._lock:
            sizes, kinds = dict(self.sizes), dict(self._kinds)
        declared = {}
        if self.batch_size and any(step.gpu and Edge(step.node.id, 0) not in sizes for step in self.plan.steps()):
            for edge, kind in foresee(self.plan, kinds).items():
                nbytes = int(np.prod(kind.shape, dtype=np.int64)) * numpy_dtype(kind.dtype).itemsize
                declared[edge] = (nbytes * self.batch_size, nbytes)
        return memory_table(self.plan, sizes, declared)

    def reserve(self) -> None:
        """Reserve the memory of two batches: one being used and one being made.

        Batches of that size then allocate nothing on the device, which would make it wait. Called before the first
        batch, and again when batches need more. If the device has too little, nothing is reserved.
        """
        device = self.plan.device
        if device is None or not self.batch_size or not self._grown:
            return
        self._grown = False
        peak = self.table().peak
        if peak > self._reserved:
            self._reserved = peak
            with contextlib.suppress(OutOfDeviceMemory):
                device.arena.reserve(2 * peak)


def _mib(nbytes: int) -> str:
    return f"{nbytes / (1 << 20):.1f} MiB"
