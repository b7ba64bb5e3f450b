"""Spectra of real signals: windows and lines cut out as rows, their transform, and its powers.

Windows whose transform has a power of two for its length are those of :mod:`dali_lab.kernels.cpu.fourier`.
"""

from __future__ import annotations

import math

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import audio_plain, background
from dali_lab.kernels.cpu.borders import REFLECT_101, place_of
from dali_lab.kernels.cpu.memory import array_at, kernel, part
from dali_lab.model import extras

_TILE = 16
"""Rows whose powers are gathered before they are written, where they become neighbours in the result."""
_AT_ONCE = 1 << 16
"""Elements that OpenCV transforms in one call: of more it gives parts to threads of its own."""


@kernel
def windows(
    src: Array, lengths: Array, counts: Array, window: Array, step: int, before: int, reflect: bool, out: Array,
    like: Array,
) -> None:  # fmt: skip
    """Windows of each signal, weighted: sample `i` gives ``counts[i]`` rows of `out`.

    Window `t` starts at ``t · step - before``; beyond the ends the signal is reflected, or 0. Rows longer than the
    window end with zeros.
    """
    row = 0
    size = window.shape[0]
    for i in range(src.shape[0]):
        n = lengths[i]
        x = array_at(src[i], (n,), like)
        for t in range(counts[i]):
            start = t * step - before
            line = out[row]
            if start >= 0 and start + size <= n:
                for k in range(size):
                    line[k] = window[k] * x[start + k]
            else:
                for k in range(size):
                    at = start + k
                    if 0 <= at < n:
                        line[k] = window[k] * x[at]
                    elif reflect:
                        line[k] = window[k] * x[place_of(at, n, REFLECT_101)]
                    else:
                        line[k] = 0
            line[size:] = 0
            row += 1


@kernel
def lines(src: Array, shapes: Array, out: Array, like: Array) -> None:
    """The lines of each sample along its middle axis (``shapes[i]`` is outer, length, inner) as rows of `out`.

    Lines longer than a row are cut, shorter ones end with zeros.
    """
    row = 0
    for i in range(src.shape[0]):
        outer, n, inner = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        x = array_at(src[i], (outer, n, inner), like)
        used = min(n, out.shape[1])
        for a in range(outer):
            for b in range(inner):
                for k in range(used):
                    out[row, k] = x[a, k, b]
                out[row, used:] = 0
                row += 1


def transform(rows: Array) -> None:
    """Put the spectrum of each float32 row in its place.

    It is packed: the real part of frequency 0, then real and imaginary part of the others; of an even number of
    elements, the last is the real part of the highest frequency, whose imaginary part is 0.
    """
    if not extras.installed("cv2"):
        _in_numpy(rows)
        return
    import cv2

    count = max(1, _AT_ONCE // rows.shape[1])
    for first in range(0, len(rows), count):
        some = rows[first : first + count]
        cv2.dft(some, some, flags=cv2.DFT_ROWS)


def _in_numpy(rows: Array) -> None:
    """The same without OpenCV, some five times slower; roundings differ in the last bits."""
    spectra, size = np.fft.rfft(rows), rows.shape[1]
    rows[:, 0] = spectra[:, 0].real
    rows[:, 1::2] = spectra[:, 1:].real
    rows[:, 2::2] = spectra[:, 1 : (size + 1) // 2].imag


@part
def _row_powers(packed: Array, squared: bool, out: Array) -> None:
    """Powers (or magnitudes) of one packed row."""
    n = packed.shape[0]
    out[0] = packed[0] * packed[0]
    for k in range(1, (n + 1) // 2):
        real, imaginary = packed[2 * k - 1], packed[2 * k]
        out[k] = real * real + imaginary * imaginary
    if n % 2 == 0:
        out[n // 2] = packed[n - 1] * packed[n - 1]
    if not squared:
        for k in range(n // 2 + 1):
            out[k] = math.sqrt(out[k])


@kernel
def _powers(packed: Array, dst: Array, outers: Array, inners: Array, squared: bool, like: Array) -> None:
    """Powers (or magnitudes) of rows of packed spectra, which become lines along the middle axis of samples."""
    row = 0
    bins = packed.shape[1] // 2 + 1
    tile = np.empty((_TILE, bins), np.float32)
    for i in range(dst.shape[0]):
        inner = inners[i]
        y = array_at(dst[i], (outers[i], bins, inner), like)
        for a in range(outers[i]):
            for start in range(0, inner, _TILE):
                used = min(_TILE, inner - start)
                for b in range(used):
                    _row_powers(packed[row + b], squared, tile[b])
                if inner == 1:
                    for k in range(bins):
                        y[a, k, 0] = tile[0, k]
                elif used == _TILE:
                    for k in range(bins):
                        for b in range(_TILE):
                            y[a, k, start + b] = tile[b, k]
                else:
                    for k in range(bins):
                        for b in range(used):
                            y[a, k, start + b] = tile[b, k]
                row += used


powers = background.either(_powers, audio_plain.powers)
