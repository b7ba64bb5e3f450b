"""How long operators took the last time, by which previews judge how to run them the next time."""

from __future__ import annotations

from collections.abc import Collection

_MOMENT = 0.05


class OperatorTimes:
    """What is known of the speed of operators, all nodes with the same operator taken together."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def knows(self, operators: Collection[str]) -> bool:
        """Whether all of these were used before, so that their kernels are there."""
        return all(op in self._seconds for op in operators)

    def note(self, op: str, seconds: float | None) -> None:
        """An operator was used, and took this long for a sample; `None` where that says nothing of the next time."""
        self._seconds[op] = _MOMENT if seconds is None else seconds

    def chunk(self, operators: Collection[str], size: int, threads: int) -> int:
        """Samples in a chunk: a share of `size` for each thread where all of it is a matter of a moment, else one."""
        seconds = sum(self._seconds.get(op, _MOMENT) for op in operators)
        return -(-size // threads) if seconds * size < _MOMENT else 1
