"""A reader's way through its list: shards, the buffer that samples are drawn from, padding, and the ends of epochs.

Plain Python over lists: half a microsecond for a sample, and nothing to compile before the first batch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.operators.readers.shuffling import Reshuffling

SIZE, SHARDS, SHARD, STICK, SHUFFLE, PAD = range(6)
"""Places in the configuration: see :class:`dali_lab.operators.readers.order.ReaderOrder`."""

CURSOR, PASS, VIRTUAL, READ, RETURNED, LAST, ENGINE, FILLED, HEAD, SPANS, CONSUMED, BEGUN_WITH = range(12)
"""Places in the state.

``CURSOR``: next place of the list to read. ``PASS``: how often reading has begun anew. ``VIRTUAL``: shard being read.
``READ``: samples of it that were read. ``RETURNED``: samples given out since the epoch began, padding included.
``LAST``: the latest one. ``ENGINE``: state of minstd_rand0. ``FILLED``: whether the buffer was filled. ``HEAD`` and
``SPANS``: first of the spans in use, and their number. ``CONSUMED``: epochs given out. ``BEGUN_WITH``: state of the
engine when this epoch began.
"""

STATE_LENGTH = 12

_ENGINE_MODULUS = 2147483647
_ENGINE_RANGE = 2147483645


def possible(setup: list[int], state: list[int]) -> bool:
    """Whether a saved state is one that a reader can be in, as far as places are concerned."""
    return (
        0 <= state[CURSOR] < setup[SIZE]
        and 0 <= state[VIRTUAL] < setup[SHARDS]
        and 0 <= state[LAST] < setup[SIZE]
        and 0 < state[ENGINE] < _ENGINE_MODULUS
    )


def spans_of(setup: list[int], buffer_size: int) -> int:
    """Number of shards that a buffer may hold samples of at a time, with those that begin and end within."""
    return buffer_size // max(1, setup[SIZE] // setup[SHARDS]) + 3


class Walk:
    """A reader's position in its list.

    Attributes
    ----------
    setup
        The configuration.
    state
        ``STATE_LENGTH`` numbers.
    order
        The list, shuffled anew in each epoch where there is a `reshuffling`.
    reshuffling
        How that is done.
    buffer
        Samples that were read and not yet given out; all of it is in use once it was filled.
    spans
        Ring of spans of the buffer, one for each shard that it holds samples of. Bounds count on for ever; modulo the
        length of the buffer they are places in it.
    """

    def __init__(
        self, setup: list[int], order: npt.NDArray[np.int64], buffer_size: int, reshuffling: Reshuffling | None = None
    ) -> None:
        self.setup = setup
        self.state = [0] * STATE_LENGTH
        self.order = order
        self.reshuffling = reshuffling
        self.buffer = [0] * buffer_size
        self.spans = [[0, 0] for _ in range(spans_of(setup, buffer_size))]

    def next_batch(self, count: int) -> list[int]:
        """The samples of the next batch."""
        setup, state, spans = self.setup, self.state, self.spans
        if not state[FILLED]:
            self._fill()
        per_shard = -(-setup[SIZE] // setup[SHARDS])
        out: list[int] = []
        while len(out) < count:
            self._give_run(out, count)
            if len(out) == count:
                break
            head = state[HEAD]
            if spans[head][0] == spans[head][1]:
                if setup[PAD] and (state[RETURNED] < per_shard or out):
                    state[RETURNED] += 1
                    out.append(state[LAST])
                    continue
                head = (head + 1) % len(spans)
                state[HEAD] = head
                state[SPANS] -= 1
                state[RETURNED] = 0
                state[CONSUMED] += 1
                state[BEGUN_WITH] = state[ENGINE]
            self._give_one(head, out)
        return out

    def _fill(self) -> None:
        state, buffer = self.state, self.buffer
        state[HEAD] = 0
        state[SPANS] = 1
        self.spans[0] = [0, 0]
        filled = 0
        while filled < len(buffer):
            run = min(self._straight(), len(buffer) - filled)
            if run:
                buffer[filled : filled + run] = self.order[state[CURSOR] : state[CURSOR] + run].tolist()
                state[CURSOR] += run
                state[READ] += run
                self.spans[self._tail()][1] += run
                filled += run
            else:
                self._read_into_buffer()
                filled += 1
        state[FILLED] = 1

    def _straight(self) -> int:
        """Number of samples that can be read before the end of the list, the pass or the shard."""
        setup, state = self.setup, self.state
        stop = self._shard_start(setup[SHARD] + 1) if setup[STICK] else setup[SIZE]
        virtual = state[VIRTUAL]
        left = self._shard_start(virtual + 1) - self._shard_start(virtual) - state[READ]
        return max(min(stop - 1 - state[CURSOR], left), 0)

    def _give_run(self, out: list[int], count: int) -> None:
        """Give out samples up to `count` while nothing ends."""
        state, buffer = self.state, self.buffer
        span, last = self.spans[state[HEAD]], self.spans[self._tail()]
        start, into = span[0], last[1]
        width = span[1] - start
        alone = span is last
        run = min(self._straight(), count - len(out))
        if not alone:
            run = min(run, width)
        if not run or not width:
            return
        room = len(buffer)
        shuffle = self.setup[SHUFFLE]
        scale = _ENGINE_RANGE // width
        limit = scale * width
        engine = state[ENGINE]
        cursor = state[CURSOR]
        for sample in self.order[cursor : cursor + run].tolist():
            place = start
            if shuffle:
                engine = engine * 16807 % _ENGINE_MODULUS
                while engine > limit:
                    engine = engine * 16807 % _ENGINE_MODULUS
                place += (engine - 1) // scale
                if not alone and width > 1:
                    width -= 1
                    scale = _ENGINE_RANGE // width
                    limit = scale * width
            place %= room
            out.append(buffer[place])
            buffer[place] = buffer[start % room]
            buffer[into % room] = sample
            start += 1
            into += 1
        span[0] = start
        last[1] = into
        state[ENGINE] = engine
        state[CURSOR] += run
        state[READ] += run
        state[RETURNED] += run
        state[LAST] = out[-1]

    def _give_one(self, head: int, out: list[int]) -> None:
        state, buffer, span = self.state, self.buffer, self.spans[head]
        start = span[0]
        offset = self._offset(span[1] - start) if self.setup[SHUFFLE] else 0
        place = (start + offset) % len(buffer)
        sample = buffer[place]
        buffer[place] = buffer[start % len(buffer)]
        span[0] = start + 1
        self._read_into_buffer()
        state[RETURNED] += 1
        state[LAST] = sample
        out.append(sample)

    def _offset(self, count: int) -> int:
        """``uniform_int_distribution<int>(0, count - 1)`` over minstd_rand0."""
        scale = _ENGINE_RANGE // count
        while True:
            self.state[ENGINE] = self.state[ENGINE] * 16807 % _ENGINE_MODULUS
            number = self.state[ENGINE] - 1
            if number < scale * count:
                return number // scale

    def _shard_start(self, shard: int) -> int:
        """First place of a shard in the list."""
        return self.setup[SIZE] * shard // self.setup[SHARDS]

    def _tail(self) -> int:
        return (self.state[HEAD] + self.state[SPANS] - 1) % len(self.spans)

    def _read_into_buffer(self) -> None:
        sample = self._read()
        self._count_read()
        span = self.spans[self._tail()]
        self.buffer[span[1] % len(self.buffer)] = sample
        span[1] += 1

    def _read(self) -> int:
        """The next sample of the list, going on to the next shard or pass at an end."""
        setup, state = self.setup, self.state
        sample = int(self.order[state[CURSOR]])
        cursor = state[CURSOR] + 1
        if cursor >= (self._shard_start(setup[SHARD] + 1) if setup[STICK] else setup[SIZE]):
            cursor = self._shard_start(setup[SHARD]) if setup[STICK] else 0
            state[PASS] += 1
            if self.reshuffling is not None:
                self.reshuffling.shuffle(self.order, state[PASS])
        state[CURSOR] = cursor
        return sample

    def _count_read(self) -> None:
        """Note that one more sample was read; at the end of a shard, begin another span of the buffer."""
        setup, state, spans = self.setup, self.state, self.spans
        state[READ] += 1
        virtual = state[VIRTUAL]
        if state[READ] - 1 + self._shard_start(virtual) >= self._shard_start(virtual + 1):
            if not setup[STICK]:
                state[VIRTUAL] = (virtual + 1) % setup[SHARDS]
            state[READ] = 1
            tail = self._tail()
            spans[(tail + 1) % len(spans)] = [spans[tail][1], spans[tail][1]]
            state[SPANS] += 1
