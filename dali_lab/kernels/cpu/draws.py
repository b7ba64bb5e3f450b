"""Samples filled with random numbers of a distribution."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu import background, philox, standard_random
from dali_lab.kernels.cpu.convert import cast
from dali_lab.kernels.cpu.machine import instructions
from dali_lab.kernels.cpu.memory import as_python
from dali_lab.kernels.cpu.memory import like as sample_of
from dali_lab.kernels.streams import GeneratorState, Stream, open_stream, real_of, truncated

Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

_WORD = 0xFFFFFFFF
_FEW = 4096
"""Numbers that are drawn by the Python text of a kernel, which takes some 50 µs for each, rather than wait for it."""


@functools.cache
def _uniform32_as_python() -> Any:
    return as_python(philox.uniform, fused_multiply_add=as_python(instructions.multiply_add_of_float32))


def _uniform32_in_python(*arguments: object) -> None:
    _uniform32_as_python()(*arguments)


def fill_uniform(
    stream: Stream, addresses: Addresses, counts: Counts, lo: npt.NDArray[np.float32], hi: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.float32,
) -> None:  # fmt: skip
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
    target = np.dtype(dtype)
    real = real_of(target)
    start = truncated(lo, target).astype(real)
    last = np.nextafter(truncated(hi, target).astype(real), start)
    start, last = np.minimum(start, last), np.maximum(start, last)
    step = (last - start) * real.type(2.0**-32 if real.itemsize == 4 else 2.0**-64)
    with _Converted(addresses, counts, real, target) as (rows, like):
        if real.itemsize == 4 and counts.sum() <= _FEW:
            background.call(
                philox.uniform,
                stream.key,
                stream.highs,
                rows,
                counts,
                start,
                step,
                last,
                like,
                meanwhile=_uniform32_in_python,
            )
        else:
            philox.uniform(stream.key, stream.highs, rows, counts, start, step, last, like)


def fill_normal(
    stream: Stream, addresses: Addresses, counts: Counts, mean: npt.NDArray[np.float32],
    stddev: npt.NDArray[np.float32], dtype: npt.DTypeLike = np.float32,
) -> None:  # fmt: skip
    """Fill samples with normal numbers; `mean` and `stddev` are ``float32[N]``; the rest as in :func:`fill_uniform`."""
    target = np.dtype(dtype)
    real = real_of(target)
    with _Converted(addresses, counts, real, target) as (rows, like):
        philox.normal(
            stream.key, stream.highs, rows, counts,
            np.asarray(mean, np.float32).astype(real), np.asarray(stddev, np.float32).astype(real), like,
        )  # fmt: skip


def _thresholds(probability: npt.NDArray[np.float32]) -> npt.NDArray[np.uint64]:
    """The random words of 32 bits below which a coin shows 1, ``uint64[N]``."""
    scaled = probability * np.float32(2.0**32)
    words = np.where(scaled >= np.float32(2.0**32), np.uint64(_WORD), truncated(scaled, np.dtype(np.uint32)))
    return words.astype(np.uint64)


@functools.lru_cache(64)
def _threshold(probability: float) -> np.uint64:
    return np.uint64(_thresholds(np.array([probability], np.float32))[0])


def fill_coin_flip(
    stream: Stream, addresses: Addresses, counts: Counts, probability: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.int32,
) -> None:  # fmt: skip
    """Fill samples with 1 at the given probabilities (``float32[N]``) and 0 elsewhere; `dtype` is any."""
    target = np.dtype(dtype)
    values = np.asarray(probability, np.float32)
    if len(values) and (values == values[0]).all():
        thresholds = np.full(len(values), _threshold(float(values[0])))
    else:
        thresholds = _thresholds(values)
    direct = np.dtype(np.uint8 if target.itemsize == 1 else np.int32)
    with _Converted(addresses, counts, direct, direct if target.itemsize == 1 else target) as (rows, like):
        if counts.sum() <= _FEW:
            background.call(philox.coin_flips, stream.key, stream.highs, rows, counts, thresholds, like)
        else:
            philox.coin_flips(stream.key, stream.highs, rows, counts, thresholds, like)


def fill_indices(
    stream: Stream, addresses: Addresses, counts: Counts, sizes: npt.ArrayLike,
    probabilities: Sequence[npt.NDArray[np.float32]] | None = None, *, in_sequence: bool = False,
) -> None:  # fmt: skip
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
    step = np.uint64(0 if in_sequence else philox.WORDS_PER_ELEMENT)
    if probabilities is not None:
        lengths = np.array([len(row) for row in probabilities], np.int64)
        rows = [np.asarray(row, np.float32).astype(np.float64) for row in probabilities]
        cumulative = [np.cumsum(row / np.cumsum(row)[-1:]) for row in rows]
        for row in cumulative:
            row[-1:] = 1.0
        standard_random.weighted_indices(
            stream.key, stream.highs, addresses, counts, np.concatenate([np.empty(0), *cumulative]),
            np.concatenate([[0], np.cumsum(lengths)]), step, sample_of(np.int64),
        )  # fmt: skip
        return
    limits = np.broadcast_to(np.asarray(sizes), counts.shape).astype(np.uint64)
    standard_random.indices(stream.key, stream.highs, addresses, counts, limits, step, sample_of(np.int64))


def fill_beta(
    stream: Stream, addresses: Addresses, counts: Counts, alpha: npt.NDArray[np.float32], beta: npt.NDArray[np.float32],
    dtype: npt.DTypeLike = np.float32,
) -> None:  # fmt: skip
    """Fill samples with numbers of the distribution Beta(alpha, beta); `alpha` and `beta` are ``float32[N]``."""
    target = np.dtype(dtype)
    real = real_of(target)
    with _Converted(addresses, counts, real, target) as (rows, like):
        standard_random.beta(
            stream.key, stream.highs, rows, counts,
            np.asarray(alpha, np.float32).astype(real), np.asarray(beta, np.float32).astype(real), like,
        )  # fmt: skip


def permutation(
    state: GeneratorState, size: int, *, allow_repetitions: bool = False, no_fixed_points: bool = False
) -> npt.NDArray[np.int64]:
    """The permutation of ``batch_permutation`` for a batch of `size` samples."""
    out = np.empty(size, np.int64)
    stream = open_stream(state, np.zeros(1, np.int64))
    standard_random.permutation(stream.key, stream.highs[0], out, allow_repetitions, no_fixed_points)
    return out


def fill_values(
    stream: Stream, addresses: Addresses, counts: Counts, values: Sequence[npt.NDArray[np.float32]],
    dtype: npt.DTypeLike = np.float32,
) -> None:  # fmt: skip
    """Fill samples with some of their values (one flat array a sample, all as likely), converted to `dtype`."""
    target = np.dtype(dtype)
    flat = np.concatenate([np.asarray(row, np.float32).reshape(-1) for row in values]) if values else np.empty(0)
    sizes = np.array([np.size(row) for row in values], np.int64)
    with _Converted(addresses, counts, np.dtype(np.float32), target) as (rows, like):
        philox.values(
            stream.key, stream.highs, rows, counts, flat.astype(np.float32), np.cumsum(sizes) - sizes,
            sizes.astype(np.uint64), like,
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
        if self._made != self._wanted:
            ends = np.cumsum(self._counts)
            self._memory = np.empty(int(ends[-1]) if len(ends) else 0, self._made)
            self._rows = self._memory.ctypes.data + (ends - self._counts) * self._made.itemsize
        return self._rows, sample_of(self._made)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._made != self._wanted:
            cast(self._rows, self._addresses, self._counts, self._made, self._wanted)
