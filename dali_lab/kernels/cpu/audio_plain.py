"""Sound in NumPy: the bits of the kernels, for the batches before those are compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import wave
from dali_lab.kernels.cpu.memory import array_in_memory, like

_ELEMENTS = {wave.PCM_8: np.uint8, wave.PCM_16: np.int16, wave.PCM_32: np.int32, wave.FLOAT: np.float32}
_SCALES = {wave.PCM_8: np.float32(1 / 128), wave.PCM_16: np.float32(1 / 32768), wave.PCM_32: np.float32(1 / 2147483648)}


def elements_as_float(src: Array, table: Array, dst: Array, mix: bool) -> None:
    """The same as :func:`dali_lab.kernels.cpu.wave.elements_as_float`."""
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


def powers(packed: Array, dst: Array, outers: Array, inners: Array, squared: bool, real: Array) -> None:
    """The same as :func:`dali_lab.kernels.cpu.spectra.powers`."""
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
