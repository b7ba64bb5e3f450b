"""Random numbers as NVIDIA DALI draws them: the streams of samples.

Every number is a function of (operator seed, samples drawn before this batch, index in the batch, element), so any
part of a batch can be filled alone, in any order, by any thread and on any device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

STATE_WORDS = 7
"""Integers of 32 bits that a state is made of."""

_WORD = (1 << 64) - 1
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
        Lower half of the counter and the word within it, 0 for operators that were given a seed.
    """

    key: int
    high: int = 0
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

    @classmethod
    def of_words(cls, words: npt.ArrayLike) -> GeneratorState:
        """The state in seven integers of 32 bits: key, lower and upper half of the counter, and the word within it.

        Raises
        ------
        ValueError
            If there are fewer.
        """
        given = [int(word) & 0xFFFFFFFF for word in np.ravel(np.asarray(words))]
        if len(given) < STATE_WORDS:
            raise ValueError(f"the state of a generator has {STATE_WORDS} integers of 32 bits, not {len(given)}")
        key, low, high = (given[i] | given[i + 1] << 32 for i in (0, 2, 4))
        return cls(key, high, low, given[6] & 3)


Key = tuple[np.uint64, np.uint64, np.uint64]
"""As kernels take it: a seed, the lower half of a counter, and the word within it."""


def generator_key(state: GeneratorState) -> Key:
    """The part of a state that all samples share."""
    return np.uint64(state.key & _WORD), np.uint64(state.low & _WORD), np.uint64(state.phase)


@dataclass(frozen=True)
class Stream:
    """The random words of some samples of a batch.

    Attributes
    ----------
    key
        The operator's seed, and where all sequences begin: the lower half of the counter, and the word within it.
    highs
        ``uint64[N]``: upper half of each sample's counter, which is its sequence.
    """

    key: Key
    highs: npt.NDArray[np.uint64]


def open_stream(
    state: GeneratorState, indices: npt.NDArray[np.int64], frames: npt.NDArray[np.int64] | None = None
) -> Stream:
    """The stream of samples of one batch.

    Parameters
    ----------
    state
        The operator's generator before this batch; negative seeds are taken modulo 2**64.
    indices
        ``int64[N]``: which samples of the batch.
    frames
        ``int64[N]``: for frames of sequences, which frame of its sample each is.
    """
    steps = np.asarray(indices, np.int64) * _STEP_PER_SAMPLE
    if frames is not None:
        steps += frames << _FRAME_SHIFT
    return Stream(generator_key(state), steps.astype(np.uint64) + np.uint64(state.high & _WORD))


def row_behind(drawn: npt.ArrayLike, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Indices whose streams, in a first batch, are those of samples of later batches.

    Parameters
    ----------
    drawn
        Samples drawn before the batch of each sample.
    indices
        Index of each sample in its batch.

    Returns
    -------
    numpy.ndarray
        ``int64[N]``, for the argument `indices` of :func:`open_stream` with a state whose `high` is 0.
    """
    # open_stream multiplies modulo 2**64, where the step has an inverse.
    inverse = np.uint64(pow(_STEP_PER_SAMPLE, -1, 1 << 64))
    before = np.asarray(drawn, np.int64).astype(np.uint64) * inverse
    return (before + np.asarray(indices, np.int64).astype(np.uint64)).astype(np.int64)


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The floating type in which numbers of `dtype` are drawn."""
    wide = dtype.itemsize > 4 or (dtype.kind in "iu" and dtype.itemsize == 4)
    return np.dtype(np.float64 if wide else np.float32)


def truncated(values: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """float32 `values` in another type as ``static_cast`` makes them on x86-64: cut off, then the lower bits."""
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


def grains(
    count: int, salt: npt.NDArray[np.float32] | None, pepper: npt.NDArray[np.float32] | None, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The values of salt and of pepper for `count` samples; see ``noise.salt_and_pepper``."""
    target = np.dtype(dtype)
    high, low = (1, -1) if target.kind == "f" else (np.iinfo(target).max, np.iinfo(target).min)
    return (
        np.full(count, high, target) if salt is None else truncated(salt, target),
        np.full(count, low, target) if pepper is None else truncated(pepper, target),
    )
