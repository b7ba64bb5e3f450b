"""libjpeg-turbo, as imagecodecs and Pillow bring it along: plain JPEG pictures of a chunk in one call, without the GIL.

The same pixels as nvImageCodec gives, which uses this library as well but copies pictures twice.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import bundled
from dali_lab.codecs.job import Job
from dali_lab.kernels.cpu.header_table import HEIGHT, ORIENTATION, WIDTH
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


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode JPEG pictures of 8 bits, whole or in part, and turn those of which all readers of EXIF agree."""
    from dali_lab.kernels.cpu.machine import jpeg
    from dali_lab.kernels.cpu.memory import rows

    functions, structures = tables()
    places = np.array(which)
    headers = job.headers.table[places]
    sizes, orientations = headers[:, HEIGHT : WIDTH + 1], headers[:, ORIENTATION]
    if not job.wanted.adjust_orientation:
        orientations = np.ones(len(places), np.int64)
    channels = job.shapes[places, 2:]
    colors = np.where(channels[:, 0] == 1, jpeg.GRAY, jpeg.BGR if job.wanted.colors == "BGR" else jpeg.RGB)
    done = np.zeros(len(places), np.int64)
    jpeg.decode(
        functions, structures, rows(job.data.addresses[places]), rows(job.data.shapes[places, 0]),
        rows(np.concatenate([sizes, channels], axis=1)), rows(as_stored(job.windows[places], sizes, orientations)),
        rows(orientations), colors, job.wanted.use_fast_idct, rows(job.out.addresses[places]), done,
        jpeg.memory_for(int((sizes[:, 1] * channels[:, 0]).max())),
    )  # fmt: skip
    return places[done == 0].tolist()  # type: ignore[no-any-return]


def as_stored(windows: Table, sizes: Table, orientations: Table) -> Table:
    """Windows of pictures as displayed, in the pictures as stored.

    Parameters
    ----------
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)``.
    sizes
        ``int64[N, 2]``: height and width as stored.
    orientations
        ``int64[N]``: as EXIF counts, 1 to 8.
    """
    if (orientations == 1).all():
        return windows
    turned = (orientations > 4)[:, None]
    extents = np.where(turned, sizes[:, ::-1], sizes)
    rows, columns = windows[:, 0::2], windows[:, 1::2]
    flipped = np.isin(orientations, (3, 4, 7, 8))[:, None]
    rows = np.where(flipped, extents[:, :1] - rows[:, ::-1], rows)
    flipped = np.isin(orientations, (2, 3, 6, 7))[:, None]
    columns = np.where(flipped, extents[:, 1:] - columns[:, ::-1], columns)
    rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    return np.stack([rows, columns], axis=2).reshape(-1, 4)


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


def _no_pictures() -> Any:
    """Arguments of the kernel after functions and structures."""
    from dali_lab.kernels.cpu.machine import jpeg

    one, shapes, windows = np.zeros(0, np.int64), np.zeros((0, 3), np.int64), np.zeros((0, 4), np.int64)
    return one, one, shapes, windows, one, one, False, one, one, jpeg.memory_for(0)


def _compiled() -> bool:
    from dali_lab.kernels.cpu import background
    from dali_lab.kernels.cpu.machine import huffman, jpeg

    table = np.zeros(2, np.int64)
    both = [background.ready(huffman.installer), background.ready(jpeg.decode, table, table, *_no_pictures())]
    return all(both)


def _first_usable() -> tuple[Any, Table, Table] | None:
    from dali_lab.kernels.cpu.machine import huffman, jpeg

    for library, functions in bundled.libraries("libjpeg-*.so*", jpeg.FUNCTIONS):
        functions = np.append(functions, huffman.installer())
        for table in (np.array(structure, np.int64) for structure in _STRUCTURES):
            if jpeg.decode(functions, table, *_no_pictures()):
                return library, functions, table
    return None
