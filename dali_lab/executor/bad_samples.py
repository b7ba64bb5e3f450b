"""Bad samples: the policy for them, and the record of those that a pipeline has met."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError, OperatorError
from dali_lab.schema.source import Draw

OnError = Literal["raise", "skip", "replace"]
ON_ERROR: tuple[OnError, ...] = get_args(OnError)
DEFAULT_RATE = 0.05
WINDOW = 1000
"""Samples over which the share of bad ones is taken."""
RECORDS = 10_000
"""Bad samples that are kept in the record: the latest ones."""
_NAMED = 3


@dataclass(frozen=True)
class BadSample:
    """One bad sample.

    Attributes
    ----------
    node, operator
        The node that failed, and its operator's name under ``fn``.
    file
        The file that the sample came from, if it came from one.
    message
        The error's message.
    sample
        Index of the sample in its batch.
    epoch, iteration
        Number of the epoch, and of the batch since the pipeline was built; both from 0.
    replacement
        Index in its batch of the sample that took the place; `None` if the sample was left out.
    replacement_iteration
        Number of that batch: this one, or the last one with a good sample, or else the next one.
    replacement_file
        The file of that sample, if it came from one.
    """

    node: str
    operator: str
    file: str | None
    message: str
    sample: int
    epoch: int
    iteration: int
    replacement: int | None = None
    replacement_iteration: int | None = None
    replacement_file: str | None = None

    def __str__(self) -> str:
        place = f"fn.{self.operator} (node '{self.node}')" if self.operator else f"node '{self.node}'"
        file = f"\n    file: {self.file}" if self.file else ""
        return f"{place}, batch {self.iteration}, sample {self.sample}: {self.message}{file}"


class TooManyBadSamples(OperatorError):
    """More samples are bad than ``max_error_rate`` allows."""

    default_code = "too_many_bad_samples"


@dataclass(frozen=True)
class ErrorPolicy:
    """The answer of a pipeline to a sample that fails.

    Attributes
    ----------
    on_error
        The pipeline's answer: raise the error, leave the sample out, or replace it.
    by_node
        The answers of nodes that have one of their own.
    """

    on_error: OnError
    by_node: Mapping[str, OnError] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, on_error: OnError) -> ErrorPolicy | None:
        """The policy of a pipeline and of its graph's nodes; `None` where all errors are raised."""
        by_node = {
            name: node.arguments["on_error"] for name, node in graph.nodes.items() if "on_error" in node.arguments
        }
        return None if {on_error, *by_node.values()} == {"raise"} else cls(on_error, by_node)

    def answer(self, node: str | None) -> OnError:
        """The answer to a sample that fails at a node."""
        return self.by_node.get(node or "", self.on_error)

    def covers(self, error: BaseException) -> bool:
        """Whether an error, located at its node, may make a sample bad: not so a lack of memory or a cancelled call."""
        if not isinstance(error, DaliLabError) or isinstance(error.__cause__, MemoryError):
            return False
        return self.answer(error.node) != "raise"


@dataclass(frozen=True)
class Origin:
    """The sample of the sources that stands at a place of a batch: its batch's draws, and its index there."""

    iteration: int
    draws: Mapping[str, Draw]
    row: int


@dataclass
class Failure:
    """A position of a batch whose own sample is bad.

    Attributes
    ----------
    error
        The first error about it.
    tries
        Samples that were tried in its place.
    origin, file
        The sample that stands there now, and its file.
    """

    error: DaliLabError
    tries: int = 0
    origin: Origin | None = None
    file: str | None = None


class BadSampleLog:
    """The bad samples of a run, and their share.

    Parameters
    ----------
    rate
        The largest share of bad samples: of the last :data:`WINDOW`, also where there were fewer so far.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.records: deque[BadSample] = deque(maxlen=RECORDS)
        self.total = 0
        self._batches: deque[tuple[int, int]] = deque()
        self._seen = self._bad = 0

    def note(self, samples: int, bad: Iterable[BadSample]) -> None:
        """Count a batch.

        Raises
        ------
        TooManyBadSamples
            If the share of bad samples is too large; it names the first ones.
        """
        found = list(bad)
        self.records.extend(found)
        self.total += len(found)
        self._batches.append((samples, len(found)))
        self._seen += samples
        self._bad += len(found)
        while self._seen - self._batches[0][0] >= WINDOW:
            before = self._batches.popleft()
            self._seen -= before[0]
            self._bad -= before[1]
        if found and self._bad > self._rate * max(WINDOW, self._seen):
            first = list(self.records)[-self._bad :][:_NAMED]
            listed = "".join(f"\n  {record}" for record in first)
            raise TooManyBadSamples(
                f"{self._bad} of the last {self._seen} samples were bad, more than max_error_rate={self._rate:g} of"
                f" {max(WINDOW, self._seen)} allows; the first were{listed}"
            )

    def state(self) -> dict[str, Any]:
        """The state for :meth:`restore`, as plain JSON values."""
        return {
            "records": [list(dataclasses.astuple(record)) for record in self.records],
            "total": self.total,
            "batches": [list(batch) for batch in self._batches],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Raises
        ------
        ValueError, KeyError, TypeError
            If it is damaged.
        """
        self.records.extend(BadSample(*record) for record in state["records"])
        self.total = int(state["total"])
        self._batches = deque((int(samples), int(bad)) for samples, bad in state["batches"])
        self._seen = sum(samples for samples, _ in self._batches)
        self._bad = sum(bad for _, bad in self._batches)
