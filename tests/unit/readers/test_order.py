"""The order of a reader's samples compared with NVIDIA DALI's file reader, live."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from dali_lab.errors import ArgumentError
from dali_lab.operators.readers import shuffling
from dali_lab.operators.readers.order import ReaderOrder
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali")

MODES: list[dict[str, Any]] = [
    {},
    {"random_shuffle": True, "initial_fill": 1},
    {"random_shuffle": True, "initial_fill": 5},
    {"random_shuffle": True},
    {"shuffle_after_epoch": True},
]


def dali_batches(size: int, batch: int, count: int, *, seed: int, checkpointing: bool = False, **options: Any) -> Any:
    pipe = dali.Pipeline(batch, 1, None, seed=1, enable_checkpointing=checkpointing)
    with pipe:
        _, label = dali.fn.readers.file(
            files=[__file__] * size, labels=list(range(size)), seed=seed, name="reader", **options
        )
        pipe.set_outputs(label)
    pipe.build()
    batches = [np.array(pipe.run()[0].as_tensor()).reshape(-1).tolist() for _ in range(count)]
    return batches, pipe.reader_meta("reader")


def check(size: int, batch: int, *, seed: int = 7, checkpointing: bool = False, **options: Any) -> None:
    count = -(-3 * size // batch) + 3
    theirs, meta = dali_batches(size, batch, count, seed=seed, checkpointing=checkpointing, **options)
    order = ReaderOrder(size, seed=seed, checkpointing=checkpointing, **options)
    assert [order.next_batch(batch).tolist() for _ in range(count)] == theirs
    assert order.meta() == meta


def combinations() -> Any:
    everything = itertools.product((1, 2, 7, 16, 33), (1, 2, 3), (1, 3, 8), (False, True), (False, True), MODES)
    for number, (size, shards, batch, pad, stick, mode) in enumerate(everything):
        if shards <= size and not ("shuffle_after_epoch" in mode and stick):
            yield {
                "size": size, "batch": batch, "num_shards": shards, "shard_id": number % shards,
                "pad_last_batch": pad, "stick_to_shard": stick, **mode,
            }  # fmt: skip


CASES = list(combinations())


@with_each("case", CASES[::4])
def test_three_epochs(case: dict[str, Any]) -> None:
    check(**case)


@pytest.mark.parametrize("shard", range(4))
@pytest.mark.parametrize("pad", [False, True])
def test_every_shard(shard: int, pad: bool) -> None:
    options = {"num_shards": 4, "shard_id": shard, "pad_last_batch": pad}
    check(22, 4, random_shuffle=True, initial_fill=9, **options)
    check(22, 4, shuffle_after_epoch=True, **options)


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**32 - 1, 2**40 + 3, -5])
def test_seeds(seed: int) -> None:
    check(50, 8, seed=seed, random_shuffle=True, initial_fill=20)


@pytest.mark.parametrize("list_seed", [0, 1, 2**32 + 5, 2**62, -1])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_seeds_of_the_shuffle_after_epoch(list_seed: int, checkpointing: bool) -> None:
    check(29, 8, shuffle_after_epoch=True, shuffle_after_epoch_seed=list_seed, checkpointing=checkpointing)


@pytest.mark.parametrize("mode", [{}, {"random_shuffle": True, "initial_fill": 6}, {"shuffle_after_epoch": True}])
def test_with_checkpointing(mode: dict[str, Any]) -> None:
    check(23, 4, checkpointing=True, num_shards=2, shard_id=1, **mode)


@pytest.mark.parametrize("size", [65_535, 65_536, 70_001])
@pytest.mark.parametrize("mode", [{"random_shuffle": True}, {"shuffle_after_epoch": True}])
def test_long_lists(size: int, mode: dict[str, Any]) -> None:
    theirs, _ = dali_batches(size, 5000, 15, seed=3, **mode)
    order = ReaderOrder(size, seed=3, **mode)
    assert [order.next_batch(5000).tolist() for _ in range(15)] == theirs


@with_each("mode", [*MODES, {"shuffle_after_epoch": True, "parts": np.array([9, 0, 4, 12])}])
@with_each("checkpointing", [False, True])
@with_each("taken", [0, 1, 5, 40])
def test_going_on_from_a_state(mode: dict[str, Any], checkpointing: bool, taken: int) -> None:
    options = {"num_shards": 3, "shard_id": 1, "pad_last_batch": True, "checkpointing": checkpointing, **mode}
    order = ReaderOrder(25, seed=4, **options)
    for _ in range(taken):
        order.next_batch(4)
    state = json.loads(json.dumps(order.get_state()))
    expected = [order.next_batch(4).tolist() for _ in range(30)]
    other = ReaderOrder(25, seed=4, **options)
    other.next_batch(7)
    other.set_state(state)
    assert [other.next_batch(4).tolist() for _ in range(30)] == expected
    order.set_state(state)
    assert [order.next_batch(4).tolist() for _ in range(30)] == expected
    other.reset()
    assert other.next_batch(9).tolist() == ReaderOrder(25, seed=4, **options).next_batch(9).tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_shards": 0}, "at least 1"),
        ({"num_shards": 3, "shard_id": 3}, "from 0 to 2"),
        ({"shard_id": -1}, "from 0"),
        ({"num_shards": 11}, "samples: 10, .* shards: 11"),
        ({"random_shuffle": True, "initial_fill": 0}, "at least 1"),
        ({"shuffle_after_epoch": True, "stick_to_shard": True}, "stick_to_shard"),
        ({"shuffle_after_epoch": True, "random_shuffle": True}, "random_shuffle"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        ReaderOrder(10, **arguments)


def test_state_of_another_reader() -> None:
    state = ReaderOrder(10).get_state()
    with pytest.raises(ValueError, match="10 samples, and there are 11"):
        ReaderOrder(11).set_state(state)
    order = ReaderOrder(10, random_shuffle=True, initial_fill=3)
    order.next_batch(2)
    with pytest.raises(ValueError, match="other arguments"):
        ReaderOrder(10, random_shuffle=True, initial_fill=4).set_state(order.get_state())


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("stick", [False, True])
def test_a_buffer_beyond_a_shard_costs_no_memory(pad: bool, stick: bool) -> None:
    """It gives the samples that a buffer as large as asked for gives, here in NVIDIA DALI."""
    order = {"random_shuffle": True, "num_shards": 3, "shard_id": 1, "pad_last_batch": pad, "stick_to_shard": stick}
    theirs, _ = dali_batches(16, 3, 25, seed=5, initial_fill=64, **order)
    ours = ReaderOrder(16, seed=5, initial_fill=10**12, **order)
    assert [ours.next_batch(3).tolist() for _ in range(25)] == theirs
    assert len(json.dumps(ours.get_state())) < 500


def test_a_state_with_a_buffer_beyond_a_shard() -> None:
    """Checkpoints of the first release have one."""
    options: dict[str, Any] = {"seed": 5, "random_shuffle": True, "initial_fill": 40}
    order = ReaderOrder(10, **options)
    order._begin(40)
    order.next_batch(7)
    state = json.loads(json.dumps(order.get_state()))
    assert len(state["buffer"]) == 40
    other = ReaderOrder(10, **options)
    other.set_state(state)
    assert [other.next_batch(4).tolist() for _ in range(9)] == [order.next_batch(4).tolist() for _ in range(9)]


@pytest.mark.parametrize("damage", [{0: 10}, {0: -1}, {2: 1}, {5: 10}, {6: 0}, {6: 2**31 - 1}, {7: 1.5}, {8: "1"}])
def test_damaged_state(damage: dict[int, Any]) -> None:
    order = ReaderOrder(10, random_shuffle=True, initial_fill=3)
    order.next_batch(2)
    state = order.get_state()
    for place, value in damage.items():
        state["state"][place] = value
    with pytest.raises(ValueError, match="damaged"):
        ReaderOrder(10, random_shuffle=True, initial_fill=3).set_state(state)


def test_the_engine_is_that_of_the_standard() -> None:
    """ISO/IEC 14882, [rand.predef]: the 10,000th number of a mt19937_64 that begins as it does by default."""
    assert shuffling.Engine64(5489).random_raw(10_000)[-1] == 9981545732273789042


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1001, 70_000])
def test_long_lists_are_swapped_by_a_kernel_to_the_same_order(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled = []
    for many in (size, 0):
        monkeypatch.setattr(shuffling, "_MANY", many)
        shuffled.append(np.arange(size))
        shuffling.shuffle_once(shuffled[-1])
        shuffling.Reshuffling(seed=5).shuffle(shuffled[-1], 2)
    assert np.array_equal(*shuffled) and sorted(shuffled[0]) == list(range(size))
