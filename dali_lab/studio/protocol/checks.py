"""Checks of the dataset that a graph reads."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from dali_lab.studio.protocol.values import SessionError, Wire


class CheckRequest(Wire):
    """Go through all samples of the graph's readers; only one check or run goes on at a time."""

    run: int


class CheckProgress(Wire):
    """A check goes on: samples behind it, samples a second, seconds left."""

    run: int
    done: int
    total: int
    rate: float
    left: float


class CheckFinding(Wire):
    """A problem of the data; `iteration` and `index` say where the preview has the sample, if this shard has it."""

    kind: str
    severity: Literal["error", "warning"]
    reader: str
    message: str
    sample: str | None = None
    node: str | None = None
    iteration: int | None = None
    index: int | None = None


class CheckKind(Wire):
    """A kind of finding: its heading, how many there are, and the first ones."""

    kind: str
    severity: Literal["error", "warning"]
    title: str
    count: int
    findings: list[CheckFinding]


class CheckDone(Wire):
    """A check has ended; `exclude` is the content of an exclude list of the samples with errors."""

    run: int
    status: Literal["done", "cancelled", "failed"]
    samples: int = 0
    seconds: float = 0.0
    kinds: list[CheckKind] = field(default_factory=list)
    exclude: str = ""
    error: SessionError | None = None
