"""Distributions of the C++ standard library over Philox words, computed as libstdc++ computes them.

The standard fixes its engines, not its distributions: which words are drawn, and when one is thrown away, is the
library's choice. A generator here is the ``uint64[8]`` of :func:`~dali_lab.kernels.cpu.philox.start_words`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Integer, Real, Word
from dali_lab.kernels.cpu.memory import array_at, kernel, part
from dali_lab.kernels.cpu.philox import WORDS_PER_ELEMENT, next_word, start_words
from dali_lab.kernels.streams import Key

_32 = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)
_STEP = np.uint64(WORDS_PER_ELEMENT)
_LARGE_SAMPLE = 1 << 18
_PART_OF_LARGE_SAMPLE = 1 << 16


@part
def below(state: Array, size: Word) -> Any:
    """An integer below `size` (``uint64``, at most 2**32), as ``uint64``: ``uniform_int_distribution(0, size - 1)``."""
    if size > _MASK:
        return next_word(state)
    product = next_word(state) * size
    low = product & _MASK
    if low < size:
        threshold = ((_MASK - size) + np.uint64(1)) % size
        while low < threshold:
            product = next_word(state) * size
            low = product & _MASK
    return product >> _32


@part
def canonical32(state: Array) -> Any:
    """``generate_canonical<float, 24>``: one word."""
    return min(np.float32(next_word(state)) * np.float32(2.0**-32), np.float32(1 - 2.0**-24))


@part
def canonical64(state: Array) -> Any:
    """``generate_canonical<double, 53>``: two words."""
    low = np.float64(next_word(state))
    return min((low + np.float64(next_word(state)) * 2.0**32) * 2.0**-64, 1 - 2.0**-53)


@part
def _canonical(state: Array, kept: Array) -> Any:
    """A canonical number in the dtype of `kept`."""
    real = kept.dtype.type
    if kept.itemsize == 4:
        return real(canonical32(state))
    return real(canonical64(state))


@part
def _normal(state: Array, kept: Array) -> Any:
    """``normal_distribution`` by Marsaglia's polar method; ``kept[0]`` says if ``kept[1]`` holds a second number."""
    real = kept.dtype.type
    if kept[0] != 0:
        kept[0] = 0
        return kept[1]
    while True:
        x = real(2) * _canonical(state, kept) - real(1)
        y = real(2) * _canonical(state, kept) - real(1)
        square = x * x + y * y
        if square <= real(1) and square != real(0):
            break
    factor = real(math.sqrt(real(-2) * real(math.log(square)) / square))
    kept[0] = 1
    kept[1] = x * factor
    return y * factor


@part
def _gamma(state: Array, kept: Array, alpha: Real) -> Any:
    """``gamma_distribution(alpha, 1)`` for an `alpha` of any size (Marsaglia and Tsang)."""
    real = kept.dtype.type
    raised = alpha + real(1) if alpha < 1 else alpha
    a1 = raised - real(1) / real(3)
    a2 = real(1) / real(math.sqrt(real(9) * a1))
    while True:
        while True:
            n = _normal(state, kept)
            v = real(1) + a2 * n
            if v > 0:
                break
        v = v * v * v
        u = _canonical(state, kept)
        wide = np.float64(n)
        if not np.float64(u) > 1.0 - 0.0331 * wide * wide * wide * wide:
            break
        bound = 0.5 * wide * wide + np.float64(a1) * (1.0 - np.float64(v) + np.float64(real(math.log(v))))
        if not np.float64(real(math.log(u))) > bound:
            break
    if alpha == raised:
        return a1 * v
    while True:
        u = _canonical(state, kept)
        if u != 0:
            break
    return real(math.pow(u, real(1) / alpha)) * a1 * v


@part
def _beta(state: Array, kept: Array, alpha: Real, beta: Real) -> Any:
    """A number with the distribution Beta(alpha, beta), from two with gamma distributions.

    Where both parameters are below 1, the gamma numbers are too often 0; then ``Gamma(a) = Gamma(a + 1) * U**(1 / a)``
    is divided through by the larger of the two powers, by their logarithms (L. Devroye, Non-Uniform Random Variate
    Generation, 1986, page 182). ``kept`` has a row of 2 for each of the two gamma distributions.
    """
    real = kept.dtype.type
    if not (alpha < 1 and beta < 1):
        a = _gamma(state, kept[0], alpha)
        b = _gamma(state, kept[1], beta)
        return a / (a + b)
    a = _gamma(state, kept[0], alpha + real(1))
    b = _gamma(state, kept[1], beta + real(1))
    log_a = real(math.log(real(1) - _canonical(state, kept[0])))
    log_b = real(math.log(real(1) - _canonical(state, kept[1])))
    ratio = beta / alpha
    if log_a * ratio < log_b:
        a = a * real(math.exp((log_a * ratio - log_b) / beta))
    else:
        b = b * real(math.exp((log_b - log_a * ratio) / beta))
    return a / (a + b)


@part
def poisson(state: Array, kept: Array, mean: float) -> Any:
    """``poisson_distribution<uint32_t>(mean)``, as float64; `kept` is ``float64[2]`` and loses what it held."""
    kept[0] = 0
    if mean < 12:
        limit = math.exp(-mean)
        product = canonical64(state)
        count = 0.0
        while product > limit:
            product *= canonical64(state)
            count += 1
        return count
    m = math.floor(mean)
    log_mean = math.log(mean)
    log_factorial = math.lgamma(m + 1)
    root = math.sqrt(m)
    quarter = 0.7853981633974483
    reach = math.sqrt(2 * m * math.log(32 * m / quarter))
    d = np.floor(max(6.0, min(m, reach)) + 0.5)
    cx = 2 * m + d
    scx = math.sqrt(cx / 2)
    inverse = 1 / cx
    c1 = root * 1.2533141373155002
    c2 = math.sqrt(quarter * cx) * math.exp(inverse) + c1
    c3 = c2 + 1
    c4 = c3 + 1
    c5 = c4 + 1.0129030479320018
    c = 2 * cx * math.exp(-d * inverse * (1 + d / 2)) / d + c5
    almost_half = (1 - 2.0**-52) / 2
    top = 4294967295.0 + almost_half
    while True:
        u = c * canonical64(state)
        e = -math.log(1.0 - canonical64(state))
        w = 0.0
        if u <= c1:
            n = _normal(state, kept)
            x = math.floor(-abs(n) * root - 1)
            w = -n * n / 2
            if x < -m:
                continue
        elif u <= c2:
            n = _normal(state, kept)
            y = 1 + abs(n) * scx
            x = math.ceil(y)
            w = y * (2 - y) * inverse
            if x > d:
                continue
        elif u <= c3:
            x = -1.0
        elif u <= c4:
            x = 0.0
        elif u <= c5:
            x = 1.0
            w = 0.01282051282051282
        else:
            y = d - math.log(1.0 - canonical64(state)) * (2 * cx) / d
            x = math.ceil(y)
            w = -d * inverse * (1 + y / 2)
        if w - e - x * log_mean > log_factorial - math.lgamma(x + m + 1) or x + m >= top:
            continue
        return math.floor(x + m + almost_half)


@kernel
def beta(key: Key, highs: Array, addresses: Array, counts: Array, alphas: Array, betas: Array, like: Array) -> None:
    """Numbers with the distribution Beta(alphas[i], betas[i]), in the dtype of `alphas`, `betas` and `like`."""
    state = np.empty(8, np.uint64)
    kept = np.zeros((2, 2), alphas.dtype)
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        count = counts[i]
        parts = 1 if count < _LARGE_SAMPLE else (count + _PART_OF_LARGE_SAMPLE - 1) // _PART_OF_LARGE_SAMPLE
        for c in range(parts):
            # The second number of a pair is used by a later element, but not across the parts of a large sample.
            kept[:] = 0
            for p in range(count * c // parts, count * (c + 1) // parts):
                start_words(state, key, highs[i], _STEP * np.uint64(p))
                out[p] = _beta(state, kept, alphas[i], betas[i])


@part
def _weighted(state: Array, cumulative: Array, start: int, stop: int) -> Any:
    """``discrete_distribution``: the first index whose cumulative probability is not below a canonical number."""
    if stop - start == 1:
        return 0
    u = canonical64(state)
    low = start
    high = stop
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] < u:
            low = middle + 1
        else:
            high = middle
    return low - start


@kernel
def weighted_indices(
    key: Key, highs: Array, addresses: Array, counts: Array, cumulative: Array, offsets: Array, step: Word, like: Array
) -> None:
    """Indices with the given probabilities.

    Parameters
    ----------
    cumulative, offsets
        ``float64``: cumulative probabilities of sample `i` in ``cumulative[offsets[i] : offsets[i + 1]]``.
    step
        ``uint64``: words between elements, or 0 to draw the words one after the other.
    like
        An ``int64`` array.
    """
    state = np.empty(8, np.uint64)
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        start_words(state, key, highs[i], np.uint64(0))
        for p in range(counts[i]):
            if step:
                start_words(state, key, highs[i], step * np.uint64(p))
            out[p] = _weighted(state, cumulative, offsets[i], offsets[i + 1])


@kernel
def indices(key: Key, highs: Array, addresses: Array, counts: Array, sizes: Array, step: Word, like: Array) -> None:
    """Equally likely indices below ``sizes`` (``uint64[N]``); `step` and `like` as in :func:`weighted_indices`."""
    state = np.empty(8, np.uint64)
    for i in range(addresses.shape[0]):
        out = array_at(addresses[i], (counts[i],), like)
        start_words(state, key, highs[i], np.uint64(0))
        for p in range(counts[i]):
            if step:
                start_words(state, key, highs[i], step * np.uint64(p))
            out[p] = np.int64(below(state, sizes[i]))


@kernel
def permutation(key: Key, high: Word, out: Array, repeat: bool, no_fixed_points: bool) -> None:
    """Indices below ``len(out)``, into ``int64[N]``: a permutation, or with `repeat` any numbers.

    `no_fixed_points` keeps ``out[i]`` from being ``i``, unless there is but one.
    """
    state = np.empty(8, np.uint64)
    start_words(state, key, high, np.uint64(0))
    n = out.shape[0]
    apart = no_fixed_points and n > 1
    if repeat:
        for i in range(n):
            if apart:
                number = np.int64(below(state, np.uint64(n - 1)))
                out[i] = number + 1 if number >= i else number
            else:
                out[i] = np.int64(below(state, np.uint64(n)))
        return
    for i in range(n):
        out[i] = i
    if apart:
        for i in range(n - 1):
            _swap(out, i, i + 1 + np.int64(below(state, np.uint64(n - 1 - i))))
        return
    _shuffle(state, out)


@part
def _swap(out: Array, i: Integer, j: Integer) -> None:
    out[i], out[j] = out[j], out[i]


@part
def _shuffle(state: Array, out: Array) -> None:
    """``std::shuffle``: two positions from one number where their ranges allow it."""
    n = out.shape[0]
    if n < 2:
        return
    i = 1
    if n <= 65535:
        if n % 2 == 0:
            _swap(out, 1, np.int64(below(state, np.uint64(2))))
            i = 2
        while i < n:
            span = np.uint64(i + 2)
            both = below(state, np.uint64(i + 1) * span)
            _swap(out, i, np.int64(both // span))
            _swap(out, i + 1, np.int64(both % span))
            i += 2
        return
    while i < n:
        _swap(out, i, np.int64(below(state, np.uint64(i + 1))))
        i += 1
