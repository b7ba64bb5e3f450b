"""Headers of the pictures of a chunk, as a table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.peeking import peek, refuse_damage
from dali_lab.kernels.cpu.header_table import COLUMNS, FORMAT, HEIGHT, JPEG, ORIENTATION, TURNABLE, WIDTH, Header
from dali_lab.model.batch import Batch

Table = npt.NDArray[np.int64]


class Headers:
    """Headers of the pictures of a chunk.

    Attributes
    ----------
    table
        ``int64[N, COLUMNS]``: the fields of a :class:`Header` for each; zeros where it could not be read.
    problems
        Why, by index.
    """

    def __init__(self, table: Table, problems: dict[int, CodecError]) -> None:
        self.table = table
        self.problems = problems

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: Table) -> Headers:
        """The headers of some of the pictures, by index, all of them read."""
        return Headers(self.table[rows], {})

    def __getitem__(self, index: int) -> Header:
        return Header(*self.table[index].tolist())

    def sizes(self, displayed: bool = False) -> Table:
        """Height and width of each picture as stored, or as displayed with its orientation, ``int64[N, 2]``."""
        sizes = self.table[:, HEIGHT : WIDTH + 1]
        across = self.table[:, ORIENTATION] > 4
        return np.where(across[:, None], sizes[:, ::-1], sizes) if displayed and across.any() else sizes


def read_headers(data: Batch, *, to_decode: bool = True) -> Headers:
    """Read the headers of a chunk, those of usual pictures without the GIL.

    Parameters
    ----------
    data
        Encoded pictures: one-dimensional UINT8.
    to_decode
        Also look for damage (:func:`~dali_lab.codecs.headers.peeking.refuse_damage`).
    """
    from dali_lab.codecs.headers.jpeg_chunk import read_orientations, read_plain
    from dali_lab.kernels.cpu import background, raster_headers
    from dali_lab.kernels.cpu.memory import rows

    table, problems = np.zeros((len(data), COLUMNS), np.int64), dict[int, CodecError]()
    places = rows(data.addresses), rows(data.shapes[:, 0])
    read_plain(*places, table)
    if not table[:, FORMAT].all() and background.ready(raster_headers.read, *places, table):
        raster_headers.read(*places, table)
    unusual = np.flatnonzero(table[:, FORMAT] == 0)
    for index in unusual.tolist():
        content = data.array(index)
        try:
            header = peek(content)
            if to_decode:
                refuse_damage(content, header)
        except CodecError as error:
            problems[index] = error
        else:
            table[index] = header
    turned = unusual[(table[unusual, FORMAT] == JPEG) & (table[unusual, ORIENTATION] > 1)]
    if len(turned):
        found = read_orientations(data.addresses[turned], data.shapes[turned, 0])
        table[turned, TURNABLE] = found == table[turned, ORIENTATION]
    return Headers(table, problems)
