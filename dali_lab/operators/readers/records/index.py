"""Index files of record files: offset and length of each record. Indexes of TFRecord files are made here."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import read_file

FRAME = 16
"""Bytes of a record of TensorFlow beside its content: 8 of its length, 4 of a checksum before it and 4 behind it."""


class RecordError(ValueError):
    """A record file or its index that is damaged."""


def read_index(path: str | os.PathLike[str]) -> npt.NDArray[np.int64]:
    """Offsets and lengths of records, ``int64[N, 2]``, from a file with two numbers for each.

    As in NVIDIA DALI, what follows something that is no number does not count.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    words = read_file(path).split()
    try:
        numbers = np.array(words, np.int64)
    except (ValueError, OverflowError):
        numbers = np.fromiter(_numbers(words), np.int64)
    return numbers[: len(numbers) // 2 * 2].reshape(-1, 2)


def _numbers(words: Iterable[bytes]) -> Iterator[int]:
    for word in words:
        try:
            number = int(word)
        except ValueError:
            return
        if not -(1 << 63) <= number < 1 << 63:
            return
        yield number


def of_records(records: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Offset of each record of a TFRecord file, and its bytes with its frame.

    Parameters
    ----------
    records
        The file, opened to be read.

    Raises
    ------
    RecordError
        If the file ends in the middle of a record.
    OSError
        If it cannot be read.
    """
    end = records.seek(0, io.SEEK_END)
    at = 0
    while at < end:
        records.seek(at)
        start = records.read(8)
        length = struct.unpack("<Q", start)[0] + FRAME if len(start) == 8 else FRAME
        if length > end - at:
            raise RecordError(f"the record at byte {at} reaches beyond the end of the file, at byte {end}")
        yield at, length
        at += length


def are_records(start: bytes) -> bool:
    """Whether a file that begins with these bytes holds records of TensorFlow: the first length has its checksum."""
    if len(start) < 12:
        return False
    from dali_lab.kernels.cpu.crc32c import masked_crc32c

    return bool(struct.unpack_from("<I", start, 8)[0] == masked_crc32c(start[:8]))
