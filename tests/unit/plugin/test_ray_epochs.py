"""Epochs of distributed runs in tasks: every batch once, equal work for each rank, small tasks at the end."""

from __future__ import annotations

import pytest

from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.ray.epochs import Piece, tasks, tasks_of_rank

PIECES = [Piece(number, 64) for number in range(1000)]


@pytest.mark.parametrize("at_once", [1, 2, 7, 500])
def test_tasks_become_smaller_towards_the_end(at_once: int) -> None:
    found = tasks(PIECES, 4, 32, at_once)
    assert [piece for task in found for piece in task] == PIECES
    sizes = [len(task) for task in found]
    assert sizes[0] == (32 if at_once < 16 else 4)
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes[-min(at_once, 3) :]) <= 4


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_ranks_share_all_batches(ranks: int) -> None:
    each = [tasks_of_rank(PIECES, 4, 32, 8, rank, ranks, LastBatchPolicy.DROP) for rank in range(ranks)]
    numbers = [piece.batch for found in each for task in found for piece in task]
    assert len(numbers) == len(set(numbers)) == 1000 // ranks * ranks
    assert len({sum(map(len, found)) for found in each}) == 1
