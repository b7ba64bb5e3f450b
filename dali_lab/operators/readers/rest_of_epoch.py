"""The rest of an epoch for another number of shards than the one that began it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dali_lab.operators.readers.order import ReaderOrder


@dataclass
class RestOfEpoch:
    """Samples that the shards of an interrupted run have not given, cut into new shards of nearly equal size.

    Attributes
    ----------
    places
        Places in the reader's list of the rest of all shards.
    shards, shard
        Number of new shards, and this one.
    pad
        Repeat the last sample until the batch is full, and until each shard has given as many as the largest.
    engine, epoch
        With which the next epoch begins.
    taken
        Samples that were given, padding included.
    """

    places: list[int]
    shards: int
    shard: int
    pad: bool
    engine: int
    epoch: int
    taken: int = 0

    @property
    def _bounds(self) -> tuple[int, int]:
        return len(self.places) * self.shard // self.shards, len(self.places) * (self.shard + 1) // self.shards

    @property
    def over(self) -> bool:
        """Whether all was given."""
        start, stop = self._bounds
        return self.taken >= (-(-len(self.places) // self.shards) if self.pad else stop - start)

    def next_batch(self, count: int) -> list[int]:
        """The next samples: without padding fewer than `count` at the end."""
        start, stop = self._bounds
        found = self.places[min(stop, start + self.taken) : min(stop, start + self.taken + count)]
        if self.pad:
            found += [self.places[stop - 1]] * (count - len(found))
        self.taken += len(found)
        return found

    def meta(self, whole: Mapping[str, int]) -> dict[str, int]:
        """The result of ``Pipeline.reader_meta``, by that for whole epochs."""
        size = len(self.places)
        padded = -(-size // self.shards) * self.shards if self.pad else size
        return {**whole, "epoch_size": size, "epoch_size_padded": padded}

    def left(self) -> list[int]:
        """Places that are still to be given."""
        start, stop = self._bounds
        return self.places[min(stop, start + self.taken) : stop]

    def state(self) -> dict[str, Any]:
        """The state for :meth:`restored`, as plain JSON values."""
        return {"rest": self.places, "taken": self.taken, "then": [self.engine, self.epoch], "pad": self.pad}

    @classmethod
    def restored(cls, state: Mapping[str, Any], order: ReaderOrder) -> RestOfEpoch:
        """Go on from a state, with the shards of an order.

        Raises
        ------
        ValueError, KeyError, TypeError
            If it is damaged.
        """
        places, taken, (engine, epoch) = state["rest"], state["taken"], state["then"]
        if any(type(number) is not int for number in (*places, taken, engine, epoch)):
            raise ValueError("the saved state is damaged")
        if taken < 0 or not places or not 0 <= min(places) <= max(places) < order.size:
            raise ValueError("the saved state is damaged")
        pad = bool(state.get("pad", order.pad_last_batch))
        return cls(list(places), order.num_shards, order.shard_id, pad, engine, epoch, taken)


@dataclass(frozen=True)
class EpochOfIterator:
    """An iterator's epoch over a shard, which need not begin where one of the reader does.

    Attributes
    ----------
    taken
        Samples of it that were drawn, 0 behind its end.
    start
        Where it began: the engine and the number of the reader's epoch, and the samples that were drawn of that before.
    batch_size
        Samples that were drawn at once.
    drop
        Whether the iterator drops incomplete batches.
    """

    taken: int
    start: Sequence[int]
    batch_size: int
    drop: bool

    def __post_init__(self) -> None:
        engine, epoch, age = self.start
        numbers = (self.taken, self.batch_size, engine, epoch, age)
        if any(type(number) is not int for number in numbers) or not 0 < self.batch_size < 1 << 24:
            raise ValueError("the saved state of an iterator is damaged")


def merged(
    states: Sequence[Mapping[str, Any]],
    orders: Sequence[ReaderOrder],
    order: ReaderOrder,
    epochs_of: Sequence[Mapping[str, Any]] = (),
) -> RestOfEpoch:
    """The rest of an epoch that shards with these states have begun.

    Parameters
    ----------
    states
        The states of all shards, in their order.
    orders
        An order for each of them, which is used up.
    order
        The order that goes on: its shards are the new ones.
    epochs_of
        Arguments of :class:`EpochOfIterator` for each shard, where iterators read them: their epoch goes on, and not
        that of the reader.

    Raises
    ------
    ValueError
        If the states do not belong together.
    """
    iterators = [EpochOfIterator(**each) for each in epochs_of]
    if iterators and not any("rest" in state for state in states):
        rest = _rest_of_iterators(states, orders, order, iterators)
    else:
        rest = _rest_of_reader(states, orders, order)
    if iterators:
        # They count batches: the next epoch begins with one.
        rest.pad = True
        if iterators[0].drop:
            del rest.places[len(rest.places) // rest.shards * rest.shards :]
    return rest


def _rest_of_iterators(
    states: Sequence[Mapping[str, Any]],
    orders: Sequence[ReaderOrder],
    order: ReaderOrder,
    iterators: Sequence[EpochOfIterator],
) -> RestOfEpoch:
    """All samples that none of the iterators has drawn, the next ones of their shards first."""
    if len({each.taken > 0 for each in iterators}) > 1:
        raise ValueError("its shards are in different epochs; take the checkpoints after as many batches")
    parts: list[list[int]] = []
    begins: list[tuple[int, int]] = []
    drawn: list[set[int]] = []
    for state, old, each in zip(states, orders, iterators, strict=True):
        old.set_state(state)
        if each.taken:
            places, engine, following = old.rest_of_epoch()
            parts.append(places)
            drawn.append(set(old.drawn_since(each.start, each.taken, each.batch_size)))
        else:
            engine, following, _ = old.get_state()["epoch_start"]
        begins.append((engine, following))
    seen = set().union(*drawn)
    aligned = not any(each.start[2] for each in iterators)
    if aligned and sum(map(len, drawn)) != len(seen):
        raise ValueError(_NOT_ALL)
    left = [place for place in dict.fromkeys((*_in_turn(parts), *range(order.size))) if place not in seen]
    return _rest(left if seen else [], order, [engine for engine, _ in begins], max(epoch for _, epoch in begins))


def _rest_of_reader(
    states: Sequence[Mapping[str, Any]], orders: Sequence[ReaderOrder], order: ReaderOrder
) -> RestOfEpoch:
    """All samples of the reader's epoch that were not drawn."""
    parts: list[list[int]] = []
    engines: list[int] = []
    epochs: set[int] = set()
    for state, old in zip(states, orders, strict=True):
        if "rest" in state:
            begun = RestOfEpoch.restored(state, old)
            places, engine, following = begun.left(), begun.engine, begun.epoch
        else:
            old.set_state(state)
            places, engine, following = old.rest_of_epoch()
        parts.append(places)
        engines.append(engine)
        epochs.add(following)
    if len(epochs) > 1:
        raise ValueError(
            "its shards are in different epochs, which only happens near the end of one without pad_last_batch;"
            " take the checkpoints some batches earlier or later"
        )
    places = _in_turn(parts)
    if len(set(places)) != len(places):
        raise ValueError(_NOT_ALL)
    return _rest(places, order, engines, epochs.pop())


_NOT_ALL = "these are not the checkpoints of all shards, in the order of their shard_id"


def _in_turn(parts: Sequence[Sequence[int]]) -> list[int]:
    """The next samples of all shards first, as they would have come."""
    return [place for row in itertools.zip_longest(*parts) for place in row if place is not None]


def _rest(places: list[int], order: ReaderOrder, engines: Sequence[int], epoch: int) -> RestOfEpoch:
    engine = engines[order.shard_id % len(engines)]
    return RestOfEpoch(
        places, order.num_shards, order.shard_id, order.pad_last_batch, engine, order.following_epoch(epoch)
    )
