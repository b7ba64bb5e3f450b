"""Plain WAV files: where their elements lie, and these as numbers, for a chunk of files in one call.

A file is plain if it holds PCM of 8, 16 or 32 bits or float32, its chunks are known and its sizes agree. Whatever is
unusual about the others is left to libsndfile, whose numbers these are, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, part

ENCODING, OFFSET, LENGTH, CHANNELS, RATE = range(5)
"""Columns of the table that :func:`find_elements` fills in."""
UNUSUAL, PCM_8, PCM_16, PCM_32, FLOAT = range(5)

_NAMES = ("LIST", "fact", "PEAK", "bext", "cue ", "smpl", "inst", "JUNK", "junk", "PAD ", "id3 ", "ID3 ", "iXML")
_SKIPPED = np.array([int.from_bytes(name.encode(), "little") for name in _NAMES], np.int64)
_RIFF, _WAVE, _FORMAT, _DATA = (int.from_bytes(name, "little") for name in (b"RIFF", b"WAVE", b"fmt ", b"data"))
_IS_PCM, _IS_FLOAT = 1, 3
_MOST_CHANNELS, _HIGHEST_RATE = 256, 1 << 20


@part
def _number(x: Array, at: int) -> Any:
    """The 32 bits at a place, unsigned."""
    return np.int64(x[at]) | np.int64(x[at + 1]) << 8 | np.int64(x[at + 2]) << 16 | np.int64(x[at + 3]) << 24


@part
def _half(x: Array, at: int) -> Any:
    """The 16 bits at a place, unsigned."""
    return np.int64(x[at]) | np.int64(x[at + 1]) << 8


@part
def _encoding(tag: int, bits: int) -> Any:
    if tag == _IS_PCM:
        if bits == 8:
            return PCM_8
        if bits == 16:
            return PCM_16
        if bits == 32:
            return PCM_32
    if tag == _IS_FLOAT and bits == 32:
        return FLOAT
    return UNUSUAL


@part
def _read_header(x: Array, entry: Array) -> None:
    """Fill in one row of the table; its encoding remains unusual where anything is."""
    size = x.shape[0]
    if size < 44 or _number(x, 0) != _RIFF or _number(x, 8) != _WAVE:
        return
    at = 12
    encoding, channels, width = UNUSUAL, 0, 0
    while at + 8 <= size:
        name, length = _number(x, at), _number(x, at + 4)
        at += 8
        if at + length > size:
            return
        if name == _FORMAT:
            if encoding != UNUSUAL or length < 16:
                return
            encoding, channels = _encoding(_half(x, at), _half(x, at + 14)), _half(x, at + 2)
            width = _half(x, at + 12)
            entry[RATE] = _number(x, at + 4)
            if width != channels * (_half(x, at + 14) // 8):
                return
            if not (0 < channels <= _MOST_CHANNELS and 0 < entry[RATE] <= _HIGHEST_RATE):
                return
        elif name == _DATA:
            if encoding == UNUSUAL or length == 0 or length % width:
                return
            entry[OFFSET], entry[LENGTH], entry[CHANNELS] = at, length // width, channels
            entry[ENCODING] = encoding
            return
        elif length % 2 or not (name == _SKIPPED).any():
            return
        at += length


@kernel
def find_elements(src: Array, sizes: Array, table: Array) -> None:
    """Read the headers of WAV files into ``table[i]``: encoding, where elements begin, length, channels, rate."""
    for i in range(src.shape[0]):
        table[i, ENCODING] = UNUSUAL
        _read_header(array_at(src[i], (sizes[i],), np.empty(0, np.uint8)), table[i])


@part
def _as_float(source: int, encoding: int, total: int, y: Array) -> None:
    """Elements as float32 from -1 to 1."""
    if encoding == PCM_16:
        halves = array_at(source, (total,), np.empty(0, np.int16))
        for t in range(total):
            y[t] = np.float32(halves[t]) * np.float32(1 / 32768)
    elif encoding == PCM_8:
        bytes_ = array_at(source, (total,), np.empty(0, np.uint8))
        for t in range(total):
            y[t] = (np.float32(bytes_[t]) - np.float32(128)) * np.float32(1 / 128)
    elif encoding == PCM_32:
        words = array_at(source, (total,), np.empty(0, np.int32))
        for t in range(total):
            y[t] = np.float32(words[t]) * np.float32(1 / 2147483648)
    else:
        floats = array_at(source, (total,), np.empty(0, np.float32))
        for t in range(total):
            y[t] = floats[t]


@part
def _mean_of_channels(x: Array, y: Array) -> None:
    """Mean of the channels, each weighted first: the order in which NVIDIA DALI rounds."""
    channels = x.shape[1]
    weight = np.float32(1) / np.float32(channels)
    for t in range(x.shape[0]):
        total = x[t, 0] * weight
        for c in range(1, channels):
            total += x[t, c] * weight
        y[t] = total


@kernel
def elements_as_float(src: Array, table: Array, dst: Array, mix: bool) -> None:
    """Elements of plain files as float32, all channels or their mean."""
    for i in range(src.shape[0]):
        n, channels = table[i, LENGTH], table[i, CHANNELS]
        source = src[i] + table[i, OFFSET]
        if mix and channels > 1:
            block = np.empty((n, channels), np.float32)
            _as_float(source, table[i, ENCODING], n * channels, block.reshape(-1))
            _mean_of_channels(block, array_at(dst[i], (n,), np.empty(0, np.float32)))
        else:
            total = n * channels
            _as_float(source, table[i, ENCODING], total, array_at(dst[i], (total,), np.empty(0, np.float32)))


@kernel
def elements_as_stored(src: Array, table: Array, dst: Array) -> None:
    """Elements of plain files of 16 bits as int16."""
    for i in range(src.shape[0]):
        total = table[i, LENGTH] * table[i, CHANNELS]
        x = array_at(src[i] + table[i, OFFSET], (total,), np.empty(0, np.int16))
        y = array_at(dst[i], (total,), np.empty(0, np.int16))
        for t in range(total):
            y[t] = x[t]
