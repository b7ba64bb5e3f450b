"""Resampling of sound by a windowed sinc, with the table and the arithmetic of NVIDIA DALI."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Addresses, Array, Integer, Real
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.machine.row_vectors import sum_in_fours
from dali_lab.kernels.cpu.memory import array_at, borrowed, inner_part, kernel, like, part, rows
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, numpy_dtype

_STEPS_PER_LOBE = 64
#: Positions within a block are float32, counted from its start, which is exact.
_BLOCK = 256


def resampled_length(length: int, rate: float, target_rate: float) -> int:
    """Number of samples after resampling `length` of them."""
    return int(np.ceil(length * float(target_rate) / float(rate)))


def lobes(quality: float) -> int:
    """Lobes of the sinc on either side: 3 for a quality of 0, 16 for 50, 64 for 100."""
    return round(0.007 * quality * quality - 0.09 * quality + 3)


def resample(
    sound: npt.NDArray[np.float32], rate: float, target_rate: float, quality: float = 50.0
) -> npt.NDArray[np.float32]:
    """Resample each channel.

    Parameters
    ----------
    sound
        ``float32[samples]`` or ``float32[samples, channels]``.
    rate, target_rate
        In Hz, or in any other unit: the ratio counts.
    quality
        0 to 100.

    Returns
    -------
    numpy.ndarray
        ``float32`` with as many dimensions as `sound`.

    Raises
    ------
    ValueError
        If a rate is not positive or `quality` is not between 0 and 100.
    """
    if not (rate > 0 and target_rate > 0):
        raise ValueError(f"sample rates must be positive, not {rate} and {target_rate}")
    length = resampled_length(len(sound), rate, target_rate)
    return resample_to(sound, length, float(rate) / float(target_rate), quality)


def resample_to(
    sound: npt.NDArray[np.float32], length: int, step: float, quality: float = 50.0
) -> npt.NDArray[np.float32]:
    """Resample each channel to `length` elements, which are `step` elements of the input apart.

    The rest is as in :func:`resample`.

    Raises
    ------
    ValueError
        If `quality` is not between 0 and 100.
    """
    if not 0 <= quality <= 100:
        raise ValueError(f"quality must be between 0 and 100, not {quality}")
    channels = int(np.prod(sound.shape[1:], dtype=np.int64))
    columns = np.ascontiguousarray(sound, np.float32).reshape(len(sound), channels)
    out = np.empty((length, columns.shape[1]), np.float32)
    _resample(columns, out, step, _steps_of(lobes(quality)), lobes(quality))
    return out[:, 0] if sound.ndim == 1 else out


def unit_scale(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[float, float, bool]:
    """Scale that brings elements of a type to the range from -1 to 1, or from 0 to 1 for an unsigned `target`.

    Returns
    -------
    slope, offset : float
        The factor, and the number that is added then.
    halve : bool
        Whether that gives -1 to 1 where 0 to 1 is asked for.
    """
    unsigned = target.kind == "u"
    if source.kind == "f":
        return 1.0, 0.0, unsigned
    limit = float(np.iinfo(source).max)
    if source.kind == "i":
        return 1.0 / limit, 0.0, unsigned
    return (1.0 / limit, 0.0, False) if unsigned else (2.0 / limit, -1.0, False)


@lru_cache(maxsize=16)
def window(count: int) -> npt.NDArray[np.float32]:
    """Sinc under a Hann window at 64 steps per lobe, with a zero before and zeros after it."""
    size = count * _STEPS_PER_LOBE + 1
    center = (size - 1) // 2
    place = np.arange(size, dtype=np.float32) - np.float32(center)
    x = (place * np.float32(2.0 * count / (size - 1))).astype(np.float64)
    y = (place * np.float32(2.0 / size)).astype(np.float64)
    angles = (x * np.pi).astype(np.float32)
    sinc = np.ones(size, np.float32)
    np.divide(_sines(angles), angles, out=sinc, where=angles != 0)
    table = np.zeros(size + 5, np.float32)
    table[1 : size + 1] = sinc * (0.5 * (1 + np.cos(y * np.pi)))
    return table


def _sines(angles: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Sines as the C library gives them for float32, by which NVIDIA DALI makes its table; NumPy's round otherwise."""
    try:
        sine = ctypes.CDLL(None).sinf
    except (AttributeError, OSError, TypeError):  # a platform that keeps it elsewhere
        return np.sin(angles.astype(np.float64)).astype(np.float32)
    sine.restype, sine.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.array([sine(angle) for angle in angles.tolist()], np.float32)


@lru_cache(maxsize=16)
def _steps_of(count: int) -> npt.NDArray[np.float32]:
    """Each element of :func:`window` but the last, and how far it is to the one after it: ``float32[N, 2]``."""
    table = window(count)
    return np.stack([table[:-1], np.diff(table)], axis=1)


@inner_part
def _weight(table: Array, x: Real, steps: Real, center: Real) -> Any:
    at = x * steps + center
    entry = np.int32(at)
    return table[np.uintp(entry), 0] + (at - np.float32(entry)) * table[np.uintp(entry), 1]


@kernel
def _resample(sound: Array, out: Array, scale: Real, table: Array, count: int) -> None:
    length, channels = sound.shape
    _resample_columns(sound.ravel(), out.ravel(), length, out.shape[0], channels, scale, borrowed(table), count)


@kernel
def _resample_samples(
    src: Addresses, dst: Addresses, shapes: Array, scales: Array, table: Array, count: int, item: Array
) -> None:
    table = borrowed(table)
    for i in range(src.shape[0]):
        length, channels, out_length = shapes[i]
        sound = array_at(src[i], (length * channels,), item)
        out = array_at(dst[i], (out_length * channels,), item)
        _resample_columns(sound, out, length, out_length, channels, scales[i], table, count)


@kernel
def _to_unit(
    src: Addresses, dst: Addresses, sizes: Array, slope: Real, offset: Real, halve: bool, item: Array, like_src: Array
) -> None:
    one, half = np.float32(1), np.float32(0.5)
    for i in range(src.shape[0]):
        raw = array_at(src[i], (sizes[i],), like_src)
        target = array_at(dst[i], (sizes[i],), item)
        for j in range(sizes[i]):
            value = np.float32(raw[j]) * np.float32(slope) + np.float32(offset)
            target[j] = (value + one) * half if halve else value


@kernel
def _from_unit(src: Addresses, dst: Addresses, sizes: Array, full: Real, item: Array, like_dst: Array) -> None:
    for i in range(src.shape[0]):
        values = array_at(src[i], (sizes[i],), item)
        target = array_at(dst[i], (sizes[i],), like_dst)
        for j in range(sizes[i]):
            value = np.float64(values[j] * np.float32(full))
            target[j] = saturate(np.trunc(value + math.copysign(0.5, value)), like_dst)


def resample_samples(sounds: Batch, results: Batch, steps: npt.NDArray[np.float64], quality: float = 50.0) -> None:
    """Resample a chunk of sounds of any type, with one call for all of them.

    Sound of whole numbers is taken as reaching from -1 to 1, the middle of an unsigned range as 0, and comes out
    scaled to the range of its type, rounded and clamped. Beyond the ends an unsigned result tends to 0, not to the
    middle, as with NVIDIA DALI.

    Parameters
    ----------
    sounds
        ``[samples]`` or ``[samples, channels]``, integers of up to 32 bits or float32.
    results
        Allocated, of any of these types, with as many channels.
    steps
        ``float64[N]``: distance of the results in elements of the input.
    quality
        0 to 100.
    """
    source, target = numpy_dtype(sounds.dtype), numpy_dtype(results.dtype)
    item = like(np.float32)
    shapes = np.stack([sounds.shapes[:, 0], sounds.shapes[:, 1:].prod(axis=1), results.shapes[:, 0]], axis=1)
    work, made = sounds, results
    if source.kind != "f" or target.kind == "u":
        slope, offset, halve = unit_scale(source, target)
        work = Batch.allocate(sounds.shapes, FLOAT)
        _to_unit(
            rows(sounds.addresses), work.addresses, rows(sounds.sizes), slope, offset, halve, item, like(source),
        )  # fmt: skip
    if target.kind != "f":
        made = Batch.allocate(results.shapes, FLOAT)
    _resample_samples(
        rows(work.addresses), rows(made.addresses), rows(shapes), rows(steps, np.float64), _steps_of(lobes(quality)),
        lobes(quality), item,
    )  # fmt: skip
    if target.kind != "f":
        full = float(np.iinfo(target).max)
        _from_unit(made.addresses, rows(results.addresses), rows(results.sizes), full, item, like(target))


@part
def _resample_columns(
    sound: Array, out: Array, length: Integer, out_length: int, channels: int, scale: Real, table: Array, count: Integer
) -> None:
    size = table.shape[0] - 4
    steps = np.float32(1) / np.float32(np.float32(2.0) * np.float32(count) / np.float32(size - 1))
    center = np.float32((size - 1) // 2 + 1)
    fscale = np.float32(scale)
    one = np.float32(1)
    from_sound, from_table = np.int64(sound.ctypes.data), np.int64(table.ctypes.data)
    for start in range(0, out_length, _BLOCK):
        base_exact = start * scale
        base = np.int64(np.floor(base_exact))
        position = np.float32(base_exact - base)
        for o in range(start, min(start + _BLOCK, out_length)):
            first = max(np.int64(np.ceil(position)) - count, -base)
            last = min(np.int64(np.ceil(position)) + count, length - base)
            if channels == 1:
                i = first
                turns = (last - first) // 4
                total = np.float32(0)
                if turns > 0:
                    here = from_sound + (base + i) * 4
                    total = sum_in_fours(here, turns, from_table, np.float32(i), position, steps, center)
                    i += 4 * turns
                x = np.float32(i) - position
                while i < last:
                    total += sound[np.uintp(base + i)] * _weight(table, x, steps, center)
                    x += one
                    i += 1
                out[np.uintp(o)] = total
            elif channels == 2:
                left, right = np.float32(0), np.float32(0)
                x = np.float32(first) - position
                for i in range(first, last):
                    weight = _weight(table, x, steps, center)
                    at = (base + i) * 2
                    left += sound[np.uintp(at)] * weight
                    right += sound[np.uintp(at + 1)] * weight
                    x += one
                out[np.uintp(2 * o)], out[np.uintp(2 * o + 1)] = left, right
            else:
                to = o * channels
                for c in range(channels):
                    out[np.uintp(to + c)] = np.float32(0)
                x = np.float32(first) - position
                for i in range(first, last):
                    weight = _weight(table, x, steps, center)
                    at = (base + i) * channels
                    for c in range(channels):
                        out[np.uintp(to + c)] += sound[np.uintp(at + c)] * weight
                    x += one
            position += fscale
