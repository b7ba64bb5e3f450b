"""Stages of operators that are Python functions, for tests of the parts of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from dali_lab.executor.plan import Plan, Stage, Step
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.batch import Batch
from dali_lab.schema import Call, Input, Operator

Function = Callable[[Call, Batch], Batch]
SOURCE = Edge("source")


class FunctionStep(Operator):
    """Runs a function on each chunk; closing it is written down."""

    name = "test"
    inputs: ClassVar[tuple[Input, ...]] = (Input("data"),)
    closed = 0

    def __init__(self, function: Function, node: str, *, whole: bool = False, in_order: bool = False) -> None:
        super().__init__({}, (), node)
        self.function = function
        self.whole_batch = whole
        self.in_order = in_order  # type: ignore[misc]

    def run(self, call: Call, *inputs: Batch) -> Batch:
        return self.function(call, inputs[0])

    def close(self) -> None:
        self.closed += 1


def same(call: Call, data: Batch) -> Batch:
    """The samples as they came, in memory of their own."""
    out = call.allocate(data.shapes, data.dtype, data.layout)
    for target, sample in zip(out.arrays(), data.arrays(), strict=True):
        target[:] = sample
    return out


def step(name: str, function: Function = same, source: Edge = SOURCE, **how: Any) -> Step:
    """A step named `name` on the edge `source`."""
    return Step(Node(name, "test", "cpu", (source,), {}, {}, f"{name}.py:1"), FunctionStep(function, name, **how), 1, 0)


def chain(*steps: Step, whole: bool = False) -> Stage:
    """A stage of steps; the last one's output leaves it."""
    return Stage(list(steps), whole, 0, [Edge(steps[-1].node.id)])


def plan(*stages: Stage, outputs: Sequence[str]) -> Plan:
    """A plan of stages on the edge ``source``, which is known."""
    return Plan(Graph(), list(stages), tuple(map(Edge, outputs)), [], frozenset([SOURCE]))


def numbers(count: int) -> Batch:
    """Samples 0, 1, 2, … of one element each, each from a file of its own."""
    batch = Batch.dense(np.arange(count, dtype=np.int32).reshape(-1, 1))
    batch.sources = tuple(f"{index}.txt" for index in range(count))
    return batch


def failing(*samples: int, error: type[Exception] = ValueError) -> Function:
    """A function that fails on some samples."""

    def run(call: Call, data: Batch) -> Batch:
        for index, sample in enumerate(data.arrays()):
            if int(sample[0]) in samples:
                raise error(f"no {int(sample[0])}") if error is not IndexError else call.problem("bad", sample=index)
        return same(call, data)

    return run
