"""Times of operators in past previews, which decide how many samples a chunk has in the next one."""

from __future__ import annotations

from collections.abc import Collection

_MOMENT = 0.05


class OperatorTimes:
    """Last measured times of operators, shared by all nodes with the same operator."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def knows(self, operators: Collection[str]) -> bool:
        """Whether all of these were used before, so that their kernels are compiled."""
        return all(op in self._seconds for op in operators)

    def note(self, op: str, seconds: float | None) -> None:
        """Record the time of an operator for a sample; `None` where it does not predict the next one."""
        self._seconds[op] = _MOMENT if seconds is None else seconds

    def chunk(self, operators: Collection[str], size: int, threads: int) -> int:
        """Samples in a chunk: `size` shared out among the threads where all of it takes only a moment, else one."""
        seconds = sum(self._seconds.get(op, _MOMENT) for op in operators)
        return -(-size // threads) if seconds * size < _MOMENT else 1
