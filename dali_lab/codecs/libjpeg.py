"""libjpeg-turbo, as imagecodecs and Pillow bring it along: plain JPEG pictures of a chunk in one call, without the GIL.

The same pixels as nvImageCodec gives, which uses this library as well but copies pictures twice.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import bundled
from dali_lab.kernels.cpu.machine import uses

Table = npt.NDArray[np.int64]

#: Version of each binary interface and the size of its structure; the library compares both.
_STRUCTURES = ((80, 656), (62, 632))

_loading = threading.Lock()
_library: tuple[Any, Table, Table] | None = None
_missing = False


def available() -> bool:
    """Whether the library and the compiled code that calls it are there."""
    return _load() is not None


def decode(
    addresses: Table,
    lengths: Table,
    shapes: Table,
    colors: Sequence[str],
    outs: Table,
    *,
    windows: Table | None = None,
    orientations: Table | None = None,
    use_fast_idct: bool = False,
) -> npt.NDArray[np.bool_]:
    """Decode JPEG pictures of 8 bits; it must be :func:`available`.

    Parameters
    ----------
    addresses, lengths
        ``int64[N]``: the files' bytes.
    shapes
        ``int64[N, 3]``: height, width and channels of the whole pictures as stored.
    colors
        ``RGB``, ``BGR`` or ``GRAY`` for each.
    outs
        ``int64[N]``: addresses of C-contiguous memory for the windows.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)`` within the picture as stored; all of it where not given.
    orientations
        ``int64[N]``: EXIF orientations by which the windows are turned; not at all where not given.
    use_fast_idct
        Use the faster, less exact inverse transform; not for pictures that are turned, as NVIDIA DALI.

    Returns
    -------
    numpy.ndarray
        ``bool[N]``: whether the library reported nothing wrong down to the end of the window, or in the whole
        picture if it is turned.
    """
    from dali_lab.kernels.cpu.machine import jpeg
    from dali_lab.kernels.cpu.memory import rows

    functions, structures = tables()
    if windows is None:
        windows = np.zeros((len(shapes), 4), np.int64)
        windows[:, 2:] = shapes[:, :2]
    if orientations is None:
        orientations = np.ones(len(shapes), np.int64)
    done = np.zeros(len(shapes), np.int64)
    jpeg.decode(
        functions, structures, rows(addresses), rows(lengths), rows(shapes), rows(windows),
        rows(orientations), np.array([jpeg.COLORS[color] for color in colors], np.int64), use_fast_idct, rows(outs),
        done,
        np.zeros(jpeg.memory_size(int((shapes[:, 1] * shapes[:, 2]).max(initial=0))), np.int64),
    )  # fmt: skip
    return done.astype(np.bool_)


def tables() -> tuple[Table, Table]:
    """Addresses of the library's functions, and its structures, as kernels take them; it must be :func:`available`."""
    found = _load()
    assert found is not None
    return found[1:]


def _load() -> tuple[Any, Table, Table] | None:
    global _library, _missing
    if _library is None and not _missing and uses("jpeg") and _compiled():
        with _loading:
            if _library is None and not _missing:
                _library = _first_usable()
                _missing = _library is None
    return _library


def _compiled() -> bool:
    from dali_lab.kernels.cpu import background
    from dali_lab.kernels.cpu.machine import jpeg

    table, shapes, windows = np.zeros(2, np.int64), np.zeros((0, 3), np.int64), np.zeros((0, 4), np.int64)
    return background.ready(
        jpeg.decode, table, table, table, table, shapes, windows, table, table, False, table, table, table
    )


def _first_usable() -> tuple[Any, Table, Table] | None:
    from dali_lab.kernels.cpu.machine import jpeg

    nothing = np.zeros(0, np.int64)
    for library, functions in bundled.libraries("libjpeg-*.so*", jpeg.FUNCTIONS):
        for structure in _STRUCTURES:
            shape = np.zeros((0, 3), np.int64)
            windows = np.zeros((0, 4), np.int64)
            table = np.array(structure, np.int64)
            memory = np.zeros(jpeg.memory_size(0), np.int64)
            if jpeg.decode(
                functions, table, nothing, nothing, shape, windows, nothing, nothing, False, nothing, nothing, memory
            ):
                return library, functions, table
    return None
