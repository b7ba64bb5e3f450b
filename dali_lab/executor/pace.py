"""How many samples a chunk holds: enough work for a call to pay, and chunks enough for all threads."""

from __future__ import annotations

import math
from dataclasses import dataclass

_WORTH_A_CHUNK = 2e-2
"""Seconds of work that a chunk should hold: the calls of a chunk take one or two thousandths, with the GIL."""

_LEAST = 5e-4
"""Seconds of work under which a chunk is not worth another thread."""


@dataclass
class Effort:
    """CPU time of a chunk in seconds, and the part of it that several threads could share."""

    seconds: float = 0.0
    shared: float = 0.0


class Pace:
    """What the samples of each stage took lately, in CPU time, and the chunks that follow from it.

    Chunks are as many as there are threads, because each is begun by one; where threads share what is most of the
    work (:meth:`~dali_lab.schema.call.Call.share`), there need only be enough for the rest.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._seconds: dict[int, float] = {}
        self._shared: dict[int, float] = {}

    def chunk_size(self, stage: int, count: int) -> int:
        """Four chunks for each thread, or fewer where these would hold little work; one where that is next to none."""
        pace = self._seconds.get(stage, 0.0)
        if not pace:
            return max(1, min(64, -(-count // (4 * self._threads))))
        alone = self._threads * (1 - self._shared[stage])
        worth = _WORTH_A_CHUNK * max(1.0, self._threads - alone)
        chunks = max(1, math.ceil(alone), min(4 * self._threads, int(count * pace / worth)))
        return max(1, -(-count // chunks), min(count, int(_LEAST / pace)))

    def note(self, stage: int, count: int, effort: Effort) -> None:
        """Keep the least CPU time of a sample in a stage that was seen lately: compilation must not count."""
        seconds, shared = effort.seconds / count, effort.shared / max(1e-9, effort.seconds)
        known = self._seconds.get(stage)
        self._seconds[stage] = max(1e-9, seconds if known is None else min(seconds, 1.1 * known))
        self._shared[stage] = (shared + self._shared.get(stage, shared)) / 2
