"""Chooses chunk sizes: enough work for a call to pay, and enough chunks for all threads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dali_lab.executor.pool import InlinePool, ThreadPool

_WORTH_A_CHUNK = 2e-2
"""Seconds of work that a chunk should hold: calling the steps of a chunk costs 1 to 2 ms with the GIL held."""

_LEAST = 5e-4
"""Seconds of work below which a chunk is not worth another thread."""

_WORTH_HELP = 1e-3
"""Seconds of work for which another thread is called to help: waking one costs some hundredths of a millisecond."""


@dataclass
class Effort:
    """CPU time of a chunk in seconds, and the part of it that several threads could share."""

    seconds: float = 0.0
    shared: float = 0.0

    def share(self, pool: ThreadPool | InlinePool, count: int, few: int, work: Callable[[int], bool]) -> None:
        """Run work on `count` samples here, and on a `few` at a time on idle threads."""
        began = time.thread_time()
        helped = 0.0
        if count > few:
            helped = pool.share(lambda: work(count), lambda: work(few))
        else:
            work(count)
        self.seconds += helped
        self.shared += helped + time.thread_time() - began


class Pace:
    """Recent CPU time per sample of each stage, and the chunk sizes that follow.

    There are at least as many chunks as threads, because each thread begins one. Where threads share most of the work
    (:meth:`~dali_lab.schema.call.Call.share`), only enough for the rest are needed; less than half a thread's work does
    not count, because other batches are in flight.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._seconds: dict[int, float] = {}
        self._shared: dict[int, float] = {}

    def chunk_size(self, stage: int, count: int) -> int:
        """Four chunks for each thread, fewer where these would hold little work, one where the work is negligible."""
        pace = self._seconds.get(stage, 0.0)
        if not pace:
            return max(1, min(64, -(-count // (4 * self._threads))))
        alone = self._threads * (1 - self._shared[stage])
        worth = _WORTH_A_CHUNK * max(1.0, self._threads - alone)
        chunks = max(1, round(alone), min(4 * self._threads, int(count * pace / worth)))
        return max(1, -(-count // chunks), min(count, int(_LEAST / pace)))

    def part_size(self, stage: int) -> int:
        """Samples that a helping thread takes at a time: few, because tasks of its own may come."""
        pace = self._seconds.get(stage, 0.0)
        return math.ceil(_WORTH_HELP / pace) if pace else 1

    def note(self, stage: int, count: int, effort: Effort) -> None:
        """Record the least recent CPU time per sample of a stage, so that compilation does not count."""
        seconds, shared = effort.seconds / count, effort.shared / max(1e-9, effort.seconds)
        known = self._seconds.get(stage)
        self._seconds[stage] = max(1e-9, seconds if known is None else min(seconds, 1.1 * known))
        self._shared[stage] = (shared + self._shared.get(stage, shared)) / 2
