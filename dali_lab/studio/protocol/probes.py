"""Probes: a small network trained with and without augmentations."""

from __future__ import annotations

from typing import Literal

from dali_lab.studio.protocol.values import SessionError, Wire


class ProbeRequest(Wire):
    """Train on the labelled folder that a node's pictures come from; ``probe.progress`` and ``probe.done`` follow.

    `nodes` are the steps in question, by default all that depend on chance; `side` is the height and width that
    pictures are brought to, and `samples` the most that are used.
    """

    run: int
    node: str
    output: int = 0
    nodes: list[str] | None = None
    seeds: int = 3
    epochs: int = 8
    samples: int = 600
    side: int = 48


class ProbeCurve(Wire):
    """The share of right answers on pictures that were held back, after each epoch of one training."""

    augmented: bool
    seed: int
    accuracies: list[float]


class ProbeProgress(Wire):
    """Epochs done, of all trainings; seconds left, once they can be told; the curves so far."""

    run: int
    done: int
    total: int
    left: float | None
    curves: list[ProbeCurve]


class ProbeDone(Wire):
    """The curves; `difference` is the mean over the seeds of the last accuracy with less that without.

    `spread` is the standard deviation of that difference from seed to seed, where there are several. `broken` are files
    that cannot be read; other pictures were taken in their places.
    """

    run: int
    status: Literal["done", "cancelled", "failed"]
    curves: list[ProbeCurve] | None = None
    difference: float | None = None
    spread: float | None = None
    training: int = 0
    measured: int = 0
    classes: int = 0
    nodes: list[str] | None = None
    seconds: float = 0.0
    broken: list[str] | None = None
    error: SessionError | None = None
