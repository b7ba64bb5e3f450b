"""Epochs of a run: which of its batches belong to each, and which of these each rank gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dali_lab.interop.iteration import LastBatchPolicy


@dataclass(frozen=True)
class Piece:
    """One batch of a run, or its first samples.

    Attributes
    ----------
    batch
        Number of the batch in the run.
    rows
        Samples to keep of it.
    """

    batch: int
    rows: int


@dataclass(frozen=True)
class Epochs:
    """Beginnings and ends of the epochs of a run, as iterators over its pipeline count them.

    Parameters
    ----------
    batch_size
        Samples in a batch.
    samples
        Samples in an epoch; `None` where its length is given in `batches`.
    batches
        Batches in an epoch, where no reader knows it.
    padded
        Whether the reader fills the last batch with its last sample; otherwise it goes on into the next epoch.
    policy
        Treatment of an incomplete last batch.
    """

    batch_size: int
    samples: int | None
    batches: int | None = None
    padded: bool = False
    policy: LastBatchPolicy = LastBatchPolicy.PARTIAL

    def pieces(self, epoch: int) -> list[Piece]:
        """The batches of an epoch, in order."""
        if self.samples is None:
            assert self.batches is not None
            first, count, rest = epoch * self.batches, self.batches, 0
        else:
            first, count, rest = self._of_reader(epoch, self.samples)
        pieces = [Piece(batch, self.batch_size) for batch in range(first, first + count)]
        if rest and self.policy is LastBatchPolicy.PARTIAL:
            pieces[-1] = Piece(pieces[-1].batch, rest)
        return pieces[:-1] if rest and self.policy is LastBatchPolicy.DROP else pieces

    def _of_reader(self, epoch: int, samples: int) -> tuple[int, int, int]:
        """First batch of an epoch, its batches, and the samples of the last one if it is incomplete."""
        whole = math.ceil(samples / self.batch_size)
        if self.policy is not LastBatchPolicy.FILL or self.padded:
            return epoch * whole, whole, samples % self.batch_size
        first = ahead = 0
        for number in range(epoch + 1):
            count = math.ceil((samples - ahead) / self.batch_size)
            if count <= 0:  # the batch before held all of this epoch
                ahead, count = 0, whole
            if number == epoch:
                break
            first += count
            ahead += count * self.batch_size - samples
        return first, count, 0


def tasks(pieces: Sequence[Piece], least: int, most: int, at_once: int) -> list[list[Piece]]:
    """Pieces in groups, each for a task: large ones first, smaller ones at the end, so that all machines end together.

    Parameters
    ----------
    least, most
        Pieces in a group; the last one may have fewer.
    at_once
        Tasks that run at the same time.
    """
    found = []
    at = 0
    while at < len(pieces):
        size = _within(int((len(pieces) - at) / (1.5 * at_once)), least, most)
        found.append(list(pieces[at : at + size]))
        at += size
    return found


def _within(size: int, least: int, most: int) -> int:
    return min(max(size, least), most)


def tasks_of_rank(
    pieces: Sequence[Piece], least: int, most: int, at_once: int, rank: int, ranks: int, policy: LastBatchPolicy
) -> list[list[Piece]]:
    """The tasks of one rank: all ranks get the same number of batches, and no batch goes to two of them.

    Groups of batches are dealt in turn; the batches behind the last full round are dealt evenly. Where these are fewer
    than a batch for each rank, `policy` decides: ``FILL`` gives the last batch to the ranks without one again,
    ``PARTIAL`` gives them an empty batch, ``DROP`` leaves the batches out.
    """
    size = _within(len(pieces) // (8 * max(at_once, ranks)), least, most)
    rounds = len(pieces) // (size * ranks)
    mine = [list(pieces[(turn * ranks + rank) * size :][:size]) for turn in range(rounds)]
    left = pieces[rounds * ranks * size :]
    each, odd = divmod(len(left), ranks)
    ended = list(left[rank * each : (rank + 1) * each])
    if odd and policy is not LastBatchPolicy.DROP:
        at = each * ranks + rank
        spare = Piece(left[-1].batch, left[-1].rows if policy is LastBatchPolicy.FILL else 0)
        ended.append(left[at] if at < len(left) else spare)
    return [*mine, ended] if ended else mine
