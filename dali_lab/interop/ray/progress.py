"""Progress of a distributed run: which batches of an epoch were delivered, on however many machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dali_lab.model.errors import FormatError

FORMAT = "dali-lab ray progress"
VERSION = 1

Span = tuple[int, int]
"""Batches from the first number up to, not including, the second."""


def merged(spans: Iterable[Sequence[int]]) -> tuple[Span, ...]:
    """Spans that neither touch nor overlap, in ascending order."""
    result: list[Span] = []
    for first, end in sorted((span[0], span[1]) for span in spans):
        if result and first <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        elif end > first:
            result.append((first, end))
    return tuple(result)


@dataclass(frozen=True)
class Progress:
    """Batches of an epoch that were delivered.

    Attributes
    ----------
    seed
        The pipeline's seed.
    batch_size
        Samples in a batch.
    epoch
        Number of the epoch.
    done
        Batches of it that were delivered, by their numbers in the run.
    """

    seed: int
    batch_size: int
    epoch: int = 0
    done: tuple[Span, ...] = ()

    def state_dict(self) -> dict[str, object]:
        """The progress as plain JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "epoch": self.epoch,
            "done": [list(span) for span in self.done],
        }

    def __contains__(self, batch: int) -> bool:
        return any(first <= batch < end for first, end in self.done)

    @classmethod
    def load(cls, state: object) -> Progress:
        """The progress in a state, or of all ranks together in a list of theirs.

        Parameters
        ----------
        state
            What ``state_dict()`` gave, as a dictionary or as JSON text, or a list with that of each rank.

        Raises
        ------
        FormatError
            If it is something else, or the ranks are in different epochs or of different runs.
        """
        if isinstance(state, Progress):
            return state
        if isinstance(state, (str, bytes)):
            try:
                state = json.loads(state)
            except ValueError as error:
                raise FormatError(f"this is not a state of a distributed run ({error})") from None
        if isinstance(state, Mapping):
            return cls._of(state)
        if not isinstance(state, (list, tuple)) or not state:
            raise FormatError("this is not a state of a distributed run: give what state_dict() of each rank returned")
        ranks = [cls.load(entry) for entry in state]
        first = max(ranks, key=lambda rank: rank.epoch)
        for rank in ranks:
            if (rank.seed, rank.batch_size) != (first.seed, first.batch_size):
                raise FormatError("the states of the ranks are of different runs: their seeds or batch sizes differ")
            if rank.epoch < first.epoch - 1:
                raise FormatError(f"one rank is in epoch {rank.epoch}, another one in epoch {first.epoch}")
        spans = (span for rank in ranks if rank.epoch == first.epoch for span in rank.done)
        return cls(first.seed, first.batch_size, first.epoch, merged(spans))

    @classmethod
    def _of(cls, state: Mapping[str, object]) -> Progress:
        if state.get("format") != FORMAT:
            raise FormatError("this is not a state of a distributed run")
        if state.get("version") != VERSION:
            raise FormatError(
                f"this state of a run has version {state.get('version')}; this release reads version {VERSION}"
            )
        numbers = [state.get(name) for name in ("seed", "batch_size", "epoch")]
        spans = state.get("done")
        well = all(type(number) is int and number >= 0 for number in numbers) and isinstance(spans, list)
        if not well or any(
            not isinstance(span, list) or [type(n) for n in span] != [int, int] or not 0 <= span[0] < span[1]
            for span in (spans if isinstance(spans, list) else ())
        ):
            raise FormatError("this state of a run is damaged")
        seed, batch_size, epoch = (number for number in numbers if isinstance(number, int))
        return cls(seed, batch_size, epoch, merged(spans) if isinstance(spans, list) else ())
