"""Lists shuffled as NVIDIA DALI's readers do: ``std::shuffle`` of libstdc++ over mt19937 and mt19937_64.

In NumPy and Python, because a compiled function would have to be compiled before the first batch. Long lists are
swapped by one as soon as it is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
Draw = Callable[[int], Words]

LIST_SEED_OF_DALI = 524287
"""Seed of NVIDIA DALI's shuffled lists, the same for all readers so that shards agree."""

_FEW = 65535
_MANY = 100_000
_BLOCK = 1 << 16
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def shuffle_once(order: Indices) -> None:
    """Shuffle the list of samples as ``random_shuffle`` does before anything is read."""
    engine: Any = np.random.MT19937()
    engine.state = np.random.RandomState(LIST_SEED_OF_DALI).get_state(legacy=False)
    draw = engine.random_raw
    if len(order) > _FEW:
        _swap(order, 1, _below(draw, np.arange(2, len(order) + 1, dtype=np.uint64), wide=False))
        return
    # Numbers are rejected so often here that drawing many at once gains nothing.
    words = _one_by_one(draw)
    both = [_below32(words, (i + 1) * (i + 2)) for i in _pairs(len(order), lambda: _below32(words, 2), order)]
    _swap_pairs(order, np.array(both, np.uint64))


@dataclass(frozen=True)
class Reshuffling:
    """The shuffling of a list in each epoch, ``shuffle_after_epoch``.

    Parameters
    ----------
    seed
        The same for all shards.
    from_start
        Shuffle the original list in each epoch, not that of the epoch before.
    parts
        Numbers of samples of the files that follow each other in the list: whole files are shuffled then, always from
        the start, and samples keep their order in them. `None` shuffles samples.
    """

    seed: int = LIST_SEED_OF_DALI
    from_start: bool = False
    parts: Indices | None = None

    def shuffle(self, order: Indices, number: int) -> None:
        """Shuffle the list as it is when reading begins for the `number`-th time."""
        if self.parts is None:
            if self.from_start:
                order[:] = np.arange(len(order))
            _shuffle_pass(order, number, self.seed)
            return
        files = np.arange(len(self.parts))
        _shuffle_pass(files, number, self.seed)
        counts = self.parts[files]
        shifts = (np.cumsum(self.parts) - self.parts)[files] - (np.cumsum(counts) - counts)
        order[:] = np.arange(len(order)) + np.repeat(shifts, counts)

    def advance(self, order: Indices, passes: int) -> None:
        """Shuffle a list that was shuffled once as it is after that many passes."""
        first = passes if self.from_start or self.parts is not None else 2
        for number in range(max(first, 2), passes + 1):
            self.shuffle(order, number)


def _shuffle_pass(order: Indices, number: int, seed: int) -> None:
    draw = Engine64((seed + (number << 32)) % (1 << 64)).random_raw
    pairs = _pairs(len(order), lambda: int(_below(draw, np.array([2], np.uint64), wide=True)[0]), order)
    first = np.array(pairs, np.uint64)
    _swap_pairs(order, _below(draw, (first + np.uint64(1)) * (first + np.uint64(2)), wide=True))


def _pairs(count: int, coin: Callable[[], int], order: Indices) -> range:
    """The first of each two places that are drawn together; where one is left over, it comes first and alone."""
    if count > 1 and count % 2 == 0:
        _swap(order, 1, np.array([coin()]))
        return range(2, count, 2)
    return range(1, count, 2)


def _swap_pairs(order: Indices, both: Words) -> None:
    first = len(order) - 2 * len(both)
    spans = np.arange(first + 2, len(order) + 1, 2, dtype=np.uint64)
    _swap(order, first, np.stack([both // spans, both % spans], axis=1).reshape(-1))


def _swap(order: Indices, first: int, places: npt.NDArray[Any]) -> None:
    """Swap each sample from `first` on with that at the place drawn for it."""
    if len(places) > _MANY:
        from dali_lab.kernels.cpu import background, shuffle

        table = np.ascontiguousarray(places, np.int64)
        if background.ready(shuffle.swap, order, first, table):
            shuffle.swap(order, first, table)
            return
    items = order.tolist()
    for i, place in enumerate(places.tolist(), first):
        items[i], items[place] = items[place], items[i]
    order[:] = items


def _one_by_one(draw: Draw) -> Iterator[int]:
    while True:
        yield from draw(1024).tolist()


def _below32(words: Iterator[int], size: int) -> int:
    """``uniform_int_distribution(0, size - 1)`` over words of 32 bits (Lemire's method)."""
    threshold = ((1 << 32) - size) % size
    while True:
        product = next(words) * size
        if product & 0xFFFFFFFF >= threshold:
            return product >> 32


def _below(draw: Draw, sizes: Words, *, wide: bool) -> Words:
    """One number below each size, in turn, from words of 32 or, with `wide`, 64 bits; few words may be thrown away."""
    out = np.empty(len(sizes), np.uint64)
    done = 0
    words: Words = np.empty(0, np.uint64)
    while done < len(sizes):
        count = min(len(sizes) - done, _BLOCK)
        if len(words) < count:
            words = np.concatenate([words, draw(count - len(words))])
        size, word = sizes[done : done + count], words[:count]
        low = word * size
        if wide:
            threshold = (np.uint64(0) - size) % size
            result = _high(word, size)
        else:
            low, result = low & _MASK, low >> _32
            threshold = (_MASK - size + np.uint64(1)) % size
        wrong = np.flatnonzero(low < threshold)
        good = int(wrong[0]) if len(wrong) else count
        out[done : done + good] = result[:good]
        done += good
        words = words[good + (1 if len(wrong) else 0) :]
    return out


def _high(x: Words, y: Words) -> Words:
    """The upper 64 bits of a product."""
    a, b, c, d = x >> _32, x & _MASK, y >> _32, y & _MASK
    middle = a * d + (b * d >> _32)
    result: Words = a * c + (middle >> _32) + ((middle & _MASK) + b * c >> _32)
    return result


class Engine64:
    """mt19937_64."""

    def __init__(self, seed: int) -> None:
        words = [seed]
        for i in range(1, 312):
            mixed = words[-1] ^ (words[-1] >> 62)
            words.append((6364136223846793005 * mixed + i) % (1 << 64))
        self._words = np.array(words, np.uint64)
        self._used = 312

    def random_raw(self, count: int) -> Words:
        """The next `count` words."""
        parts = []
        while count > 0:
            if self._used == 312:
                self._turn()
            part = self._words[self._used : self._used + count]
            self._used += len(part)
            count -= len(part)
            parts.append(part)
        x = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        x = x ^ (x >> np.uint64(29) & np.uint64(0x5555555555555555))
        x ^= x << np.uint64(17) & np.uint64(0x71D67FFFEDA60000)
        x ^= x << np.uint64(37) & np.uint64(0xFFF7EEE000000000)
        x ^= x >> np.uint64(43)
        return x

    def _turn(self) -> None:
        old = self._words

        def half(words: Words, following: Words, far: Words) -> Words:
            y = (words & np.uint64(0xFFFFFFFF80000000)) | (following & np.uint64(0x7FFFFFFF))
            twist = np.where(y & np.uint64(1), np.uint64(0xB5026F5AA96619E9), np.uint64(0))
            result: Words = np.bitwise_xor(np.bitwise_xor(far, y >> np.uint64(1)), twist)
            return result

        left = half(old[:156], old[1:157], old[156:])
        right = half(old[156:], np.append(old[157:], left[:1]), left)
        self._words = np.concatenate([left, right])
        self._used = 0
