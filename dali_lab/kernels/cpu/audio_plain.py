"""Sound in NumPy: bit for bit what the kernels give, for the batches that come before these are compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import wave
from dali_lab.kernels.cpu.memory import array_in_memory, like

_ELEMENTS = {wave.PCM_8: np.uint8, wave.PCM_16: np.int16, wave.PCM_32: np.int32, wave.FLOAT: np.float32}
_SCALES = {wave.PCM_8: np.float32(1 / 128), wave.PCM_16: np.float32(1 / 32768), wave.PCM_32: np.float32(1 / 2147483648)}


def elements_as_float(src: Array, table: Array, dst: Array, mix: bool) -> None:
    """Do what :func:`dali_lab.kernels.cpu.wave.elements_as_float` does."""
    for i, (encoding, offset, length, channels, _) in enumerate(table.tolist()):
        values = array_in_memory(src[i] + offset, (length, channels), like(_ELEMENTS[encoding])).astype(np.float32)
        if encoding == wave.PCM_8:
            values -= np.float32(128)
        if encoding in _SCALES:
            values *= _SCALES[encoding]
        if mix and channels > 1:
            weight = np.float32(1) / np.float32(channels)
            total = values[:, 0] * weight
            for c in range(1, channels):
                total += values[:, c] * weight
            values = total
        array_in_memory(dst[i], values.shape, like(np.float32))[:] = values


def preemphasis(src: Array, dst: Array, counts: Array, coefficients: Array, border: int, real: Array) -> None:
    """Do what :func:`dali_lab.kernels.cpu.audio.preemphasis` does, for float32."""
    from dali_lab.kernels.cpu import audio

    for i, n in enumerate(counts.tolist()):
        if n == 0:
            continue
        x, y = (array_in_memory(table[i], (n,), real) for table in (src, dst))
        if coefficients[i] == 0:
            y[:] = x
            continue
        before = np.float32(0)
        if border == audio.CLAMP or (border == audio.REFLECT and n == 1):
            before = x[0]
        elif border == audio.REFLECT:
            before = x[1]
        y[0] = x[0] - coefficients[i] * before
        y[1:] = x[1:] - coefficients[i] * x[:-1]


def filter_bank(
    src: Array, dst: Array, shapes: Array, tables: Array, bounds: Array, weights: Array, factors: Array, real: Array
) -> None:
    """Do what :func:`dali_lab.kernels.cpu.audio.filter_bank` does."""
    for i, (outer, n, inner) in enumerate(shapes.tolist()):
        x = array_in_memory(src[i], (outer, n, inner), real)
        y = array_in_memory(dst[i], (outer, bounds.shape[1], inner), real)
        y[:] = 0
        for m, (first, end) in enumerate(bounds[tables[i]].tolist()):
            for k in range(first, end):
                y[:, m] += weights[tables[i], m, k] * x[:, k]
            y[:, m] *= factors[tables[i], m]


def decibels(
    src: Array, dst: Array, counts: Array, multiplier: float, reference: float, least: float, logarithm: int,
    real: Array,
) -> None:  # fmt: skip
    """Do what :func:`dali_lab.kernels.cpu.audio.decibels` does."""
    from dali_lab.kernels.cpu import audio, libm

    floor = np.float32(least)
    for i, n in enumerate(counts.tolist()):
        x = array_in_memory(src[i], (n,), real)
        largest = np.float32(reference)
        if reference == 0:
            largest = np.fmax.reduce(x, initial=np.float32(0)) or np.float32(1)
        ratio = x * (np.float32(1) / largest)
        ratio = np.where(ratio > floor, ratio, floor)
        if not libm.apply("log2", ratio):
            ratio = np.log2(ratio)
        array_in_memory(dst[i], (n,), real)[:] = ratio * (np.float32(multiplier) * audio.LOG10_OF_2)


def windows(
    src: Array, lengths: Array, counts: Array, window: Array, step: int, before: int, reflect: bool, out: Array,
    real: Array,
) -> None:  # fmt: skip
    """Do what :func:`dali_lab.kernels.cpu.spectra.windows` does."""
    row, size = 0, len(window)
    for i, (n, count) in enumerate(zip(lengths.tolist(), counts.tolist(), strict=True)):
        x = array_in_memory(src[i], (n,), real)
        at = (np.arange(count) * step - before)[:, None] + np.arange(size)
        inside = (at >= 0) & (at < n)
        if reflect and n > 1:
            at %= 2 * (n - 1)
            at = np.where(at < n, at, 2 * (n - 1) - at)
        rows = out[row : row + count]
        rows[:, :size] = window * x[np.clip(at, 0, n - 1)] if n else 0
        if not reflect:
            rows[:, :size][~inside] = 0
        rows[:, size:] = 0
        row += count


def powers(packed: Array, dst: Array, outers: Array, inners: Array, squared: bool, real: Array) -> None:
    """Do what :func:`dali_lab.kernels.cpu.spectra.powers` does."""
    row, size = 0, packed.shape[1]
    bins = size // 2 + 1
    for i, (outer, inner) in enumerate(zip(outers.tolist(), inners.tolist(), strict=True)):
        spectra = packed[row : row + outer * inner]
        row += outer * inner
        values = np.empty((len(spectra), bins), np.float32)
        values[:, 0] = spectra[:, 0] * spectra[:, 0]
        parts = spectra[:, 1 : 2 * ((size + 1) // 2) - 1]
        values[:, 1 : (size + 1) // 2] = parts[:, 0::2] * parts[:, 0::2] + parts[:, 1::2] * parts[:, 1::2]
        if size % 2 == 0:
            values[:, size // 2] = spectra[:, size - 1] * spectra[:, size - 1]
        if not squared:
            np.sqrt(values, out=values)
        array_in_memory(dst[i], (outer, bins, inner), real)[:] = values.reshape(outer, inner, bins).transpose(0, 2, 1)
