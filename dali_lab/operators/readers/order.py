"""The order of a reader's samples: shuffling, shards, padding, and saved states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.seed_sequence import seed_sequence
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers import walk
from dali_lab.operators.readers.shuffling import LIST_SEED_OF_DALI, Reshuffling, shuffle_once
from dali_lab.operators.readers.walk import Walk

Indices = npt.NDArray[np.int64]

_FEW = 4096
_ENGINE_RANGE = 2147483647


class ReaderOrder:
    """The samples of a reader, batch after batch and without end, in NVIDIA DALI's order.

    Shard `s` of `S` holds the places ``s * N // S`` up to ``(s + 1) * N // S`` of the list. At the end of an epoch a
    reader goes on with the next shard, or with its own again if it sticks to it. With `random_shuffle`, the list is
    shuffled once, the same for all shards, and then each sample is drawn from a buffer that holds the next
    `initial_fill` of the list; those of one epoch are drawn before those of the next. With `shuffle_after_epoch` the
    list, or the order of the files that it consists of, is shuffled anew in each epoch, the same for all shards.

    Parameters
    ----------
    size
        Number of samples in the list.
    seed
        The reader's seed; only `random_shuffle` uses it.
    random_shuffle, initial_fill
        Draw from a buffer of that many samples.
    shuffle_after_epoch
        Shuffle the list in each epoch; the reader then keeps to its shard, which changes with the list.
    shuffle_after_epoch_seed
        Seed of those shuffles, the same for all shards; by default NVIDIA DALI's constant.
    num_shards, shard_id
        Number of shards, and the one to begin with.
    stick_to_shard
        Give the same shard in each epoch.
    pad_last_batch
        Repeat the last sample until the batch is full, and until each shard has given as many as the largest.
    checkpointing
        With `shuffle_after_epoch`, shuffle the original list in each epoch, not the one of the epoch before:
        NVIDIA DALI does so in pipelines with checkpoints.
    shuffle_list
        Shuffle the list before `random_shuffle` draws from the buffer; readers of record files do not.
    parts
        Numbers of samples of the files that follow each other in the list, ``int64[P]``: `shuffle_after_epoch` shuffles
        their order, and goes with `random_shuffle`.

    Raises
    ------
    ArgumentError
        If there are fewer samples than shards, or arguments exclude each other or are out of range.
    """

    def __init__(
        self,
        size: int,
        *,
        seed: int = 0,
        random_shuffle: bool = False,
        initial_fill: int = 1024,
        shuffle_after_epoch: bool = False,
        shuffle_after_epoch_seed: int | None = None,
        num_shards: int = 1,
        shard_id: int = 0,
        stick_to_shard: bool = False,
        pad_last_batch: bool = False,
        checkpointing: bool = False,
        shuffle_list: bool = True,
        parts: Indices | None = None,
    ) -> None:
        if num_shards < 1:
            raise ArgumentError(f"must be at least 1, not {num_shards}", argument="num_shards")
        if not 0 <= shard_id < num_shards:
            raise ArgumentError(f"must be from 0 to {num_shards - 1}, not {shard_id}", argument="shard_id")
        if size < num_shards:
            message = f'Assert on "num_shards_ <= Size()" failed: The number of input samples: {size}, needs to be'
            message += f" at least equal to the requested number of shards: {num_shards}."
            raise ArgumentError(message, argument="num_shards")
        if random_shuffle and initial_fill < 1:
            raise ArgumentError(f"must be at least 1, not {initial_fill}", argument="initial_fill")
        if shuffle_after_epoch and stick_to_shard:
            raise ArgumentError(
                "shuffle_after_epoch and stick_to_shard cannot be both true", argument="shuffle_after_epoch"
            )
        if shuffle_after_epoch and random_shuffle and parts is None:
            raise ArgumentError(
                "shuffle_after_epoch and random_shuffle cannot be both true", argument="shuffle_after_epoch"
            )
        self.size = size
        self.num_shards = num_shards
        self.shard_id = shard_id
        self.stick_to_shard = stick_to_shard or shuffle_after_epoch
        self.pad_last_batch = pad_last_batch
        self._seed = seed
        self._reshuffling: Reshuffling | None = None
        if shuffle_after_epoch:
            list_seed = LIST_SEED_OF_DALI if shuffle_after_epoch_seed is None else int(shuffle_after_epoch_seed)
            self._reshuffling = Reshuffling(list_seed, checkpointing, parts)
        self._shuffle_list = random_shuffle and shuffle_list
        self._setup = [
            size, num_shards, shard_id, int(self.stick_to_shard), int(random_shuffle), int(pad_last_batch),
        ]  # fmt: skip
        self._plain = not (random_shuffle or shuffle_after_epoch or pad_last_batch or num_shards > 1)
        self._ahead = 0
        # Samples are drawn from those of one shard: a buffer that holds more than a shard changes nothing.
        self._asked_for = initial_fill if random_shuffle else 1
        self._buffer_size = min(self._asked_for, -(-size // num_shards) + 2)
        self._begin()

    @property
    def epoch_size(self) -> int:
        """Samples in an epoch of all shards, without padding."""
        return self.size

    @property
    def epoch_size_padded(self) -> int:
        """Samples in an epoch of all shards, with those that `pad_last_batch` adds to even out the shards."""
        return -(-self.size // self.num_shards) * self.num_shards if self.pad_last_batch else self.size

    def meta(self) -> dict[str, int]:
        """The result of ``Pipeline.reader_meta``."""
        return {
            "epoch_size": self.epoch_size,
            "epoch_size_padded": self.epoch_size_padded,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad_last_batch),
            "stick_to_shard": int(self.stick_to_shard),
        }

    def next_batch(self, count: int) -> Indices:
        """Places in the list of the next `count` samples, ``int64[count]``.

        Padding fills a batch, so it matters where batches end: take as many at once as a batch holds.
        """
        if self._in_line and self._ahead + count <= _FEW:
            first = self._ahead
            self._ahead += count
            return np.arange(first, first + count, dtype=np.int64) % self.size
        self._catch_up()
        return np.array(self._walk.next_batch(count), np.int64)

    def _catch_up(self) -> None:
        """Advance the state by the samples that were only counted so far."""
        taken = self._ahead
        self._ahead, self._in_line = 0, False
        if taken:
            self.next_batch(taken)

    def get_state(self) -> dict[str, Any]:
        """The state for :meth:`set_state` to go on from here, as plain JSON values.

        Its length grows with `initial_fill`, up to the size of a shard.
        """
        self._catch_up()
        where = self._walk
        spans: list[list[int]] = []
        if where.state[walk.FILLED]:
            head, count = where.state[walk.HEAD], where.state[walk.SPANS]
            spans = [list(where.spans[(head + i) % len(where.spans)]) for i in range(count)]
        return {
            "size": self.size,
            "state": list(where.state),
            "buffer": list(where.buffer) if spans else [],
            "spans": spans,
            "epoch_start": self._epoch_start(spans),
        }

    def _epoch_start(self, spans: list[list[int]]) -> list[int]:
        """State of the engine when the present epoch began, its number, and the samples that it has given.

        That is what NVIDIA DALI's checkpoints hold. An epoch whose last sample was given is over, though the next one
        has not begun.
        """
        values = self._walk.state
        returned, consumed = values[walk.RETURNED], values[walk.CONSUMED]
        over = bool(spans) and spans[0][0] == spans[0][1]
        if over and not (self.pad_last_batch and returned < -(-self.size // self.num_shards)):
            return [values[walk.ENGINE], consumed + 1, 0]
        return [values[walk.BEGUN_WITH], consumed, returned]

    def _skip_to(self, engine: int, epoch: int, age: int, batch_size: int) -> None:
        """Go on in the middle of an epoch, from the state of the engine when that epoch began."""
        if not 0 < engine < _ENGINE_RANGE or not 0 <= epoch < 1 << 31 or not 0 <= age <= self.size + batch_size:
            raise ValueError("the saved state of the reader is damaged")
        self._begin()
        self._in_line = False
        if self._reshuffling is not None:
            self._reshuffling.advance(self._walk.order, epoch + 1)
        shard = self.shard_id if self.stick_to_shard else (self.shard_id + epoch) % self.num_shards
        state = self._walk.state
        state[walk.CURSOR] = self.size * shard // self.num_shards
        state[walk.VIRTUAL] = shard
        state[walk.PASS] = epoch + 1
        state[walk.CONSUMED] = epoch
        state[walk.ENGINE] = state[walk.BEGUN_WITH] = engine
        while age > 0:
            self.next_batch(min(batch_size, age))
            age -= batch_size

    def rest_of_epoch(self) -> tuple[list[int], int, int]:
        """Go on to the end of the epoch.

        Returns
        -------
        tuple
            The places that were still to be given, without padding; the state of the engine behind them; the number of
            the next epoch.
        """
        self._catch_up()
        state, setup = self._walk.state, self._walk.setup
        epoch = state[walk.CONSUMED]
        shard = self.shard_id if self.stick_to_shard else (self.shard_id + epoch) % self.num_shards
        size = self.size * (shard + 1) // self.num_shards - self.size * shard // self.num_shards
        setup[walk.PAD] = 0
        places = self._walk.next_batch(max(0, size - state[walk.RETURNED]))
        setup[walk.PAD] = int(self.pad_last_batch)
        return places, state[walk.ENGINE], epoch + 1

    def drawn_since(self, start: Sequence[int], count: int, batch_size: int) -> list[int]:
        """Places of the `count` samples that follow a point in an epoch, which has the form of ``epoch_start``.

        Raises
        ------
        ValueError
            If there is no such point.
        """
        engine, epoch, age = start
        if not 0 <= count <= self.size + batch_size:
            raise ValueError("the saved state of the reader is damaged")
        self._skip_to(engine, epoch, age, batch_size)
        sizes = [min(batch_size, count - done) for done in range(0, count, batch_size)]
        return [place for size in sizes for place in self.next_batch(size).tolist()]

    def following_epoch(self, number: int) -> int:
        """The number by which an epoch begins after the rest of another one: shards begin with their own part.

        Only a list that is shuffled in each epoch depends on it.
        """
        return number if self._reshuffling is not None else 0

    def begin_epoch(self, engine: int, number: int) -> None:
        """Go on with an epoch, from the state of the engine with which it begins.

        Raises
        ------
        ValueError
            If there is no such state.
        """
        self._skip_to(engine, number, 0, 1)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from where :meth:`get_state` was called, of an order with the same arguments.

        Of a checkpoint of NVIDIA DALI, ``epoch_start`` and ``batch_size`` are all there is, and suffice.

        Raises
        ------
        ValueError
            If the state is that of another number of samples or of a buffer of another size.
        """
        if "state" not in state:
            engine, epoch, age = state["epoch_start"]
            self._skip_to(engine, epoch, age, state["batch_size"])
            return
        if state["size"] != self.size:
            raise ValueError(f"the saved state is that of {state['size']} samples, and there are {self.size} now")
        values, buffer, spans = state["state"], state["buffer"], state["spans"]
        room = len(buffer) if spans else self._buffer_size  # releases before 0.2 kept all of `initial_fill`
        if len(values) != walk.STATE_LENGTH or room not in (self._buffer_size, self._asked_for):
            raise ValueError("the saved state is that of a reader with other arguments")
        numbers = [*values, *buffer, *(bound for span in spans for bound in span)]
        if any(type(number) is not int for number in numbers) or not walk.possible(self._setup, values):
            raise ValueError("the saved state is damaged")
        if any(not 0 <= index < self.size for index in buffer) or len(spans) > walk.spans_of(self._setup, room):
            raise ValueError("the saved state is damaged")
        self._begin(room)
        self._in_line = False
        if self._reshuffling is not None:
            self._reshuffling.advance(self._walk.order, int(values[walk.PASS]))
        where = self._walk
        where.state[:] = values
        if spans:
            where.buffer[:] = buffer
            where.spans[: len(spans)] = [list(span) for span in spans]
            where.state[walk.HEAD] = 0

    def reset(self) -> None:
        """Begin anew, as if nothing had been taken."""
        self._begin()

    def _begin(self, room: int | None = None) -> None:
        # The first samples of a list read in line are counted off.
        self._in_line = self._plain
        self._ahead = 0
        order = np.arange(self.size, dtype=np.int64)
        if self._shuffle_list:
            shuffle_once(order)
        if self._reshuffling is not None:
            self._reshuffling.shuffle(order, 1)
        self._walk = Walk(self._setup, order, room or self._buffer_size, self._reshuffling)
        state = self._walk.state
        state[walk.CURSOR] = self.size * self.shard_id // self.num_shards
        state[walk.PASS] = 1
        state[walk.VIRTUAL] = self.shard_id
        engine = seed_sequence(self._seed, 4)[3] % _ENGINE_RANGE or 1
        state[walk.ENGINE] = state[walk.BEGUN_WITH] = engine
