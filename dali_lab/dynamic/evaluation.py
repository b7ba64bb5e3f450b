"""Runs calls: results that are wanted, with all calls that they wait for, as one graph on the one executor."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
import weakref
from collections.abc import Sequence
from typing import ClassVar

from dali_lab.device.interface import Device
from dali_lab.dynamic.modes import EvalContext
from dali_lab.executor.immediate import ImmediateGraph
from dali_lab.executor.placement import choose_device, device_for_preview, gpu_nodes
from dali_lab.graph.graph import Graph
from dali_lab.graph.passes import optimized
from dali_lab.graph.recorder import DataNode, OpCall
from dali_lab.graph.seeds import graph_seeds
from dali_lab.graph.tracing import build_graph
from dali_lab.model.batch import Batch
from dali_lab.model.user_code import user_stacklevel

_waiting: weakref.WeakValueDictionary[int, Outcome] = weakref.WeakValueDictionary()


class Slot(DataNode):
    """A result: a symbol for what an operator will make, and the batch once it is there.

    Then nothing of the call is kept: whatever uses the symbol begins there.
    """

    def __init__(self, source: OpCall, index: int, device: str) -> None:
        super().__init__(source, index, device)
        self.batch: Batch | None = None

    @classmethod
    def of(cls, batch: Batch, device: str = "cpu") -> Slot:
        """A symbol for a batch that is there."""
        slot = cls(_given(), 0, device)
        slot.batch = batch
        return slot

    def fill(self, batch: Batch) -> None:
        """Put the batch in place of the call."""
        self.source, self.index, self.batch = _given(), 0, batch


class Holder:
    """A tensor or a batch.

    Attributes
    ----------
    slot
        The symbol that calls take.
    """

    _is_batch: ClassVar[bool] = False

    slot: Slot


def _given() -> OpCall:
    return OpCall("external_source", "cpu", (), {}, {}, None, 1)


class Outcome:
    """The results of one call on a number of samples."""

    def __init__(self, nodes: Sequence[DataNode], count: int) -> None:
        self.slots = [Slot(node.source, node.index, node.device) for node in nodes]
        self.count = count
        for slot in self.slots:
            _waiting[slot.source.number] = self
        self.context = EvalContext.current()
        self.context.remember(self)

    @property
    def done(self) -> bool:
        """Whether all results are there."""
        return all(slot.batch is not None for slot in self.slots)

    def evaluate(self) -> None:
        """Run the call, and those before it that were not run yet.

        Raises
        ------
        DaliLabError
            The error of the first operator to fail.
        """
        if not self.done:
            _evaluate(self)


def _evaluate(wanted: Outcome) -> None:
    calls, known = _collect(wanted.slots)
    # Results that others still hold are kept too, so that nothing is run twice.
    outcomes = [outcome for number in sorted(calls) if (outcome := _waiting.get(number)) and not outcome.done]
    outcomes = list(dict.fromkeys(outcomes))
    for outcome in outcomes:
        # Callers that asked get the result or the error: leaving a context does not run them again.
        outcome.context.forget(outcome)
    slots = [slot for outcome in outcomes for slot in outcome.slots if slot.batch is None]
    prepared = _prepare(slots, [call for call, _ in known], wanted)
    with contextlib.closing(prepared):
        results = prepared.run(wanted.count, [batch for _, batch in known])
    for slot, batch in zip(slots, results, strict=True):
        slot.fill(batch)


def _prepare(slots: Sequence[Slot], known: Sequence[OpCall], wanted: Outcome) -> ImmediateGraph:
    """A graph for results, with the calls whose results are there as inputs."""
    context = wanted.context
    graph = build_graph(slots)
    if len(graph.nodes) > len(known) + 1:
        graph = optimized(graph)
    device = _device(graph, context.device_id or 0)
    # One sample is one task: going to a thread and back takes longer than what most calls do.
    pool = None if wanted.count == 1 and device is None else context.pool
    threads = context.num_threads
    chunk = max(1, -(-wanted.count // threads))
    names = [call.placed for call in known]
    return ImmediateGraph(graph, names, graph_seeds(graph, 0), device=device, pool=pool, threads=threads, chunk=chunk)


def _collect(slots: Sequence[Slot]) -> tuple[dict[int, OpCall], list[tuple[OpCall, Batch]]]:
    """The calls that results wait for, by their numbers, and the batches that these begin with."""
    calls: dict[int, OpCall] = {}
    known: dict[int, tuple[OpCall, Batch]] = {}
    stack: list[DataNode] = list(slots)
    while stack:
        node = stack.pop()
        call = node.source
        if isinstance(node, Slot) and node.batch is not None:
            known[call.number] = call, node.batch
        elif call.number not in calls:
            calls[call.number] = call
            stack += [*call.inputs, *call.connections.values()]
    return calls, list(known.values())


def _device(graph: Graph, index: int) -> Device | None:
    """The device for nodes that are placed on a GPU; warns once if there is none."""
    mode = os.environ.get("DALI_LAB_GPU") or "auto"
    if mode == "require":
        return choose_device(graph, mode, index)
    if not gpu_nodes(graph):
        return None
    device = device_for_preview(graph.replaced(pipeline={"device_id": index}))
    if device is None and mode != "never":
        _warn_without_gpu()
    return device


@functools.cache
def _warn_without_gpu() -> None:
    message = "no GPU can be used, so operators that are placed on one run on the CPU (DALI_LAB_GPU=require: an error)"
    warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
