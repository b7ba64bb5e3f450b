"""Headers of plain JPEG pictures, read for a whole chunk in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows

Table = npt.NDArray[np.int64]


@kernel
def _read(addresses: Any, lengths: Any, out: Any, like_bytes: Any) -> None:
    for i in range(addresses.shape[0]):
        size = lengths[i]
        data = array_at(addresses[i], (size,), like_bytes)
        if size < 4 or data[0] != 0xFF or data[1] != 0xD8:
            continue
        at: Any = 2
        # Whatever is not usual (other bytes between segments, EXIF, a cut) ends the search.
        while at + 4 <= size and data[at] == 0xFF:
            marker = data[at + 1]
            length = (np.int64(data[at + 2]) << 8) | np.int64(data[at + 3])
            if marker == 0xDA:
                out[i, 3] = 1 if out[i, 2] else 0
                break
            if marker < 0xC0 or (marker >= 0xD0 and marker <= 0xD9) or marker == 0xE1 or length < 2:
                break
            if marker <= 0xCF and marker != 0xC4 and marker != 0xC8 and marker != 0xCC and out[i, 2] == 0:
                if at + 10 > size or data[at + 4] != 8 or (data[at + 9] != 1 and data[at + 9] != 3):
                    break
                out[i, 0] = (np.int64(data[at + 5]) << 8) | np.int64(data[at + 6])
                out[i, 1] = (np.int64(data[at + 7]) << 8) | np.int64(data[at + 8])
                out[i, 2] = data[at + 9]
            at += 2 + length


def read_plain(addresses: Table, lengths: Table) -> Table:
    """Size and channels of each JPEG with 8 bits, one or three channels and no EXIF block.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: where the files' bytes are, and how many.

    Returns
    -------
    numpy.ndarray
        ``int64[N, 4]``: height, width, channels, and 1; the last is 0 for all other files, of which
        :func:`~dali_lab.codecs.header.peek` tells more.
    """
    out = np.zeros((len(addresses), 4), np.int64)
    _read(rows(addresses), rows(lengths), out, like(np.uint8))
    out[:, 3] &= (out[:, :2] > 0).all(axis=1)
    return out
