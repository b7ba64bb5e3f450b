"""The part of a run that one reader of a dataset gets; it travels in the dataset's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from dali_lab.interop.ray.epochs import Epochs, Piece, tasks, tasks_of_rank
from dali_lab.interop.ray.progress import Progress
from dali_lab.interop.ray.tables import Samples

Rest = Callable[[Mapping[str, Samples]], Mapping[str, Samples]]
"""The rest of a graph that was cut: from columns to columns."""

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
    least, most
        Batches in a task.
    at_once
        Tasks that the cluster can run at the same time.
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
    least: int
    most: int
    at_once: int
    rank: int = 0
    ranks: int = 1
    positions: bool = False
    at: int | None = None
    rest: Rest | None = None

    def epoch(self, execution: int) -> int:
        """The epoch that an execution of the dataset reads."""
        return self.progress.epoch + execution if self.at is None else self.at

    def tasks(self, epoch: int) -> list[list[Piece]]:
        """The batches of an epoch that are still to be delivered, task by task."""
        found = self.epochs.pieces(epoch)
        left = [piece for piece in found if epoch != self.progress.epoch or piece.batch not in self.progress]
        sizes = self.least, self.most, self.at_once
        if self.ranks == 1:
            made = tasks(left, *sizes)
        else:
            made = tasks_of_rank(left, *sizes, self.rank, self.ranks, self.epochs.policy)
        # The first task is short: batches of little memory come when their task ends.
        return [part for part in (made[0][: self.least], made[0][self.least :]) if part] + made[1:] if made else made

    def steps(self, epoch: int) -> int:
        """The number of batches that :meth:`tasks` holds, the same for all ranks."""
        return sum(map(len, self.tasks(epoch)))

    def rows(self, epoch: int) -> dict[int, int]:
        """The rows of each batch of an epoch, by its number."""
        return {piece.batch: piece.rows for task in self.tasks(epoch) for piece in task}


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
