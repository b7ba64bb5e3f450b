"""Random numbers as NVIDIA DALI draws them: seeds of operators, streams of samples, and tables filled from them.

Every number is a function of (operator seed, samples drawn before this batch, index in the batch, element), so any
part of a batch can be filled alone, in any order and by any thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

SEED_WORDS = 1024
"""Seeds that a pipeline has to give; with more operators they are given again from the first."""

_WORD = 0xFFFFFFFF
_STEP_PER_SAMPLE = 65537


def seed_sequence(seed: int, count: int) -> list[int]:
    """The `count` 32-bit words of C++'s ``std::seed_seq{seed}`` (ISO/IEC 14882, [rand.util.seedseq])."""
    if count == 0:
        return []
    given = (seed & _WORD,)
    words = [0x8B8B8B8B] * count
    t = 11 if count >= 623 else 7 if count >= 68 else 5 if count >= 39 else 3 if count >= 7 else (count - 1) // 2
    p = (count - t) // 2
    q = p + t
    rounds = max(len(given) + 1, count)
    for k in range(rounds):
        mixed = words[k % count] ^ words[(k + p) % count] ^ words[(k - 1) % count]
        r1 = (1664525 * (mixed ^ (mixed >> 27))) & _WORD
        r2 = r1 + (len(given) if k == 0 else k % count + (given[k - 1] if k <= len(given) else 0))
        words[(k + p) % count] = (words[(k + p) % count] + r1) & _WORD
        words[(k + q) % count] = (words[(k + q) % count] + r2) & _WORD
        words[k % count] = r2 & _WORD
    for k in range(rounds, 2 * rounds):
        mixed = (words[k % count] + words[(k + p) % count] + words[(k - 1) % count]) & _WORD
        r3 = (1566083941 * (mixed ^ (mixed >> 27))) & _WORD
        r4 = (r3 - k % count) & _WORD
        words[(k + p) % count] ^= r3
        words[(k + q) % count] ^= r4
        words[k % count] = r4
    return words


@lru_cache(maxsize=64)
def pipeline_words(pipeline_seed: int) -> tuple[int, ...]:
    """The :data:`SEED_WORDS` words from which a pipeline with this seed gives seeds to its operators, in order."""
    return tuple(seed_sequence(pipeline_seed, SEED_WORDS))


@dataclass(frozen=True)
class SeedRequest:
    """What one operator asks of :func:`assign_seeds`.

    Attributes
    ----------
    takes_seed
        Its declaration has the argument ``seed``.
    own
        The seed it was given, or `None`. A given -1 is a seed like any other.
    group
        The same for all nodes that one call with several input sets made; `None` for a node of its own.
    """

    takes_seed: bool
    own: int | None = None
    group: Hashable | None = None


def assign_seeds(pipeline_seed: int, requests: Iterable[SeedRequest]) -> list[int | None]:
    """The seed of each operator, `None` for those that take none.

    Each operator that takes a seed and has none of its own uses up one word. One with a seed of its own uses up
    none. Nodes of one `group` all get the seed of the first, but each of them uses up a word.

    Parameters
    ----------
    pipeline_seed
        The pipeline's seed; only its lower 32 bits matter.
    requests
        In the order of :func:`seed_order`.
    """
    words = pipeline_words(pipeline_seed)
    following = 0
    groups: dict[Hashable, int] = {}
    seeds: list[int | None] = []
    for request in requests:
        if not request.takes_seed:
            seeds.append(None)
            continue
        if request.own is not None:
            seed = request.own
            if request.group is not None:
                groups[request.group] = seed
        else:
            seed = words[following % SEED_WORDS]
            following += 1
            if request.group is not None:
                seed = groups.setdefault(request.group, seed)
        seeds.append(seed)
    return seeds


def seed_order(outputs: Iterable[str], inputs_of: Callable[[str], Iterable[str]]) -> list[str]:
    """The nodes in the order in which NVIDIA DALI gives them seeds: depth first from the outputs, inputs before users.

    Nodes that the outputs do not need are left out: in NVIDIA DALI they get no seed.

    Parameters
    ----------
    outputs
        Nodes of the pipeline's outputs in order, then the nodes that are preserved, in order of their creation.
    inputs_of
        The nodes that a node reads: its inputs in order, then the nodes connected to its arguments, sorted by the
        argument's name. Nodes that split a batch by a predicate read the value and then the predicate; those that merge
        it read the branches and then the predicate.
    """
    order: list[str] = []
    visited: set[str] = set()
    for output in outputs:
        if output in visited:
            continue
        visited.add(output)
        stack: list[tuple[str, Iterator[str]]] = [(output, iter(inputs_of(output)))]
        while stack:
            name, rest = stack[-1]
            for other in rest:
                if other not in visited:
                    visited.add(other)
                    stack.append((other, iter(inputs_of(other))))
                    break
            else:
                order.append(name)
                stack.pop()
    return order


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


def open_stream(seed: int, drawn_before: int, indices: npt.NDArray[np.int64]) -> Stream:
    """The stream of samples of one batch.

    Parameters
    ----------
    seed
        The operator's seed; negative ones are taken modulo 2**64.
    drawn_before
        Samples that the operator has seen in all batches before this one.
    indices
        ``int64[N]``: which samples of the batch.
    """
    steps = np.asarray(indices, np.int64) * _STEP_PER_SAMPLE
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
    real = _real_of(target)
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
    real = _real_of(target)
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


def fill_indices(stream: Stream, addresses: Addresses, counts: Counts, sizes: npt.ArrayLike) -> None:
    """Fill samples with ``int64`` indices below ``sizes[i]``, all as likely."""
    from dali_lab.kernels.cpu import philox
    from dali_lab.kernels.cpu.memory import like

    limits = np.broadcast_to(np.asarray(sizes), counts.shape).astype(np.uint64)
    philox.indices(stream.key, stream.highs, addresses, counts, limits, like(np.int64))


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


def _real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
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
