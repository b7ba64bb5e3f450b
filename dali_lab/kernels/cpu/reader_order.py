"""The order in which NVIDIA DALI's readers give samples: shuffled lists, a shuffling buffer, shards and padding.

The engines are those of the C++ standard (mt19937, mt19937_64 and minstd_rand0), the distributions and ``shuffle``
those of libstdc++.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.memory import kernel, part

Array = np.ndarray[Any, Any]

SIZE, SHARDS, SHARD, STICK, SHUFFLE, PAD, AFTER_EPOCH, FROM_START, LIST_SEED = range(9)
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

LIST_SEED_OF_DALI = 524287
"""Seed of NVIDIA DALI's shuffled lists, the same for all readers so that shards agree."""

_0, _1 = np.uint64(0), np.uint64(1)
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MINSTD_RANGE = 2147483645


@part
def _seed32(words: Array, seed: Any) -> None:
    """Begin mt19937; ``words[624]`` counts those that were used."""
    words[0] = seed & _MASK
    for i in range(1, 624):
        mixed = words[i - 1] ^ (words[i - 1] >> np.uint64(30))
        words[i] = (np.uint64(1812433253) * mixed + np.uint64(i)) & _MASK
    words[624] = np.uint64(624)


@part
def _next32(words: Array) -> Any:
    """The next word of mt19937."""
    if words[624] == np.uint64(624):
        for i in range(624):
            y = (words[i] & np.uint64(0x80000000)) | (words[(i + 1) % 624] & np.uint64(0x7FFFFFFF))
            words[i] = words[(i + 397) % 624] ^ (y >> _1) ^ (np.uint64(0x9908B0DF) if y & _1 else _0)
        words[624] = _0
    x = words[np.int64(words[624])]
    words[624] += _1
    x ^= x >> np.uint64(11)
    x ^= (x << np.uint64(7)) & np.uint64(0x9D2C5680)
    x ^= (x << np.uint64(15)) & np.uint64(0xEFC60000)
    return x ^ (x >> np.uint64(18))


@part
def _seed64(words: Array, seed: Any) -> None:
    """Begin mt19937_64; ``words[312]`` counts those that were used."""
    words[0] = seed
    for i in range(1, 312):
        mixed = words[i - 1] ^ (words[i - 1] >> np.uint64(62))
        words[i] = np.uint64(6364136223846793005) * mixed + np.uint64(i)
    words[312] = np.uint64(312)


@part
def _next64(words: Array) -> Any:
    """The next word of mt19937_64."""
    if words[312] == np.uint64(312):
        for i in range(312):
            y = (words[i] & np.uint64(0xFFFFFFFF80000000)) | (words[(i + 1) % 312] & np.uint64(0x7FFFFFFF))
            words[i] = words[(i + 156) % 312] ^ (y >> _1) ^ (np.uint64(0xB5026F5AA96619E9) if y & _1 else _0)
        words[312] = _0
    x = words[np.int64(words[312])]
    words[312] += _1
    x ^= (x >> np.uint64(29)) & np.uint64(0x5555555555555555)
    x ^= (x << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
    x ^= (x << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
    return x ^ (x >> np.uint64(43))


@part
def _below(words: Array, size: Any, wide: bool) -> Any:
    """``uniform_int_distribution(0, size - 1)`` over mt19937, or with `wide` over mt19937_64 (Lemire's method)."""
    if not wide:
        product = _next32(words) * size
        if product & _MASK < size:
            threshold = (_MASK - size + _1) % size
            while product & _MASK < threshold:
                product = _next32(words) * size
        return product >> _32
    threshold = (_0 - size) % size
    while True:
        word = _next64(words)
        low = word * size
        if low >= threshold:
            break
    a, b = word >> _32, word & _MASK
    c, d = size >> _32, size & _MASK
    middle = a * d + (b * d >> _32)
    return a * c + (middle >> _32) + ((middle & _MASK) + b * c >> _32)


@part
def _swap(items: Array, i: Any, j: Any) -> None:
    items[i], items[j] = items[j], items[i]


@part
def _shuffle(items: Array, words: Array, wide: bool) -> None:
    """``std::shuffle``: two positions from one number where the range of the engine allows it."""
    n = items.shape[0]
    if n < 2:
        return
    i = 1
    if wide or n <= 65535:
        if n % 2 == 0:
            _swap(items, 1, np.int64(_below(words, np.uint64(2), wide)))
            i = 2
        while i < n:
            span = np.uint64(i + 2)
            both = _below(words, np.uint64(i + 1) * span, wide)
            _swap(items, i, np.int64(both // span))
            _swap(items, i + 1, np.int64(both % span))
            i += 2
        return
    while i < n:
        _swap(items, i, np.int64(_below(words, np.uint64(i + 1), wide)))
        i += 1


@kernel
def shuffle_once(order: Array) -> None:
    """Shuffle the list of samples as ``random_shuffle`` does before anything is read."""
    words = np.empty(625, np.uint64)
    _seed32(words, np.uint64(LIST_SEED_OF_DALI))
    _shuffle(order, words, False)


@kernel
def shuffle_pass(order: Array, number: int, seed: int, from_start: bool) -> None:
    """Shuffle the list of samples as ``shuffle_after_epoch`` does when reading begins for the `number`-th time."""
    _shuffle_pass(order, number, seed, from_start)


@part
def _shuffle_pass(order: Array, number: Any, seed: Any, from_start: bool) -> None:
    if from_start:
        for i in range(order.shape[0]):
            order[i] = i
    words = np.empty(313, np.uint64)
    _seed64(words, np.uint64(seed) + (np.uint64(number) << _32))
    _shuffle(order, words, True)


@part
def _shard_start(setup: Array, shard: Any) -> Any:
    """First place of a shard in the list."""
    return setup[SIZE] * shard // setup[SHARDS]


@part
def _read(setup: Array, state: Array, order: Array) -> Any:
    """The next sample of the list, going on to the next shard or pass at an end."""
    sample = order[state[CURSOR]]
    cursor = state[CURSOR] + 1
    stop = setup[SIZE]
    if setup[STICK]:
        stop = _shard_start(setup, setup[SHARD] + 1)
    if cursor >= stop:
        cursor = _shard_start(setup, setup[SHARD]) if setup[STICK] else 0
        state[PASS] += 1
        if setup[AFTER_EPOCH]:
            _shuffle_pass(order, state[PASS], setup[LIST_SEED], setup[FROM_START] != 0)
    state[CURSOR] = cursor
    return sample


@part
def _count_read(setup: Array, state: Array, spans: Array) -> None:
    """Note that one more sample was read; at the end of a shard, begin another span of the buffer."""
    state[READ] += 1
    place = state[READ] - 1 + _shard_start(setup, state[VIRTUAL])
    if place >= _shard_start(setup, state[VIRTUAL] + 1):
        if not setup[STICK]:
            state[VIRTUAL] = (state[VIRTUAL] + 1) % setup[SHARDS]
        state[READ] = 1
        tail = (state[HEAD] + state[SPANS] - 1) % spans.shape[0]
        after = (tail + 1) % spans.shape[0]
        spans[after, 0] = spans[tail, 1]
        spans[after, 1] = spans[tail, 1]
        state[SPANS] += 1


@part
def _read_into_buffer(setup: Array, state: Array, order: Array, buffer: Array, spans: Array) -> None:
    sample = _read(setup, state, order)
    _count_read(setup, state, spans)
    tail = (state[HEAD] + state[SPANS] - 1) % spans.shape[0]
    buffer[spans[tail, 1] % buffer.shape[0]] = sample
    spans[tail, 1] += 1


@part
def _offset(state: Array, count: Any) -> Any:
    """``uniform_int_distribution<int>(0, count - 1)`` over minstd_rand0."""
    scale = _MINSTD_RANGE // count
    while True:
        state[ENGINE] = state[ENGINE] * 16807 % 2147483647
        number = state[ENGINE] - 1
        if number < scale * count:
            return number // scale


@kernel
def next_batch(setup: Array, state: Array, order: Array, buffer: Array, spans: Array, out: Array) -> None:
    """The samples of the next batch.

    Parameters
    ----------
    setup
        ``int64``: the configuration.
    state
        ``int64[STATE_LENGTH]``, changed.
    order
        ``int64[SIZE]``: the list, changed by ``AFTER_EPOCH``.
    buffer
        ``int64``: samples that were read and not yet given out; all of it is in use once it was filled.
    spans
        ``int64[len(buffer) + 2, 2]``: ring of spans of the buffer, one for each shard that it holds samples of.
        Bounds count on for ever; modulo the length of the buffer they are places in it.
    out
        ``int64[batch size]``.
    """
    if not state[FILLED]:
        state[HEAD] = 0
        state[SPANS] = 1
        spans[0, :] = 0
        for _ in range(buffer.shape[0]):
            _read_into_buffer(setup, state, order, buffer, spans)
        state[FILLED] = 1
    per_shard = (setup[SIZE] + setup[SHARDS] - 1) // setup[SHARDS]
    for i in range(out.shape[0]):
        head = state[HEAD]
        if spans[head, 0] == spans[head, 1]:
            if setup[PAD] and (state[RETURNED] < per_shard or i > 0):
                state[RETURNED] += 1
                out[i] = state[LAST]
                continue
            head = (head + 1) % spans.shape[0]
            state[HEAD] = head
            state[SPANS] -= 1
            state[RETURNED] = 0
            state[CONSUMED] += 1
            state[BEGUN_WITH] = state[ENGINE]
        start = spans[head, 0]
        offset = _offset(state, spans[head, 1] - start) if setup[SHUFFLE] else 0
        place = (start + offset) % buffer.shape[0]
        sample = buffer[place]
        buffer[place] = buffer[start % buffer.shape[0]]
        spans[head, 0] = start + 1
        _read_into_buffer(setup, state, order, buffer, spans)
        state[RETURNED] += 1
        state[LAST] = sample
        out[i] = sample
