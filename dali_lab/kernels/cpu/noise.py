"""Noise over tables of samples: normal, salt and pepper, shot noise and jitter, from the words that NVIDIA DALI draws.

Kernels take ``key`` and ``highs`` of a :class:`~dali_lab.kernels.streams.Stream`, addresses of inputs and
outputs, and keep the dtype, for which `like` stands: an integer or float32. Numbers are made in float32, for integers
of 32 and 64 bits in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Word
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.memory import array_at, borrowed, kernel, like_size, part
from dali_lab.kernels.cpu.memory import like as sample_of
from dali_lab.kernels.cpu.philox import (
    WORDS_PER_ELEMENT,
    normal_at,
    philox_two,
    philox_word,
    start_words,
)
from dali_lab.kernels.cpu.standard_random import poisson
from dali_lab.kernels.streams import Key, Stream, grains, real_of

Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

_STEP = np.uint64(WORDS_PER_ELEMENT)
_TOO_MANY = np.float32(4.29e9)  # near the largest uint32, which a Poisson number with this mean may exceed


def add_gaussian_noise(
    stream: Stream, src: Addresses, dst: Addresses, counts: Counts, mean: npt.NDArray[np.float32],
    stddev: npt.NDArray[np.float32], dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Add normal numbers to samples of an integer dtype or float32, as ``noise.gaussian`` does."""
    real = real_of(np.dtype(dtype))
    gaussian(
        stream.key, stream.highs, src, dst, counts,
        np.asarray(mean, np.float32).astype(real), np.asarray(stddev, np.float32).astype(real), sample_of(dtype),
    )  # fmt: skip


def add_salt_and_pepper(
    stream: Stream, src: Addresses, dst: Addresses, pixels: Counts, channels: Counts, prob: npt.NDArray[np.float32],
    salt_vs_pepper: npt.NDArray[np.float32], salt: npt.NDArray[np.float32] | None,
    pepper: npt.NDArray[np.float32] | None, dtype: npt.DTypeLike, *, channels_first: bool = False,
) -> None:  # fmt: skip
    """Replace pixels by salt or pepper, as ``noise.salt_and_pepper`` does.

    Parameters
    ----------
    pixels, channels
        ``int64[N]``. For a number of its own for each element (``per_channel=True``) say one channel.
    prob, salt_vs_pepper
        ``float32[N]``.
    salt, pepper
        ``float32[N]``, or `None` for the highest and lowest value of an integer dtype, 1 and -1 for float32.
    """
    bright, dark = grains(len(pixels), salt, pepper, dtype)
    chance = np.asarray(prob, np.float32)
    salt_and_pepper(
        stream.key, stream.highs, src, dst, pixels, channels, channels_first,
        chance, chance * np.asarray(salt_vs_pepper, np.float32), bright, dark, sample_of(dtype),
    )  # fmt: skip


def add_shot_noise(
    stream: Stream, src: Addresses, dst: Addresses, counts: Counts, factor: npt.NDArray[np.float32],
    dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Replace elements by Poisson numbers, as ``noise.shot`` does; `factor` is ``float32[N]``, by default 12."""
    shot(
        stream.key, stream.highs, src, dst, counts, np.asarray(factor, np.float32),
        np.empty(8, np.uint64), np.zeros(2, np.float64), sample_of(dtype),
    )  # fmt: skip


def jitter(
    stream: Stream, src: Addresses, dst: Addresses, shapes: npt.NDArray[np.int64], degrees: npt.ArrayLike,
    chosen: npt.ArrayLike, dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Take each element from a place nearby, as ``jitter`` does on a GPU; nearest pixels.

    Parameters
    ----------
    shapes
        ``int64[N, 3]``: height, width, channels.
    degrees
        ``nDegree``: how many places on each axis there are to choose from.
    chosen
        ``mask``: samples where it is 0 are copied.
    """
    count = len(shapes)
    move_elements(
        stream.key, stream.highs, src, dst, np.ascontiguousarray(shapes, np.int64),
        np.broadcast_to(np.asarray(degrees, np.int64), count).copy(),
        np.broadcast_to(np.asarray(chosen, np.bool_), count).copy(), like_size(np.dtype(dtype).itemsize),
    )  # fmt: skip


@kernel
def gaussian(
    key: Key, highs: Array, src: Array, dst: Array, counts: Array, mean: Array, stddev: Array, like: Array
) -> None:
    """Add normal numbers in the dtype of `mean` and `stddev`, ``float32[N]`` or ``float64[N]``."""
    real = mean.dtype.type
    for i in range(src.shape[0]):
        source = array_at(src[i], (counts[i],), like)
        target = array_at(dst[i], (counts[i],), like)
        for p in range(counts[i]):
            number = normal_at(key, highs[i], _STEP * np.uint64(p), mean)
            target[p] = saturate(real(source[p]) + fused_multiply_add(number, stddev[i], mean[i]), like)


@kernel
def salt_and_pepper(
    key: Key, highs: Array, src: Array, dst: Array, pixels: Array, channels: Array, planes: bool,
    probability: Array, salt_probability: Array, salt: Array, pepper: Array, like: Array,
) -> None:  # fmt: skip
    """Replace some pixels by one of two values.

    Parameters
    ----------
    pixels, channels
        ``int64[N]``: a number is drawn for each pixel and replaces all of its channels; one channel makes every
        element a pixel.
    planes
        Channels come first, not last.
    probability, salt_probability
        ``float32[N]``: probability that a pixel is replaced, and that it is replaced by salt.
    salt, pepper
        The values, in the dtype of `like`.
    """
    for i in range(src.shape[0]):
        count = pixels[i] * channels[i]
        source = array_at(src[i], (count,), like)
        target = array_at(dst[i], (count,), like)
        pixel_step = 1 if planes else channels[i]
        channel_step = pixels[i] if planes else 1
        for p in range(pixels[i]):
            word = np.float32(philox_word(key, highs[i], _STEP * np.uint64(p)))
            number = min(word * np.float32(2.0**-32), np.float32(1 - 2.0**-24))
            at = p * pixel_step
            if number < probability[i]:
                value = salt[i] if number < salt_probability[i] else pepper[i]
                for c in range(channels[i]):
                    target[at + c * channel_step] = value
            else:
                for c in range(channels[i]):
                    target[at + c * channel_step] = source[at + c * channel_step]


@kernel
def shot(
    key: Key, highs: Array, src: Array, dst: Array, counts: Array, factors: Array, state: Array, kept: Array,
    like: Array,
) -> None:  # fmt: skip
    """Replace each element by `factor` times a Poisson number with the mean ``element / factor``; 0 for a factor of 0.

    Parameters
    ----------
    factors
        ``float32[N]``; negative elements have the mean 0. Elements whose mean no ``uint32`` can hold stay.
    state, kept
        ``uint64[8]`` and ``float64[2]`` to work with.
    """
    state, kept, like = borrowed(state), borrowed(kept), borrowed(like)
    for i in range(src.shape[0]):
        source = array_at(src[i], (counts[i],), like)
        target = array_at(dst[i], (counts[i],), like)
        factor = factors[i]
        if factor == np.float32(0):
            target[:] = 0
            continue
        inverse = np.float32(1) / factor
        for p in range(counts[i]):
            start_words(state, key, highs[i], _STEP * np.uint64(p))
            mean = max(np.float32(0), np.float32(source[p]) * inverse)
            if not mean < _TOO_MANY:
                target[p] = source[p]
                continue
            target[p] = saturate(np.float32(poisson(state, kept, np.float64(mean))) * factor, like)


@kernel
def move_elements(
    key: Key, highs: Array, src: Array, dst: Array, shapes: Array, degrees: Array, chosen: Array, like: Array
) -> None:
    """Take each element from a place nearby, of its own for each channel.

    Parameters
    ----------
    shapes
        ``int64[N, 3]``: height, width, channels.
    degrees
        ``int64[N]``: each of the two offsets is one of that many numbers, ``-(degree // 2)`` the least of them.
    chosen
        ``bool[N]``: samples that are changed; others are copied.
    like
        Stands for elements of as many bytes.
    """
    for i in range(src.shape[0]):
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        source = array_at(src[i], (height, width, channels), like)
        target = array_at(dst[i], (height, width, channels), like)
        least = -(degrees[i] >> 1)
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    from_y, from_x = y, x
                    if chosen[i]:
                        element = np.uint64((y * width + x) * channels + c)
                        a, b = philox_two(key, highs[i], _STEP * element)
                        from_x = min(max(x + least + _one_of(a, degrees[i]), 0), width - 1)
                        from_y = min(max(y + least + _one_of(b, degrees[i]), 0), height - 1)
                    target[y, x, c] = source[from_y, from_x, c]


@part
def _one_of(word: Word, count: int) -> Any:
    """A number below `count`: the lower bits of a word for a power of two, else the upper ones of a product."""
    if count & (count - 1) == 0:
        return np.int64(word) & (count - 1)
    return np.int64((word * np.uint64(count)) >> np.uint64(32))
