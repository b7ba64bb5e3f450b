"""Random numbers as NVIDIA DALI draws them: streams of samples, and tables filled from them.

Every number is a function of (operator seed, samples drawn before this batch, index in the batch, element), so any
part of a batch can be filled alone, in any order and by any thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

_WORD = 0xFFFFFFFF
_STEP_PER_SAMPLE = 65537
_FRAME_SHIFT = 40


@dataclass(frozen=True)
class GeneratorState:
    """State of an operator's generator, as it stands in NVIDIA DALI's checkpoints.

    Attributes
    ----------
    key
        The operator's seed, as an unsigned number of 64 bits.
    high
        Upper half of the counter: the samples drawn so far.
    low, phase
        Lower half of the counter and the word within it, 0 for operators.
    """

    key: int
    high: int
    low: int = 0
    phase: int = 0

    _PATTERN = re.compile(r"Philox_([0-9A-Fa-f]+)_([0-9A-Fa-f]+):([0-9A-Fa-f]+)_([0-3])")

    def __str__(self) -> str:
        return f"Philox_{self.key:016X}_{self.high:016X}:{self.low:016X}_{self.phase}"

    @classmethod
    def parse(cls, text: str) -> GeneratorState:
        """Read what :meth:`__str__` prints.

        Raises
        ------
        ValueError
            If `text` is something else.
        """
        match = cls._PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is not the state of a Philox generator")
        return cls(*(int(part, 16) for part in match.groups()))


@dataclass(frozen=True)
class Stream:
    """The random words of some samples of a batch.

    Attributes
    ----------
    key
        The operator's seed.
    highs
        ``uint64[N]``: upper half of each sample's counter, which is its sequence.
    """

    key: np.uint64
    highs: npt.NDArray[np.uint64]


def open_stream(
    seed: int, drawn_before: int, indices: npt.NDArray[np.int64], frames: npt.NDArray[np.int64] | None = None
) -> Stream:
    """The stream of samples of one batch.

    Parameters
    ----------
    seed
        The operator's seed; negative ones are taken modulo 2**64.
    drawn_before
        Samples that the operator has seen in all batches before this one.
    indices
        ``int64[N]``: which samples of the batch.
    frames
        ``int64[N]``: for frames of sequences, which frame of its sample each is.
    """
    steps = np.asarray(indices, np.int64) * _STEP_PER_SAMPLE
    if frames is not None:
        steps += frames << _FRAME_SHIFT
    return Stream(np.uint64(seed & (2**64 - 1)), (steps + drawn_before).astype(np.uint64))


def fill_uniform(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    lo: npt.NDArray[np.float32],
    hi: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.float32,
) -> None:
    """Fill samples with numbers spread evenly over ``[lo, hi)``.

    Parameters
    ----------
    addresses, counts
        ``int64[N]``: where each sample is, and its number of elements.
    lo, hi
        ``float32[N]``. For an integer dtype they are converted first as C++ does on x86-64, without a fraction,
        and the numbers between them are rounded.
    dtype
        float32, float64 or an integer type.
    """
    from dali_lab.kernels.cpu import philox

    target = np.dtype(dtype)
    real = real_of(target)
    start = _c_cast(lo, target).astype(real)
    last = np.nextafter(_c_cast(hi, target).astype(real), start)
    start, last = np.minimum(start, last), np.maximum(start, last)
    step = (last - start) * real.type(2.0**-32 if real.itemsize == 4 else 2.0**-64)
    kernel = philox.uniform32 if real.itemsize == 4 else philox.uniform64
    with _Converted(addresses, counts, real, target) as (rows, like):
        kernel(stream.key, stream.highs, rows, counts, start, step, last, like)


def fill_normal(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    mean: npt.NDArray[np.float32],
    stddev: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.float32,
) -> None:
    """Fill samples with normal numbers; `mean` and `stddev` are ``float32[N]``; the rest as in :func:`fill_uniform`."""
    from dali_lab.kernels.cpu import philox

    target = np.dtype(dtype)
    real = real_of(target)
    kernel = philox.normal32 if real.itemsize == 4 else philox.normal64
    with _Converted(addresses, counts, real, target) as (rows, like):
        kernel(
            stream.key, stream.highs, rows, counts,
            np.asarray(mean, np.float32).astype(real), np.asarray(stddev, np.float32).astype(real), like,
        )  # fmt: skip


def fill_coin_flip(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    probability: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.int32,
) -> None:
    """Fill samples with 1 at the given probabilities (``float32[N]``) and 0 elsewhere; `dtype` is any."""
    from dali_lab.kernels.cpu import philox

    target = np.dtype(dtype)
    scaled = np.asarray(probability, np.float32) * np.float32(2.0**32)
    thresholds = np.where(scaled >= np.float32(2.0**32), np.uint64(_WORD), _c_cast(scaled, np.dtype(np.uint32)))
    direct = np.dtype(np.uint8 if target.itemsize == 1 else np.int32)
    with _Converted(addresses, counts, direct, direct if target.itemsize == 1 else target) as (rows, like):
        philox.coin_flips(stream.key, stream.highs, rows, counts, thresholds.astype(np.uint64), like)


def fill_indices(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    sizes: npt.ArrayLike,
    probabilities: Sequence[npt.NDArray[np.float32]] | None = None,
    *,
    in_sequence: bool = False,
) -> None:
    """Fill samples with ``int64`` indices below ``sizes[i]``, as ``random.choice`` draws them.

    Parameters
    ----------
    sizes
        How many there are to choose from, for each sample; 1 to 2**32 - 1.
    probabilities
        For each sample ``float32[sizes[i]]`` that add up to 1; without them all indices are as likely.
    in_sequence
        Take the words one after the other, as is done to choose among tensors (inputs with two dimensions or more).
    """
    from dali_lab.kernels.cpu import philox, standard_random
    from dali_lab.kernels.cpu.memory import like

    if probabilities is not None:
        lengths = np.array([len(row) for row in probabilities], np.int64)
        rows = [np.asarray(row, np.float32).astype(np.float64) for row in probabilities]
        cumulative = [np.cumsum(row / np.cumsum(row)[-1:]) for row in rows]
        for row in cumulative:
            row[-1:] = 1.0
        step = np.uint64(0 if in_sequence else philox.WORDS_PER_ELEMENT)
        standard_random.weighted_indices(
            stream.key, stream.highs, addresses, counts, np.concatenate([np.empty(0), *cumulative]),
            np.concatenate([[0], np.cumsum(lengths)]), step, like(np.int64),
        )  # fmt: skip
        return
    limits = np.broadcast_to(np.asarray(sizes), counts.shape).astype(np.uint64)
    kernel = standard_random.indices_in_sequence if in_sequence else philox.indices
    kernel(stream.key, stream.highs, addresses, counts, limits, like(np.int64))


def fill_beta(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    alpha: npt.NDArray[np.float32],
    beta: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.float32,
) -> None:
    """Fill samples with numbers of the distribution Beta(alpha, beta); `alpha` and `beta` are ``float32[N]``."""
    from dali_lab.kernels.cpu import standard_random

    target = np.dtype(dtype)
    real = real_of(target)
    with _Converted(addresses, counts, real, target) as (rows, like):
        standard_random.beta(
            stream.key, stream.highs, rows, counts,
            np.asarray(alpha, np.float32).astype(real), np.asarray(beta, np.float32).astype(real), like,
        )  # fmt: skip


def permutation(
    seed: int, drawn_before: int, size: int, *, allow_repetitions: bool = False, no_fixed_points: bool = False
) -> npt.NDArray[np.int64]:
    """What ``batch_permutation`` draws for a batch of `size` samples."""
    from dali_lab.kernels.cpu import standard_random

    out = np.empty(size, np.int64)
    stream = open_stream(seed, drawn_before, np.zeros(1, np.int64))
    standard_random.permutation(stream.key, stream.highs[0], out, allow_repetitions, no_fixed_points)
    return out


def fill_values(
    stream: Stream,
    addresses: Addresses,
    counts: Counts,
    values: Sequence[npt.NDArray[np.float32]],
    dtype: npt.DTypeLike = np.float32,
) -> None:
    """Fill samples with some of their values (one flat array a sample, all as likely), converted to `dtype`."""
    from dali_lab.kernels.cpu import philox

    target = np.dtype(dtype)
    flat = np.concatenate([np.asarray(row, np.float32).reshape(-1) for row in values]) if values else np.empty(0)
    sizes = np.array([np.size(row) for row in values], np.int64)
    with _Converted(addresses, counts, np.dtype(np.float32), target) as (rows, like):
        philox.values(
            stream.key, stream.highs, rows, counts, flat.astype(np.float32), np.cumsum(sizes) - sizes,
            sizes.astype(np.uint64), like,
        )  # fmt: skip


def add_gaussian_noise(
    stream: Stream,
    src: Addresses,
    dst: Addresses,
    counts: Counts,
    mean: npt.NDArray[np.float32],
    stddev: npt.NDArray[np.float32],
    dtype: npt.DTypeLike,
) -> None:
    """Add normal numbers to samples of an integer dtype or float32, as ``noise.gaussian`` does."""
    from dali_lab.kernels.cpu import noise
    from dali_lab.kernels.cpu.memory import like

    real = real_of(np.dtype(dtype))
    kernel = noise.gaussian32 if real.itemsize == 4 else noise.gaussian64
    kernel(
        stream.key, stream.highs, src, dst, counts,
        np.asarray(mean, np.float32).astype(real), np.asarray(stddev, np.float32).astype(real), like(dtype),
    )  # fmt: skip


def add_salt_and_pepper(
    stream: Stream,
    src: Addresses,
    dst: Addresses,
    pixels: Counts,
    channels: Counts,
    prob: npt.NDArray[np.float32],
    salt_vs_pepper: npt.NDArray[np.float32],
    salt: npt.NDArray[np.float32] | None,
    pepper: npt.NDArray[np.float32] | None,
    dtype: npt.DTypeLike,
    *,
    channels_first: bool = False,
) -> None:
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
    from dali_lab.kernels.cpu import noise
    from dali_lab.kernels.cpu.memory import like

    bright, dark = grains(len(pixels), salt, pepper, dtype)
    chance = np.asarray(prob, np.float32)
    noise.salt_and_pepper(
        stream.key, stream.highs, src, dst, pixels, channels, channels_first,
        chance, chance * np.asarray(salt_vs_pepper, np.float32), bright, dark, like(dtype),
    )  # fmt: skip


def grains(
    count: int, salt: npt.NDArray[np.float32] | None, pepper: npt.NDArray[np.float32] | None, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The values of salt and of pepper for `count` samples; see :func:`add_salt_and_pepper`."""
    target = np.dtype(dtype)
    high, low = (1, -1) if target.kind == "f" else (np.iinfo(target).max, np.iinfo(target).min)
    return (
        np.full(count, high, target) if salt is None else _c_cast(salt, target),
        np.full(count, low, target) if pepper is None else _c_cast(pepper, target),
    )


def add_shot_noise(
    stream: Stream,
    src: Addresses,
    dst: Addresses,
    counts: Counts,
    factor: npt.NDArray[np.float32],
    dtype: npt.DTypeLike,
) -> None:
    """Replace elements by Poisson numbers, as ``noise.shot`` does; `factor` is ``float32[N]``, by default 12."""
    from dali_lab.kernels.cpu import noise
    from dali_lab.kernels.cpu.memory import like

    noise.shot(stream.key, stream.highs, src, dst, counts, np.asarray(factor, np.float32), like(dtype))


def jitter(
    stream: Stream,
    src: Addresses,
    dst: Addresses,
    shapes: npt.NDArray[np.int64],
    degrees: npt.ArrayLike,
    chosen: npt.ArrayLike,
    dtype: npt.DTypeLike,
) -> None:
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
    from dali_lab.kernels.cpu import noise
    from dali_lab.kernels.cpu.memory import like_size

    count = len(shapes)
    noise.jitter(
        stream.key, stream.highs, src, dst, np.ascontiguousarray(shapes, np.int64),
        np.broadcast_to(np.asarray(degrees, np.int64), count).copy(),
        np.broadcast_to(np.asarray(chosen, np.bool_), count).copy(), like_size(np.dtype(dtype).itemsize),
    )  # fmt: skip


class _Converted:
    """Memory of another dtype for a kernel to fill, which becomes the wanted dtype at the end of the block."""

    def __init__(self, addresses: Addresses, counts: Counts, made: np.dtype[Any], wanted: np.dtype[Any]) -> None:
        self._addresses = addresses
        self._counts = counts
        self._made = made
        self._wanted = wanted
        self._rows = addresses

    def __enter__(self) -> tuple[Addresses, npt.NDArray[Any]]:
        from dali_lab.kernels.cpu.memory import like

        if self._made != self._wanted:
            ends = np.cumsum(self._counts)
            self._memory = np.empty(int(ends[-1]) if len(ends) else 0, self._made)
            self._rows = self._memory.ctypes.data + (ends - self._counts) * self._made.itemsize
        return self._rows, like(self._made)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._made != self._wanted:
            from dali_lab.kernels.cpu.convert import cast

            cast(self._rows, self._addresses, self._counts, self._made, self._wanted)


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The floating type in which numbers of `dtype` are drawn."""
    wide = dtype.itemsize > 4 or (dtype.kind in "iu" and dtype.itemsize == 4)
    return np.dtype(np.float64 if wide else np.float32)


def _c_cast(values: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """float32 `values` as ``static_cast`` makes them on x86-64: cut off, then the lower bits."""
    given = np.asarray(values, np.float32).astype(np.float64)
    if dtype.kind not in "iu":
        return given.astype(dtype)
    bits = 32 if dtype.itemsize < 4 or dtype == np.int32 else 64
    if dtype == np.uint64:
        wrapped = np.where(given >= 2.0**63, given - 2.0**63, given)
        whole = _to_int64(wrapped, 63).view(np.uint64)
        return np.where(given >= 2.0**63, whole ^ np.uint64(2**63), whole)
    return _to_int64(given, bits - 1).astype(dtype)


def _to_int64(values: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.int64]:
    fits = np.abs(np.trunc(values)) < 2.0**bits
    return np.where(fits, np.trunc(np.where(fits, values, 0)), -(2.0**bits)).astype(np.int64)
