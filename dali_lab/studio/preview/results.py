"""Results of an evaluation, node by node, and the token that stops it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.failures import Cancelled
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.studio.protocol.values import SessionError


@dataclass(frozen=True)
class Failure:
    """An error at a node; `sample` is `None` when it concerns all of them."""

    error: BaseException
    sample: int | None = None


@dataclass
class NodeResult:
    """Outputs and failures of a node.

    Attributes
    ----------
    key
        Names the content: equal keys, equal results.
    outputs
        One batch for each output; `None` where every sample failed.
    missing
        For each output, the samples that failed.
    failures
        Errors of this node, by sample.
    seconds
        Time spent, summed over threads.
    count
        Samples asked for.
    unmeasured
        It is to be computed again for its time, as kernels were being compiled.
    files
        State of the files that were read, to notice when one changes.
    """

    key: str
    outputs: list[Batch | None] = field(default_factory=list)
    missing: list[frozenset[int]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    seconds: float | None = None
    count: int = 0
    unmeasured: bool = False
    files: tuple[tuple[str, int, int], ...] = ()

    def size(self) -> int:
        """Bytes that keeping it takes."""
        return 512 + sum(batch.nbytes for batch in self.outputs if batch is not None)


@dataclass
class Evaluation:
    """Results of all nodes.

    Attributes
    ----------
    results
        By node, for the nodes that were tried.
    computed
        Nodes that were computed now; the others were cached.
    waiting
        Nodes that could not be tried, with the node they wait for.
    samples
        Samples asked for.
    total
        Samples in the whole batch.
    """

    results: dict[str, NodeResult] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)
    waiting: dict[str, str] = field(default_factory=dict)
    samples: int = 0
    total: int = 0

    def gave(self, edge: Edge) -> bool:
        """Whether there is a batch for an edge."""
        result = self.results.get(edge.node)
        return result is not None and edge.output < len(result.outputs) and result.outputs[edge.output] is not None

    def combined(self, edges: Sequence[Edge], members: Sequence[str]) -> NodeResult | None:
        """The result of nodes that are shown as one with these outputs; `None` where one of these was not tried."""
        given = [(self.results[edge.node], edge.output) for edge in edges if edge.node in self.results]
        if len(given) < len(edges) or any(output >= len(result.outputs) for result, output in given):
            return None
        inner = [self.results[name] for name in members if name in self.results]
        seconds = [result.seconds for result in inner if result.seconds is not None]
        if any(result.unmeasured for result in inner):
            seconds = []
        return NodeResult(
            "/".join(f"{output} {result.key}" for result, output in given),
            [result.outputs[output] for result, output in given],
            [result.missing[output] for result, output in given],
            [failure for result in inner for failure in result.failures],
            sum(seconds) if seconds else None,
            max((result.count for result in inner), default=0),
        )

    def reason(self, sample: int) -> str:
        """Why a sample is missing: the error of the node that lost it."""
        for name, result in self.results.items():
            for failure in result.failures:
                if failure.sample == sample:
                    said = SessionError.of(failure.error)
                    file = f" ({os.path.basename(said.file)})" if said.file else ""
                    return f"{name}: {said.message}{file}"
        return ""

    def known(self) -> dict[Edge, Batch]:
        """All batches, by edge."""
        return {
            Edge(name, index): batch
            for name, result in self.results.items()
            for index, batch in enumerate(result.outputs)
            if batch is not None
        }

    def missing(self) -> dict[Edge, frozenset[int]]:
        """For each edge that was tried, the samples that failed."""
        return {
            Edge(name, index): lacking
            for name, result in self.results.items()
            for index, lacking in enumerate(result.missing)
        }


class Token:
    """Cancels an evaluation; `reason` is the protocol's word for the end."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._run: BatchRun | None = None
        self._lock = threading.Lock()

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop as soon as the calls that run now return."""
        with self._lock:
            self.reason = self.reason or reason
            if self._run is not None:
                self._run.cancel()

    def watch(self, run: BatchRun) -> None:
        """Set the batch that :meth:`cancel` stops."""
        with self._lock:
            self._run = run
            if self.reason is not None:
                run.cancel()

    def check(self) -> None:
        """Raise :class:`Cancelled` if :meth:`cancel` was called."""
        if self.reason is not None:
            raise Cancelled
