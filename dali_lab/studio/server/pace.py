"""The pace of websockets: a client that sends too much is read more slowly, which holds up nobody else."""

from __future__ import annotations

import time
from collections.abc import Callable

PIECES_A_SECOND = 200.0
"""Pieces of messages that are read of a client on average: a message has one, and more where it is large."""
BURST = 1000.0
"""Pieces that are read at once after a pause."""
PIECE = 64 << 10
"""Bytes of a piece."""
OPENING = 30
"""Pieces that opening a connection counts as."""


class Pace:
    """The delay before the next message is read.

    Parameters
    ----------
    clock
        Seconds that pass.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free = BURST
        self._at = clock()

    def delay(self, size: int) -> float:
        """Seconds to wait after a message of so many bytes."""
        now = self._clock()
        self._free = min(BURST, self._free + (now - self._at) * PIECES_A_SECOND) - 1 - size / PIECE
        self._at = now
        return max(0.0, -self._free / PIECES_A_SECOND)
