"""The part of a run that one reader of a dataset gets; it travels in the dataset's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from dali_lab.interop.ray.epochs import Epochs, Piece, blocks, blocks_of_rank
from dali_lab.interop.ray.progress import Progress
from dali_lab.interop.ray.tables import Samples

Rest = Callable[[Mapping[str, Samples], int], Mapping[str, Samples]]
"""The rest of a graph that was cut: from the columns of a batch, and its number, to columns."""

CONFIG = "dali_lab"
"""Key of our settings in the context of a dataset."""


@dataclass(frozen=True)
class Share:
    """The part of a run that one reader of a dataset gets.

    Attributes
    ----------
    epochs
        Where epochs begin and end.
    progress
        Where the first execution of the dataset goes on; it gives the number of the first epoch.
    size
        Batches in a block.
    rank, ranks
        The rank that reads it, and the number of ranks.
    positions
        Whether it has the column :data:`~dali_lab.interop.ray.engines.POSITION`.
    at
        The epoch to read; by default each execution of the dataset reads the next one.
    rest
        The rest of a graph that was cut, which iterators run.
    """

    epochs: Epochs
    progress: Progress
    size: int
    rank: int = 0
    ranks: int = 1
    positions: bool = False
    at: int | None = None
    rest: Rest | None = None

    def epoch(self, execution: int) -> int:
        """The epoch that an execution of the dataset reads."""
        return self.progress.epoch + execution if self.at is None else self.at

    def blocks(self, epoch: int) -> list[list[Piece]]:
        """The batches of an epoch that are still to be delivered, block by block."""
        found = self.epochs.pieces(epoch)
        left = [piece for piece in found if epoch != self.progress.epoch or piece.batch not in self.progress]
        if self.ranks == 1:
            return blocks(left, self.size)
        return blocks_of_rank(left, self.size, self.rank, self.ranks, self.epochs.policy)

    def steps(self, epoch: int) -> int:
        """The number of batches that :meth:`blocks` holds, the same for all ranks."""
        return sum(map(len, self.blocks(epoch)))


class Context(Protocol):
    """The context of a dataset, as far as it is used here."""

    def get_config(self, key: str, default: object = None) -> object: ...
    def set_config(self, key: str, value: object) -> None: ...


def share_of(context: Context | None) -> Share | None:
    """The part that a context asks for; `None` where it belongs to no pipeline."""
    found = context.get_config(CONFIG) if context is not None else None
    return found if isinstance(found, Share) else None


def set_share(context: Context, share: Share, **changes: object) -> Share:
    """Have a context ask for a part, with some of its fields changed."""
    made: Share = replace(share, **changes)  # type: ignore[arg-type]
    context.set_config(CONFIG, made)
    return made
