"""Spectra in NumPy: the bits of :mod:`dali_lab.kernels.cpu.fourier`, until that is compiled or where it is not used."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_in_memory

_AT_ONCE = 256
"""Windows whose spectra are held at once."""

_Complex = tuple[Array, Array]


def order(size: int) -> Array:
    """The order in which a transform takes its elements: the bits of their numbers are reversed."""
    found = np.zeros(1, np.int64)
    while len(found) < size:
        found = np.concatenate([2 * found, 2 * found + 1])
    return found


def first_length(half: int) -> int:
    """The length of the transforms that are joined by fours to one of `half` elements: 1 or 2."""
    return 1 if half.bit_length() % 2 else 2


def _windows(sound: Array, starts: Array, window: Array, reflect: bool) -> Array:
    """Windows of a sound, weighted: ``float32[window, starts]``."""
    places = np.arange(len(window))[:, None] + starts
    inside = (places >= 0) & (places < len(sound))
    period = max(1, 2 * (len(sound) - 1))
    values = sound[np.where(inside, places, np.minimum(places % period, period - places % period)) % len(sound)]
    return np.asarray((values if reflect else np.where(inside, values, np.float32(0))) * window[:, None])


def _product(a: _Complex, factors: Array) -> _Complex:
    real, imaginary = factors[:, 0, None], factors[:, 1, None]
    return a[0] * real - a[1] * imaginary, a[0] * imaginary + a[1] * real


def _joined(parts: list[_Complex]) -> list[_Complex]:
    (a, b), (c, d), (e, f), (g, h) = parts
    even, odd, more, (real, imaginary) = (a + c, b + d), (a - c, b - d), (e + g, f + h), (e - g, f - h)
    return [
        (even[0] + more[0], even[1] + more[1]),
        (odd[0] + imaginary, odd[1] - real),
        (even[0] - more[0], even[1] - more[1]),
        (odd[0] - imaginary, odd[1] + real),
    ]


def _transform(work: Array, factors: Array) -> None:
    """Transform the columns of ``float32[2, half, rows]``, real and imaginary parts in the reversed order."""
    half, rows = work.shape[1:]
    length = first_length(half)
    if length == 2:
        a, b = work[:, 0::2].copy(), work[:, 1::2].copy()
        work[:, 0::2], work[:, 1::2] = a + b, a - b
    while length < half:
        groups = work.reshape(2, -1, 4, length, rows)
        parts: list[_Complex] = [(groups[0, :, k].copy(), groups[1, :, k].copy()) for k in range(4)]
        for part, times in zip(parts[1:], (2, 1, 3), strict=True):
            some = part[0][:, 1:], part[1][:, 1:]  # the first factor is 1
            chosen = factors[np.arange(1, length) * (times * (2 * half // (4 * length)))]
            some[0][:], some[1][:] = _product(some, chosen)
        for k, (real, imaginary) in enumerate(_joined(parts)):
            groups[0, :, k], groups[1, :, k] = real, imaginary
        length *= 4


def _powers(rows: Array, factors: Array) -> Array:
    """Powers of the spectra of columns: ``float32[frequencies, count]``."""
    half = len(factors) // 2
    work = np.zeros((2 * half, rows.shape[1]), np.float32)
    work[: len(rows)] = rows
    work = np.stack([work[part::2][order(half)] for part in range(2)])
    _transform(work, factors)
    found = np.empty((half + 1, rows.shape[1]), np.float32)
    real, imaginary = work[:, 0]
    found[0], found[half] = (real + imaginary) * (real + imaginary), (real - imaginary) * (real - imaginary)
    near = np.arange(1, half // 2 + 1)
    (a, b), (c, d) = work[:, near], work[:, half - near]
    scale = np.float32(0.5)
    even = (a + c) * scale, (b - d) * scale
    turned = _product(((b + d) * scale, (c - a) * scale), factors[near])
    one, other = (even[0] + turned[0], even[1] + turned[1]), (even[0] - turned[0], even[1] - turned[1])
    found[near] = one[0] * one[0] + one[1] * one[1]
    found[half - near] = other[0] * other[0] + other[1] * other[1]
    return found


def window_powers(
    src: Array, lengths: Array, counts: Array, dst: Array, window: Array, size: int, step: int, before: int,
    reflect: bool, factors: Array, places: Array, length: int, squared: bool, time_first: bool, like_sound: Array,
) -> None:  # fmt: skip
    """The same as :func:`dali_lab.kernels.cpu.fourier.window_powers`, with the arguments of its kernel."""
    for i, (n, count) in enumerate(zip(lengths.tolist(), counts.tolist(), strict=True)):
        bins = len(factors) // 2 + 1
        out = array_in_memory(dst[i], (count, bins) if time_first else (bins, count), like_sound)
        goal = out.T if time_first else out
        sound = array_in_memory(src[i], (n,), like_sound)
        for first in range(0, count, _AT_ONCE):
            starts = np.arange(first, min(first + _AT_ONCE, count)) * step - before
            found = _powers(_windows(sound, starts, window[:size], reflect), factors)
            goal[:, first : first + _AT_ONCE] = found if squared else np.sqrt(found)
