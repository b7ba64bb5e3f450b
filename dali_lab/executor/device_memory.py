"""What a plan needs of a device's memory: how large each result is, how long it lives, and the most at one time."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dali_lab.device.interface import OutOfDeviceMemory
from dali_lab.executor.plan import Plan, bare
from dali_lab.graph.graph import Edge

if TYPE_CHECKING:
    from dali_lab.device.memory import Arena


@dataclass(frozen=True)
class Row:
    """One result on the device.

    Attributes
    ----------
    edge
        What it is.
    nbytes
        Bytes of a batch of it.
    largest
        Bytes of its largest sample.
    first, last
        Steps of the plan between which it is kept, counted from 0.
    """

    edge: Edge
    nbytes: int
    largest: int
    first: int
    last: int


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
        lines = [f"{'result':<{width}}  {'a batch':>10}  {'its largest sample':>18}  kept for steps"]
        for row in self.rows:
            sizes = f"{_mib(row.nbytes):>10}  {_mib(row.largest):>18}"
            lines.append(f"{row.edge!s:<{width}}  {sizes}  {row.first} to {row.last}")
        lines.append(f"at most {_mib(self.peak)} at a time for one batch")
        return "\n".join(lines)


def memory_table(plan: Plan, sizes: Mapping[Edge, tuple[int, int]]) -> MemoryTable:
    """The table for a plan.

    Parameters
    ----------
    plan
        With a device.
    sizes
        Bytes of the largest batch and of the largest sample of each result so far; results not in it are left out.
    """
    steps = plan.steps()
    places = {step.node.id: place for place, step in enumerate(steps)}
    last = {edge: place for place, step in enumerate(steps) for edge in map(bare, step.node.edges())}
    for edge in plan.outputs:
        last[edge] = len(steps)
    rows = []
    for edge, (nbytes, largest) in sizes.items():
        place = places.get(edge.node)
        if place is not None and steps[place].gpu:
            rows.append(Row(edge, nbytes, largest, place, max(place, last.get(edge, place))))
    rows.sort(key=lambda row: (row.first, row.edge.output))
    peak = max(
        (sum(row.nbytes for row in rows if row.first <= place <= row.last) for place in range(len(steps) + 1)),
        default=0,
    )
    return MemoryTable(tuple(rows), peak)


def reserve(plan: Plan, sizes: Mapping[Edge, tuple[int, int]], arena: Arena) -> None:
    """Take what two batches need, one that is used and one that is made, once the first has shown its sizes.

    So later batches of that size take nothing from the device, which would make it wait. Where there is not so much,
    nothing is taken.
    """
    with contextlib.suppress(OutOfDeviceMemory):
        arena.reserve(2 * memory_table(plan, sizes).peak)


def _mib(nbytes: int) -> str:
    return f"{nbytes / (1 << 20):.1f} MiB"
