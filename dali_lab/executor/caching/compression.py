"""Lossless compression of kept samples, chosen by what was measured: sizes, times, and the rate of the disk."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dali_lab.executor.caching.entries import LZ4, NONE, ZSTD, Rows
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8

_TRIED = 8
"""Most samples, and most bytes of them, that the ways are tried with."""
_TRIED_BYTES = 4 << 20
_CLEAR = 0.8
"""The share of the time without compression that it must stay under, as it costs time in the first epoch."""


def has_codecs() -> bool:
    """Whether the library that compresses is installed."""
    from dali_lab.codecs.backends.imagecodecs import available  # on use: it comes with all that decodes pictures

    return available()


class Compression:
    """Chooses how the samples of each edge are compressed, by the first ones.

    Parameters
    ----------
    rate
        Measures how many bytes a second are read from where samples of so many bytes in all are kept; asked for once.
    room
        Bytes that may be kept.
    samples
        How many samples there are; 0 where it is not known.
    """

    def __init__(self, rate: Callable[[float], float], room: float = np.inf, samples: int = 0) -> None:
        self._rate, self._room, self._samples = rate, room, samples
        self._measured: float | None = None
        self._chosen: dict[int, int] = {}

    def choose(self, edge: int, batch: Batch, counts: Rows, seconds: float) -> int:
        """The codec for samples of an edge, which took `seconds` to make."""
        if not has_codecs():
            return NONE
        if edge not in self._chosen:
            if self._measured is None:
                self._measured = self._rate(float(counts.mean()) * self._samples if len(counts) else 0.0)
            self._chosen[edge] = self._best(batch, counts, seconds / max(1, len(batch)))
        return self._chosen[edge]

    def _best(self, batch: Batch, counts: Rows, made: float) -> int:
        """The way that saves most time in a later epoch."""
        assert self._measured is not None
        ends = np.cumsum(counts)
        tried = min(_TRIED, len(batch), 1 + int(np.searchsorted(ends, _TRIED_BYTES)))
        total = int(ends[tried - 1]) if tried else 0
        if not total:
            return NONE
        best, saved = NONE, self._saved(total / tried, 0.0, made)
        plain = total / tried / self._measured
        for codec in (LZ4, ZSTD):
            packed, codecs = self.pack(codec, batch.take(slice(0, tried)), counts[:tried])
            target = np.empty(int(counts.max()), np.uint8)
            began = time.thread_time()
            for index in range(tried):
                source, size = int(packed.addresses[index]), int(packed.sizes[index])
                if codecs[index] != NONE:
                    unpack(codec, source, size, target.ctypes.data, int(counts[index]))
            spent = (time.thread_time() - began) / tried
            stored = int(packed.sizes.sum()) / tried
            found = self._saved(stored, spent, made)
            reading = stored / self._measured + spent
            more_room = self._share(stored) > self._share(total / tried)
            if found > saved and (reading < _CLEAR * plain or more_room):
                best, saved = codec, found
        return best

    def _share(self, stored: float) -> float:
        """The share of the samples that there is room for."""
        return min(1.0, self._room / max(1.0, stored * self._samples)) if self._samples else 1.0

    def _saved(self, stored: float, spent: float, made: float) -> float:
        """Seconds that are saved for each sample in a later epoch."""
        assert self._measured is not None
        return self._share(stored) * (made - stored / self._measured - spent)

    @staticmethod
    def pack(codec: int, batch: Batch, counts: Rows) -> tuple[Batch, Rows]:
        """Samples compressed, and how each is: those that would not get smaller stay as they are."""
        import imagecodecs

        encode = imagecodecs.lz4_encode if codec == LZ4 else imagecodecs.zstd_encode
        plain = _bytes_at(batch, counts)
        packed = [encode(each, level=1) if len(each) else b"" for each in plain]
        smaller = np.array([len(one) < len(other) for one, other in zip(packed, plain, strict=True)], np.bool_)
        best = [one if less else other for one, other, less in zip(packed, plain, smaller.tolist(), strict=True)]
        found = Batch.of([np.frombuffer(each, np.uint8) for each in best], dtype=UINT8)
        found.owners = (*found.owners, *batch.owners)
        return found, np.where(smaller, codec, NONE)


def unpack(codec: int, source: int, count: int, target: int, size: int) -> bool:
    """Decompress the `count` bytes at an address to another one; whether that gave `size` bytes."""
    if not has_codecs():
        return False
    import imagecodecs

    decode = imagecodecs.lz4_decode if codec == LZ4 else imagecodecs.zstd_decode
    packed, out = _memory(source, count), _memory(target, size)
    try:
        found = decode(packed, out=out)
    except (RuntimeError, ValueError):  # the libraries' errors about data that are not theirs
        return False
    return len(found) == size


def _bytes_at(batch: Batch, counts: Rows) -> list[Any]:
    pairs = zip(batch.addresses.tolist(), counts.tolist(), strict=True)
    return [_memory(address, count) for address, count in pairs]


def _memory(address: int, count: int) -> Any:  # imagecodecs declares fewer types of memory than it takes
    return memoryview((ctypes.c_uint8 * count).from_address(address)).cast("B") if count else memoryview(b"")
