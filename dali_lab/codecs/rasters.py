"""Pictures that are stored row by row, decoded a chunk at a time without the GIL: PNG, BMP and PNM.

PNG is unpacked by the libdeflate that imagecodecs brings along. Unusual or damaged files go to other decoders, which
have the same pixels.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import bundled

Table = npt.NDArray[np.int64]

#: Red, green and blue in brightness, of 2¹⁵, and what is added before the rest is cut off: for nothing, PNG, BMP, PNM.
_WEIGHTS = np.array(
    [[0, 0, 0, 0], [9797, 19234, 3737, 0], [9798, 19234, 3736, 1 << 14], [9798, 19234, 3736, 1 << 14]], np.int64
)
COLUMNS = 9
"""Columns of a header of :func:`read`."""
GAMMA = 8
"""Column of the gamma of PNG, in hundred-thousandths; 0 where there is none."""
_COLORS = ("ANY_DATA", "GRAY", "RGB", "BGR")


def read(addresses: Table, lengths: Table) -> Table:
    """Headers of pictures that :func:`decode` takes, ``int64[N, 9]``: format, height, width, channels, and more for it.

    Rows of zeros stand for all others: those of other formats or depths, turned, interlaced or damaged ones.
    """
    from dali_lab.kernels.cpu import background, raster_headers
    from dali_lab.kernels.cpu.memory import rows

    found = np.zeros((len(addresses), COLUMNS), np.int64)
    if len(addresses):
        arguments = (rows(addresses), rows(lengths), found)
        ready = _ready(), background.ready(raster_headers.read, *arguments)  # both are asked for at once
        if all(ready):
            raster_headers.read(*arguments)
        if _functions() is None:
            found[found[:, raster_headers.KIND] == raster_headers.PNG] = 0
    return found


def decode(
    addresses: Table, lengths: Table, headers: Table, windows: Table, output_type: str, outs: Table
) -> npt.NDArray[np.bool_]:
    """Decode pictures.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: the files' bytes.
    headers
        ``int64[N, 9]``: headers from :func:`read`.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)`` within the picture.
    output_type
        ``ANY_DATA``, ``GRAY``, ``RGB`` or ``BGR``.
    outs
        ``int64[N]``: addresses of C-contiguous memory for the windows.

    Returns
    -------
    numpy.ndarray
        ``bool[N]``: which are decoded; the others are damaged.
    """
    from dali_lab.kernels.cpu import rasters
    from dali_lab.kernels.cpu.memory import rows

    done = np.zeros(len(addresses), np.int64)
    found = _functions()
    functions = np.zeros(len(rasters.FUNCTIONS), np.int64) if found is None else found[1]
    rasters.decode(
        functions, rows(addresses), rows(lengths), rows(headers), rows(windows), _COLORS.index(output_type), _WEIGHTS,
        rows(outs), done,
    )  # fmt: skip
    return done.astype(np.bool_)


def _ready() -> bool:
    from dali_lab.kernels.cpu import background, rasters

    table, headers = np.zeros(0, np.int64), np.zeros((0, COLUMNS), np.int64)
    windows = np.zeros((0, 4), np.int64)
    return background.ready(rasters.decode, table, table, table, headers, windows, 0, _WEIGHTS, table, table)


@functools.cache
def _functions() -> tuple[Any, Table] | None:
    """The library, which stays loaded, and the addresses of its functions."""
    from dali_lab.kernels.cpu import rasters

    return next(bundled.libraries("libdeflate-*.so*", rasters.FUNCTIONS), None)
