"""Predicts shapes and types of results on a device before the first batch, by running operators without data.

An operator on a GPU derives shapes from its arguments and from the shapes of its inputs. So a plan is run several times
with a launcher that computes nothing, each time with another guess for the unknowns: extents of pictures, types, values
of connected arguments. Where all guesses lead to the same shape and type, these are known in advance; an operator that
refuses a guess rules it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dali_lab.device.dry import DryLauncher
from dali_lab.device.interface import Device
from dali_lab.executor.plan import Plan, Step, make_operator
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, UINT8, DALIDataType
from dali_lab.schema.call import Call
from dali_lab.schema.ports import Extent
from dali_lab.schema.running import run_operator

_SAMPLES = 2


@dataclass(frozen=True)
class Kind:
    """Shape and type of the largest sample of a result."""

    shape: tuple[int, ...]
    dtype: DALIDataType
    layout: str

    @classmethod
    def of(cls, batch: Batch) -> Kind:
        """The kind of a batch: its shape is the largest extent of each axis."""
        return cls(tuple(batch.shapes.max(axis=0, initial=0).tolist()), batch.dtype, batch.layout)

    def joined(self, other: Kind) -> Kind:
        """The smallest kind that covers both."""
        if len(self.shape) != len(other.shape):
            return other
        return replace(other, shape=tuple(map(max, self.shape, other.shape)))


@dataclass(frozen=True)
class _Guess:
    """A guess for the unknowns: extents by axis letter, the element type, and samples seen before."""

    extents: Mapping[str, int]
    extent: int
    dtype: DALIDataType
    drawn: int

    def filled(self, known: Extent) -> Batch | None:
        """A batch on the CPU, without memory, made from the known extents and this guess."""
        if known.shape is None:
            return None
        letters = known.layout or " " * len(known.shape)
        shape = [
            extent if extent >= 0 else self.extents.get(letter, self.extent + 7 * axis)
            for axis, (extent, letter) in enumerate(zip(known.shape, letters, strict=True))
        ]
        table = np.array([shape] * _SAMPLES, np.int64).reshape(_SAMPLES, len(shape))
        dtype = self.dtype if known.dtype is None else known.dtype
        return Batch(np.zeros(_SAMPLES, np.int64), table, dtype, known.layout)


_LARGE = {"H": 1201, "W": 1607, "D": 41, "F": 9}
_SMALL = {"H": 907, "W": 1151, "D": 33, "F": 5}
_GUESSES = (
    _Guess({**_LARGE, "C": 3}, 1009, UINT8, 0),
    _Guess({**_SMALL, "C": 3}, 1213, UINT8, 1000),
    _Guess({**_LARGE, "C": 1}, 1009, UINT8, 0),
    _Guess({**_SMALL, "C": 3}, 1213, FLOAT, 1000),
)
"""The first two cover most data; the others show dependence on the channels and on the type."""


def foresee(plan: Plan, seen: Mapping[Edge, Kind]) -> dict[Edge, Kind]:
    """Kinds of the results on the plan's device, as far as they can be predicted.

    Parameters
    ----------
    plan
        With a device.
    seen
        Kinds of results that batches have shown; they are used to predict others.
    """
    if plan.device is None:
        return {}
    worlds = [_World(guess, seen, plan.device) for guess in _GUESSES]
    for step in plan.steps():
        for world in worlds:
            world.make(step)
    found = {}
    for edge in worlds[0].device_edges & worlds[1].device_edges:
        kinds = {Kind.of(world.batches[edge]) for world in worlds if edge in world.batches}
        if len(kinds) == 1:
            found[edge] = kinds.pop()
    return found


class _World:
    """Results under the assumption of one guess.

    Attributes
    ----------
    batches
        By edge: batches without data, except those of arguments, which are on the CPU.
    device_edges
        Edges whose batch is on the device.
    """

    def __init__(self, guess: _Guess, seen: Mapping[Edge, Kind], device: Device) -> None:
        self.guess = guess
        self.seen = seen
        self.device = device
        self.batches: dict[Edge, Batch] = {}
        self.real: set[Edge] = set()
        self.device_edges: set[Edge] = set()

    def make(self, step: Step) -> None:
        """Predict the results of a step; none where that is not possible."""
        results = self._declared(step) or self._run(step)
        for output in range(step.outputs):
            edge = Edge(step.node.id, output)
            kind = self.seen.get(edge)
            batch = results[output] if output < len(results) else None
            if kind is not None:
                batch = self.guess.filled(Extent(kind.shape, kind.dtype, kind.layout))
            if batch is None:
                continue
            self.batches[edge] = batch
            if step.gpu:
                self.device_edges.add(edge)
            elif batch.owners:
                self.real.add(edge)

    def _declared(self, step: Step) -> tuple[Batch | None, ...]:
        return tuple(self.guess.filled(extent) for extent in step.operator.extents())

    def _run(self, step: Step) -> tuple[Batch, ...]:
        operator, node = step.operator, step.node
        inputs, arguments = step.inputs, step.connections
        # On the CPU only operators that are functions of their arguments, with all of them known.
        pure = operator.on_gpu and not operator.source and operator.family != "python"
        if operator.family == "random" and inputs:  # it would draw a number for each element of its input
            return ()
        here = [*arguments.values(), *(e for k, e in enumerate(inputs) if not step.gpu or k in operator.cpu_inputs)]
        if (
            not (step.gpu or pure)
            or any(e not in self.real for e in here)
            or any(e not in self.batches for e in inputs)
        ):
            return ()
        launcher = DryLauncher(self.device) if step.gpu else None
        try:
            fresh = make_operator(node)
            given = [
                self.batches[edge] if edge in here or launcher is None else launcher.upload(self.batches[edge])
                for edge in inputs
            ]
            batches = {name: self.batches[edge] for name, edge in arguments.items()}
            call = Call(fresh, 0, _SAMPLES, batch_size=_SAMPLES, drawn_before=self.guess.drawn, batches=batches)
            call.gpu = launcher
            return run_operator(fresh, call, given, step.outputs, check=False)
        except Exception:  # the operator refuses the guess, or would wait for a result: unknown
            return ()
