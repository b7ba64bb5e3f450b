"""Headers of the pictures of a chunk, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.jpeg import refuse_many_scans
from dali_lab.codecs.headers.peeking import peek
from dali_lab.codecs.rasters import COLUMNS
from dali_lab.codecs.rasters import read as read_rasters

Table = npt.NDArray[np.int64]


class Headers:
    """Headers of the pictures of a chunk; an object per picture is made only on demand.

    Attributes
    ----------
    sizes
        ``int64[N, 2]``: height and width as stored, zeros where a header could not be read.
    channels
        ``int64[N]``: of plain pictures, 0 for all others. Plain are JPEG with 8 bits and one or three channels, and
        what is in `rasters`.
    rasters
        ``int64[N, 9]``: headers from :func:`dali_lab.codecs.rasters.read` for PNG, BMP, PNM; rows of zeros for others.
    orientations
        ``int64[N]``: as EXIF counts, 1 to 8.
    others
        Headers from :func:`~dali_lab.codecs.headers.peek` for the less usual pictures, or the error that it raised.
    """

    def __init__(
        self,
        table: Table,
        rasters: Table,
        others: dict[int, ImageInfo | CodecError],
        read: Callable[[int], ImageInfo | CodecError],
    ) -> None:
        """`table` comes from :mod:`~dali_lab.codecs.headers.jpeg_chunk`; `others` are the pictures in neither table.

        `read` reads a header of `rasters` once more.
        """
        plain = table[:, 3:]
        self.sizes = table[:, :2] * plain
        self.channels = table[:, 2] * plain[:, 0]
        self.orientations = np.ones(len(table), np.int64)
        self.rasters = rasters
        stored = rasters[:, 0] != 0
        if stored.any():
            self.sizes = np.where(stored[:, None], rasters[:, 1:3], self.sizes)
            self.channels = np.where(stored, rasters[:, 3], self.channels)
        self.others = others
        self._read = read
        for index, info in others.items():
            if isinstance(info, CodecError):
                continue
            self.sizes[index] = info.height, info.width
            self.orientations[index] = info.orientation
            if info.format == "jpeg" and info.channels in (1, 3) and info.bits == 8:
                self.channels[index] = info.channels

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> ImageInfo | CodecError:
        other = self.others.get(index)
        if other is not None:
            return other
        if self.rasters[index, 0]:
            return self._read(index)
        height, width = self.sizes[index].tolist()
        channels = int(self.channels[index])
        return ImageInfo(height, width, channels, "uint8", "jpeg", 1, 8, "gray" if channels == 1 else "ycc")

    def __iter__(self) -> Iterator[ImageInfo | CodecError]:
        return (self[index] for index in range(len(self)))

    def displayed_sizes(self) -> Table:
        """Height and width of each picture once its orientation is applied, ``int64[N, 2]``."""
        return displayed(self.sizes, self.orientations)


def displayed(sizes: Table, orientations: Table) -> Table:
    """Heights and widths, ``int64[N, 2]``, of stored pictures once their orientations are applied."""
    across = orientations > 4
    return np.where(across[:, None], sizes[:, ::-1], sizes) if across.any() else sizes


def peek_sound(data: Buffer) -> ImageInfo:
    """As :func:`~dali_lab.codecs.headers.peek`, for a picture that is to be decoded.

    Raises
    ------
    CodecError
        Also for pictures that would take far too long to decode.
    """
    info = peek(data)
    if info.progressive:
        refuse_many_scans(data)
    return info


def read_headers(addresses: Table, lengths: Table, buffer: Callable[[int], Buffer]) -> Headers:
    """Read the headers of a chunk, those of usual JPEG pictures without the GIL.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: where the encoded pictures are, and their sizes in bytes.
    buffer
        Gives the bytes of one of them.
    """

    def read(index: int) -> ImageInfo | CodecError:
        try:
            return peek_sound(buffer(index))
        except CodecError as error:
            return error

    rasters = np.zeros((len(addresses), COLUMNS), np.int64)
    if not len(addresses):
        return Headers(np.zeros((0, 4), np.int64), rasters, {}, read)
    from dali_lab.codecs.headers.jpeg_chunk import read_plain

    table = read_plain(addresses, lengths)
    left = np.flatnonzero(table[:, 3] == 0)
    if len(left):
        rasters[left] = read_rasters(addresses[left], lengths[left])
    others = {index: read(index) for index in left[rasters[left, 0] == 0].tolist()}
    return Headers(table, rasters, others, read)
