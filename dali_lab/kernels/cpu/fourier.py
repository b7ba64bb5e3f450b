"""Powers of the spectra of windows along a sound, for transforms whose length is a power of two.

Sixteen windows are transformed at once: what neighbouring windows have at a frequency lies together, as in the result.
Real rows are taken as complex ones of half the length (H. V. Sorensen et al., Real-valued fast Fourier transform
algorithms, IEEE Transactions on Acoustics, Speech, and Signal Processing 35 (1987)), which are joined by fours.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background, fourier_plain
from dali_lab.kernels.cpu.borders import REFLECT_101, place_of
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.fourier_vectors import (
    ELEMENT,
    LANES,
    end_powers,
    join_four,
    join_four_by,
    join_two,
    pair_powers,
    transpose,
    weigh,
)
from dali_lab.kernels.cpu.memory import array_at, keep, kernel, like, part

SHORTEST, LONGEST = 32, 8192
"""Lengths between which the work is worth it and fits into a processor's own memory."""
_LINE = 64
"""Bytes of a vector, which begins at a multiple of them."""


def suits(size: int) -> bool:
    """Whether transforms of this length are made here."""
    return SHORTEST <= size <= LONGEST and size & (size - 1) == 0


@functools.lru_cache(maxsize=16)
def _tables(size: int) -> tuple[Array, Array]:
    """For a length, powers of ``exp(-2πi / size)``, ``float32[size, 2]``, and the place in bytes of each element."""
    angles = 2 * np.pi / size * np.arange(size)
    factors = np.stack([np.cos(angles), -np.sin(angles)], axis=1).astype(np.float32)
    return factors, np.repeat(fourier_plain.order(size // 2), 2) * ELEMENT + np.arange(size) % 2 * _LINE


@part
def _copy_window(x: Array, start: int, reflect: bool, line: Array) -> None:
    """A window that reaches beyond the ends of a sound: what is there, and reflections or zeros."""
    for k in range(line.shape[0]):
        at = start + k
        if 0 <= at < x.shape[0]:
            line[k] = x[at]
        elif reflect:
            line[k] = x[place_of(at, x.shape[0], REFLECT_101)]
        else:
            line[k] = 0


@part
def _transform(work: int, half: int, length: int, factors: Array) -> None:
    """Transform `half` complex elements, which are in the reversed order."""
    if length == 2:
        for k in range(0, half, 2):
            join_two(work + k * ELEMENT, ELEMENT)
    while length < half:
        step, turn = length * ELEMENT, 8 * (2 * half // (4 * length))
        for first in range(0, half, 4 * length):
            join_four(work + first * ELEMENT, step)
        for k in range(1, length):
            one = factors.ctypes.data + k * turn
            for first in range(k, half, 4 * length):
                join_four_by(work + first * ELEMENT, step, one + k * turn, one, one + 2 * k * turn)
        length *= 4


@part
def _write_powers(work: int, half: int, factors: Array, out: int, pitch: int) -> None:
    """The powers of all frequencies of the sixteen rows, `pitch` bytes apart."""
    end_powers(work, out, out + half * pitch)
    for k in range(1, half // 2 + 1):
        near, far = work + k * ELEMENT, work + (half - k) * ELEMENT
        pair_powers(near, far, factors.ctypes.data + 8 * k, out + k * pitch, out + (half - k) * pitch)


@part
def _take_roots(half: int, out: int, pitch: int, like_sound: Array) -> None:
    for k in range(half + 1):
        row = array_at(out + k * pitch, (LANES,), like_sound)
        for b in range(LANES):
            row[b] = math.sqrt(row[b])


@kernel
def _window_powers(
    src: Array, lengths: Array, counts: Array, dst: Array, window: Array, size: int, step: int, before: int,
    reflect: bool, factors: Array, places: Array, length: int, squared: bool, time_first: bool, like_sound: Array,
) -> None:  # fmt: skip
    half, padded = factors.shape[0] // 2, window.shape[0]
    bins = half + 1
    memory = np.empty(half * ELEMENT + (bins + 1) * _LINE, np.uint8)
    work = (memory.ctypes.data + _LINE - 1) // _LINE * _LINE
    gathered = work + half * ELEMENT
    tile = array_at(gathered, (bins, LANES), like_sound)
    lines, rows = np.zeros((LANES, padded), np.float32), np.empty(LANES, np.int64)
    for i in range(src.shape[0]):
        n, count = lengths[i], counts[i]
        x = array_at(src[i], (n,), like_sound)
        y = array_at(dst[i], (count, bins) if time_first else (bins, count), like_sound)
        for first in range(0, count, LANES):
            used = min(LANES, count - first)
            for b in range(LANES):
                start = (first + min(b, used - 1)) * step - before
                rows[b] = src[i] + 4 * start
                if start < 0 or start + padded > n:
                    _copy_window(x, start, reflect, lines[b, :size])
                    rows[b] = lines[b].ctypes.data
            for k in range(0, padded, LANES):
                weigh(rows.ctypes.data, window.ctypes.data, k, size, places.ctypes.data, work)
            for k in range(padded, 2 * half):
                array_at(work + places[k], (LANES,), like_sound)[:] = 0
            _transform(work, half, length, factors)
            direct = used == LANES and not time_first
            out = y.ctypes.data + 4 * first if direct else gathered
            pitch = 4 * count if direct else _LINE
            _write_powers(work, half, factors, out, pitch)
            if not squared:
                _take_roots(half, out, pitch, like_sound)
            if direct:
                continue
            done = 0
            if used == LANES:
                for done in range(0, half, LANES):
                    transpose(gathered + done * _LINE, y.ctypes.data + 4 * (first * bins + done), 4 * bins)
                done = half
            for k in range(done, bins):
                for b in range(used):
                    if time_first:
                        y[first + b, k] = tile[k, b]
                    else:
                        y[k, first + b] = tile[k, b]
    keep(memory)


def arguments_for(
    window: Array, step: int, before: int, reflect: bool, size: int, squared: bool, time_first: bool
) -> tuple[Any, ...]:
    """Arguments of the kernel after the tables of sounds and results."""
    factors, places = _tables(size)
    weights = np.zeros(-(-len(window) // LANES) * LANES, np.float32)
    weights[: len(window)] = window
    length = fourier_plain.first_length(size // 2)
    empty = like(np.float32)
    return weights, len(window), step, before, reflect, factors, places, length, squared, time_first, empty


def window_powers(
    src: Array, lengths: Array, counts: Array, dst: Array, window: Array, step: int, before: int, reflect: bool,
    size: int, squared: bool, time_first: bool,
) -> None:  # fmt: skip
    """Powers (or magnitudes) of the windows of each sound: ``size // 2 + 1`` frequencies by ``counts[i]``.

    Window `t` starts at ``t · step - before``; beyond the ends the sound is reflected, or 0. Windows shorter than
    `size` end with zeros. Results are frequency first, or time first.
    """
    arguments = arguments_for(window, step, before, reflect, size, squared, time_first)
    if uses("vectors"):
        background.call(_window_powers, src, lengths, counts, dst, *arguments, meanwhile=fourier_plain.window_powers)
    else:
        fourier_plain.window_powers(src, lengths, counts, dst, *arguments)
