"""Decoder of plain WAV files, a chunk in two calls; others are for :mod:`dali_lab.codecs.audio`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu import audio_plain, background, wave
from dali_lab.kernels.cpu.memory import rows
from dali_lab.kernels.cpu.wave import CHANNELS, LENGTH, OFFSET, RATE
from dali_lab.model.batch import Batch

Table = npt.NDArray[np.int64]


def find(
    data: Batch, wanted: np.dtype[Any], downmix: bool, targets: npt.NDArray[np.float32]
) -> tuple[Table, npt.NDArray[np.bool_]]:
    """Read the headers of encoded files, and find those that :func:`convert` can decode.

    Parameters
    ----------
    data
        Encoded files.
    wanted
        ``float32``, or ``int16`` for files of 16 bits.
    downmix
        Whether channels are to be averaged.
    targets
        Rate that each file is wanted in; 0 for its own.

    Returns
    -------
    table : numpy.ndarray
        ``int64[N, 5]``: encoding, where elements begin, length, channels and rate.
    plain : numpy.ndarray
        ``bool[N]``.
    """
    table = np.zeros((len(data), 5), np.int64)
    background.call(wave.find_elements, rows(data.addresses), rows(data.sizes), table)
    encoding = table[:, wave.ENCODING]
    plain = (encoding != wave.UNUSUAL) & ((targets == 0) | (targets == table[:, RATE].astype(np.float32)))
    if wanted != np.float32:
        plain &= (wanted == np.int16) & (encoding == wave.PCM_16) & ((table[:, CHANNELS] == 1) | (not downmix))
    return table, plain


def convert(data: Batch, table: Table, plain: npt.NDArray[np.bool_], out: Batch, downmix: bool) -> None:
    """Write the elements of the plain files to their samples of `out`."""
    every = bool(plain.all())
    src, dst = (data.addresses, out.addresses) if every else (data.addresses[plain], out.addresses[plain])
    found = table if every else table[plain]
    if out.itemsize == 2:
        wave.elements_as_stored(rows(src), rows(found), rows(dst))
    else:
        background.call(
            wave.elements_as_float, rows(src), rows(found), rows(dst), bool(downmix),
            meanwhile=audio_plain.elements_as_float,
        )  # fmt: skip


def cut(table: Table, index: int, first: int, count: int) -> None:
    """Narrow a row of :func:`find`'s table to `count` samples from `first` on."""
    row = table[index]
    row[OFFSET] += first * row[CHANNELS] * _BYTES[int(row[wave.ENCODING])]
    row[LENGTH] = count


_BYTES = {wave.PCM_8: 1, wave.PCM_16: 2, wave.PCM_32: 4, wave.FLOAT: 4}

__all__ = ["CHANNELS", "LENGTH", "RATE", "convert", "cut", "find"]
