"""Shards of a store: equal work for each process, all samples in each epoch, another order in the next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dali_lab
from dali_lab import fn

COUNT, RANKS, BATCH = 23, 3, 4


@pytest.fixture
def stored() -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec", reason="remote files (pip install dali-lab[remote])")
    system = fsspec.filesystem("memory")
    for number in range(COUNT):
        system.pipe(f"/sharded/{'abc'[number % 3]}/{number}.png", bytes([number]))
    yield "memory://sharded"
    system.store.clear()


def epochs(root: str, rank: int, count: int) -> list[list[int]]:
    """Numbers of the files that a process reads in some epochs."""
    pipe = dali_lab.Pipeline(BATCH, 1, None)
    with pipe:
        encoded, _ = fn.readers.file(
            file_root=root, shard_id=rank, num_shards=RANKS, pad_last_batch=True, shuffle_after_epoch=True
        )
        pipe.set_outputs(encoded)
    pipe.build()
    per_epoch = -(-pipe.epoch_size()[next(iter(pipe.epoch_size()))] // RANKS)
    result = []
    for _ in range(count):
        numbers: list[int] = []
        for _ in range(-(-per_epoch // BATCH)):
            (out,) = pipe.run()
            numbers += [int(np.array(out.at(i))[0]) for i in range(len(out))]
        result.append(numbers)
    pipe.close()
    return result


def test_ranks_work_alike_and_see_everything_in_another_order(stored: str) -> None:
    ranks = [epochs(stored, rank, 3) for rank in range(RANKS)]
    together = []
    for epoch in range(3):
        assert len({len(numbers[epoch]) for numbers in ranks}) == 1
        assert set().union(*(numbers[epoch] for numbers in ranks)) == set(range(COUNT))
        together.append([numbers[epoch] for numbers in ranks])
    assert together[0] != together[1] != together[2]
    # Files go from one process to another between epochs.
    assert any(set(numbers[0]) != set(numbers[1]) for numbers in ranks)
