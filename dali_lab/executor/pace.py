"""How many samples a chunk holds: enough work for a call to pay, and chunks enough for all threads."""

from __future__ import annotations

_WORTH_A_CHUNK = 2e-2
"""Seconds of work that a chunk should hold: the calls of a chunk take one or two thousandths, with the GIL."""

_LEAST = 5e-4
"""Seconds of work under which a chunk is not worth another thread."""


class Pace:
    """What the samples of each stage took lately, in CPU time, and the chunks that follow from it."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._seconds: dict[int, float] = {}

    def chunk_size(self, stage: int, count: int) -> int:
        """Four chunks for each thread, or fewer where these would hold little work; one where that is next to none."""
        pace = self._seconds.get(stage, 0.0)
        if not pace:
            return max(1, min(64, -(-count // (4 * self._threads))))
        chunks = max(self._threads, min(4 * self._threads, int(count * pace / _WORTH_A_CHUNK)))
        return max(1, -(-count // chunks), min(count, int(_LEAST / pace)))

    def note(self, stage: int, seconds: float) -> None:
        """Keep the least CPU time of a sample in a stage that was seen lately: compilation must not count."""
        known = self._seconds.get(stage)
        self._seconds[stage] = max(1e-9, seconds if known is None else min(seconds, 1.1 * known))
