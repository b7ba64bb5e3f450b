"""Philox4x32-10 on the CPU, and the numbers that NVIDIA DALI draws with it, over tables of samples.

Each sample has its own sequence: the upper 64 bits of its counter. Element `p` of a sample begins at word ``257 * p``
of that sequence, whatever was drawn for the elements before it, so any element can be computed alone.

A `key` is what all samples have in common: the seed, and where their sequences begin
(:data:`~dali_lab.kernels.streams.Key`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Word
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, part
from dali_lab.kernels.streams import Key

WORDS_PER_ELEMENT = 257
"""Words between the beginnings of neighbouring elements."""

_MASK = np.uint64(0xFFFFFFFF)
_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_32 = np.uint64(32)
_STEP = np.uint64(WORDS_PER_ELEMENT)


@part
def philox_block(key: Word, high: Word, low: Word) -> Any:
    """The four words of one counter, each a ``uint64`` below 2**32.

    Parameters
    ----------
    key, high, low
        ``uint64``: the seed alone, and the two halves of the counter.
    """
    x, y = low & _MASK, low >> _32
    z, w = high & _MASK, high >> _32
    kx, ky = key & _MASK, key >> _32
    for _ in range(10):
        m0 = _M0 * x
        m1 = _M1 * z
        x = (m1 >> _32) ^ y ^ kx
        y = m1 & _MASK
        z = (m0 >> _32) ^ w ^ ky
        w = m0 & _MASK
        kx = (kx + _W0) & _MASK
        ky = (ky + _W1) & _MASK
    return x, y, z, w


@part
def _block_at(key: Key, high: Word, count: Word) -> Any:
    """The block that is `count` blocks after the first of a sequence."""
    low = key[1] + count
    return philox_block(key[0], high + np.uint64(low < count), low)


@part
def philox_word(key: Key, high: Word, position: Word) -> Any:
    """The word at `position` of a sequence, as ``uint64``."""
    position += key[2]
    x, y, z, w = _block_at(key, high, position >> _2)
    phase = position & _3
    low = x if phase == _0 else y
    top = z if phase == _2 else w
    return low if phase < _2 else top


@part
def philox_two(key: Key, high: Word, position: Word) -> Any:
    """The words at `position` and after it."""
    position += key[2]
    x, y, z, w = _block_at(key, high, position >> _2)
    phase = position & _3
    if phase == _0:
        return x, y
    if phase == _1:
        return y, z
    if phase == _2:
        return z, w
    return w, _block_at(key, high, (position >> _2) + _1)[0]


@part
def start_words(state: Array, key: Key, high: Word, position: Word) -> None:
    """Let ``state`` (``uint64[8]``) give the words of a sequence one after the other, from `position` on."""
    position += key[2]
    count = position >> _2
    low = key[1] + count
    state[0] = key[0]
    state[1] = high + np.uint64(low < count)
    state[2] = low
    state[3] = position & _3
    _fill(state)


@part
def next_word(state: Array) -> Any:
    """The next word of a sequence that :func:`start_words` began, as ``uint64``."""
    phase = state[3]
    word = state[4 + np.int64(phase)]
    state[3] = (phase + _1) & _3
    if phase == _3:
        state[2] += _1
        state[1] += np.uint64(state[2] == _0)
        _fill(state)
    return word


@part
def _fill(state: Array) -> None:
    x, y, z, w = philox_block(state[0], state[1], state[2])
    state[4] = x
    state[5] = y
    state[6] = z
    state[7] = w


@part
def _normal32_at(key: Key, high: Word, position: Word) -> Any:
    """A standard normal number in float32, from two words (Box and Muller; the sine is not used)."""
    a, b = philox_two(key, high, position)
    u1 = np.float32(a) * np.float32(2.0**-32)
    u2 = np.float32(b) * np.float32(2.0**-32)
    if u1 == np.float32(0):
        if u2 == np.float32(0):
            u1 = np.float32(1e-30)
        else:
            u1, u2 = u2, u1
    radius = np.float32(math.sqrt(np.float32(-2) * np.float32(math.log(u1))))
    return radius * np.float32(math.cos(np.float32(2 * math.pi) * u2))


@part
def _normal64_at(key: Key, high: Word, position: Word) -> Any:
    """A standard normal number in float64, from four words."""
    a, b = philox_two(key, high, position)
    c, d = philox_two(key, high, position + _2)
    u1 = np.float64(a | (b << _32)) * 2.0**-64
    u2 = np.float64(c | (d << _32)) * 2.0**-64
    if u1 == 0.0:
        if u2 == 0.0:
            u1 = np.float64(np.float32(1e-30))
        else:
            u1, u2 = u2, u1
    return math.sqrt(-2.0 * math.log(u1)) * math.cos(2 * math.pi * u2)


@kernel
def words(key: Key, highs: Array, addresses: Array, counts: Array, like: Array) -> None:
    """The word at which each element begins, as ``uint32``."""
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        for p in range(counts[i]):
            out[p] = np.uint32(philox_word(key, highs[i], _STEP * np.uint64(p)))


@inner_part
def _word_as(key: Key, high: Word, position: Word, reals: Array) -> Any:
    """The word at `position` in the dtype of `reals`; for float64 it is of 64 bits, the lower ones first."""
    real = reals.dtype.type
    if reals.itemsize == 4:
        return real(philox_word(key, high, position))
    a, b = philox_two(key, high, position)
    return real(a | (b << _32))


@inner_part
def normal_at(key: Key, high: Word, position: Word, reals: Array) -> Any:
    """A standard normal number in the dtype of `reals`."""
    real = reals.dtype.type
    if reals.itemsize == 4:
        return real(_normal32_at(key, high, position))
    return real(_normal64_at(key, high, position))


@kernel
def uniform(
    key: Key, highs: Array, addresses: Array, counts: Array, start: Array, step: Array, last: Array, like: Array
) -> None:
    """``min(fma(word, step, start), last)``, all of them float32 or all float64, ``[N]``."""
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        for p in range(counts[i]):
            word = _word_as(key, highs[i], _STEP * np.uint64(p), start)
            out[p] = min(fused_multiply_add(word, step[i], start[i]), last[i])


@kernel
def normal(key: Key, highs: Array, addresses: Array, counts: Array, mean: Array, stddev: Array, like: Array) -> None:
    """Normal numbers in the dtype of `mean` and `stddev`, ``float32[N]`` or ``float64[N]``."""
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        for p in range(counts[i]):
            number = normal_at(key, highs[i], _STEP * np.uint64(p), mean)
            out[p] = fused_multiply_add(number, stddev[i], mean[i])


@kernel
def coin_flips(key: Key, highs: Array, addresses: Array, counts: Array, thresholds: Array, like: Array) -> None:
    """1 where the word is not above the sample's threshold (``uint64[N]``), else 0."""
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        for p in range(counts[i]):
            out[p] = philox_word(key, highs[i], _STEP * np.uint64(p)) <= thresholds[i]


@kernel
def values(
    key: Key, highs: Array, addresses: Array, counts: Array, flat: Array, offsets: Array, sizes: Array, like: Array
) -> None:
    """Equally likely elements of ``flat[offsets[i] : offsets[i] + sizes[i]]``."""
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        for p in range(counts[i]):
            word = philox_word(key, highs[i], _STEP * np.uint64(p))
            out[p] = flat[offsets[i] + np.int64((word * sizes[i]) >> _32)]
