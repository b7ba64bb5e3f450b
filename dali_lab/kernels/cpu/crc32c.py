"""Checksums of record files: CRC-32C (Castagnoli), as TensorFlow masks it."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.memory import kernel

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8


def _table() -> Array:
    """For each byte its remainder."""
    rows = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        rows = np.where(rows & 1, rows >> 1 ^ np.uint32(_POLYNOMIAL), rows >> 1).astype(np.uint32)
    return rows


TABLE = _table()


@kernel
def _remainder(data: Array, table: Array) -> int:
    rest = np.uint32(0xFFFFFFFF)
    for k in range(data.shape[0]):
        rest = table[(rest ^ np.uint32(data[k])) & np.uint32(255)] ^ (rest >> np.uint32(8))
    return int(rest ^ np.uint32(0xFFFFFFFF))


def masked_crc32c(data: bytes) -> int:
    """The checksum that stands in TFRecord files behind a length or a record, an unsigned number of 32 bits.

    Source: ``tensorflow/tsl/lib/hash/crc32c.h``, ``Mask``.
    """
    found = int(background.call(_remainder, np.frombuffer(bytearray(data), np.uint8), TABLE)) & 0xFFFFFFFF
    return ((found >> 15 | found << 17) + _MASK) & 0xFFFFFFFF
