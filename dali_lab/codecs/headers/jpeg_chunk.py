"""Headers and orientations of plain JPEG pictures, read for a whole chunk in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.header_table import BITS, CHANNELS, FORMAT, HEIGHT, JPEG, ORIENTATION, UNENDED, WIDTH
from dali_lab.kernels.cpu.memory import array_at, kernel, like, part, rows

Table = npt.NDArray[np.int64]

_SCAN, _EXIF = 0xDA, 0xE1
_PROGRESSIVE, _PROGRESSIVE_ARITHMETIC = 0xC2, 0xCA


@part
def _segment(data: Any, at: Any) -> Any:
    """Marker and length of the segment that begins here.

    Both are 0 where there is none: anything unusual (other bytes between segments, a cut) ends the search.
    :func:`dali_lab.codecs.headers.jpeg.read` goes on, as decoders do.
    """
    none, size = np.int64(0), data.shape[0]
    if at + 4 > size or data[at] != 0xFF:
        return none, none
    marker = np.int64(data[at + 1])
    length = (np.int64(data[at + 2]) << 8) | np.int64(data[at + 3])
    if marker < 0xC0 or (marker >= 0xD0 and marker <= 0xD9) or (length < 2 and marker != _SCAN):
        return none, none
    return marker, length


@kernel
def _read(addresses: Any, lengths: Any, out: Any, like_bytes: Any) -> None:
    for i in range(addresses.shape[0]):
        size = lengths[i]
        data = array_at(addresses[i], (size,), like_bytes)
        if size < 4 or data[0] != 0xFF or data[1] != 0xD8:
            continue
        at: Any = 2
        height, width, channels = np.int64(0), np.int64(0), np.int64(0)
        while True:
            marker, length = _segment(data, at)
            if marker == _SCAN and height > 0 and width > 0:
                out[i, FORMAT], out[i, CHANNELS], out[i, BITS], out[i, ORIENTATION] = JPEG, channels, 8, 1
                out[i, HEIGHT], out[i, WIDTH] = height, width
                out[i, UNENDED] = 0 if data[size - 2] == 0xFF and data[size - 1] == 0xD9 else 1
            if marker in (0, _SCAN, _EXIF, _PROGRESSIVE, _PROGRESSIVE_ARITHMETIC):
                break
            if marker <= 0xCF and marker != 0xC4 and marker != 0xC8 and marker != 0xCC and channels == 0:
                if at + 10 > size or data[at + 4] != 8 or (data[at + 9] != 1 and data[at + 9] != 3):
                    break
                height = (np.int64(data[at + 5]) << 8) | np.int64(data[at + 6])
                width = (np.int64(data[at + 7]) << 8) | np.int64(data[at + 8])
                channels = np.int64(data[at + 9])
            at += 2 + length


def read_plain(addresses: Table, lengths: Table, table: Table) -> None:
    """Headers of JPEG with 8 bits, one or three channels, neither progressive nor with an EXIF block.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: where the files' bytes are, and how many.
    table
        ``int64[N, COLUMNS]``, zeros, to be filled; rows of all other files stay zeros.
    """
    background.call(_read, rows(addresses), rows(lengths), table, like(np.uint8))


_ORIENTATION = 0x112
_TEXT, _SHORT, _RATIONAL = 2, 3, 5


@part
def _number(data: Any, at: Any, size: Any, little: Any) -> Any:
    """An unsigned number of `size` bytes."""
    value: Any = np.int64(0)
    for k in range(size):
        value = (value << 8) | np.int64(data[at + (size - 1 - k if little else k)])
    return value


@part
def _sound_orientation(data: Any, start: Any, end: Any) -> Any:
    """Orientation in an EXIF block (a small TIFF file) that any reader understands alike, 0 for all others."""
    size = end - start
    if size < 14 or data[start] != data[start + 1]:
        return 0
    little = data[start] == 0x49
    if not (little or data[start] == 0x4D) or _number(data, start + 2, 2, little) != 42:
        return 0
    directory = _number(data, start + 4, 4, little)
    if directory < 8 or directory + 2 > size:
        return 0
    entries = _number(data, start + directory, 2, little)
    if directory + 2 + 12 * entries > size:
        return 0
    found = 0
    for entry in range(entries):
        at = start + directory + 2 + 12 * entry
        tag, kind = _number(data, at, 2, little), _number(data, at + 2, 2, little)
        count, place = _number(data, at + 4, 4, little), _number(data, at + 8, 4, little)
        item: Any = 1
        if kind == 3 or kind == 8:
            item = 2
        elif kind == 4 or kind == 9 or kind == 11:
            item = 4
        elif kind == 5 or kind == 10 or kind == 12:
            item = 8
        elif kind < 1 or kind > 12:
            return 0
        if count < 1 or (count * item > 4 and place + count * item > size):
            return 0
        if tag == _ORIENTATION:
            if found != 0 or kind != _SHORT or count != 1:
                return 0
            found = _number(data, at + 8, 2, little)
            if found < 1 or found > 8:
                return 0
        # Readers take the tags below by their number, whatever kind the block says.
        text = (tag >= 0x10E and tag <= 0x110) or tag == 0x131 or tag == 0x132 or tag == 0x13B or tag == 0x8298
        if text and kind != _TEXT:
            return 0
        resolution = tag == 0x11A or tag == 0x11B
        if resolution and kind != _RATIONAL:
            return 0
        choice = tag == 0x128 or tag == 0x213
        if choice and (kind != _SHORT or count != 1):
            return 0
        # Tables of ratios, of which photographs have none.
        if tag == 0x13E or tag == 0x13F or tag == 0x211 or tag == 0x214:
            return 0
    return found


@kernel
def _read_orientations(addresses: Any, lengths: Any, out: Any, like_bytes: Any) -> None:
    for i in range(addresses.shape[0]):
        size = lengths[i]
        data = array_at(addresses[i], (size,), like_bytes)
        at: Any = 2
        found = 0
        while True:
            marker, length = _segment(data, at)
            if marker == _SCAN:
                out[i] = found
                break
            if marker == 0 or at + 2 + length > size:
                break
            if marker == _EXIF and length >= 8 and _number(data, at + 4, 6, False) == 0x457869660000:
                if found != 0:
                    break
                found = _sound_orientation(data, at + 10, at + 2 + length)
                if found == 0:
                    break
            at += 2 + length


def read_orientations(addresses: Table, lengths: Table) -> Table:
    """EXIF orientation of each JPEG with one EXIF block, in which nothing is damaged or unusual.

    Decoders disagree about others: a reader that stops at some damage takes the picture as upright.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: where the files' bytes are, and how many.

    Returns
    -------
    numpy.ndarray
        ``int64[N]``: 1 to 8, and 0 where there is no such block.
    """
    out = np.zeros(len(addresses), np.int64)
    background.call(_read_orientations, rows(addresses), rows(lengths), out, like(np.uint8))
    return out
