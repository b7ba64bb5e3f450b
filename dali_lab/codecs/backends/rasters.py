"""Pictures that are stored row by row, decoded a chunk at a time without the GIL: PNG, BMP and PNM.

PNG is unpacked by the libdeflate that imagecodecs brings along. Damaged files are left to other backends.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import bundled
from dali_lab.codecs.job import Job

Table = npt.NDArray[np.int64]

#: Red, green and blue in brightness, of 2¹⁵, and what is added before the rest is cut off: for nothing, PNG, BMP, PNM.
_WEIGHTS = np.array(
    [[0, 0, 0, 0], [9797, 19234, 3737, 0], [9798, 19234, 3736, 1 << 14], [9798, 19234, 3736, 1 << 14]], np.int64
)
_COLORS = ("ANY_DATA", "GRAY", "RGB", "BGR")


def available() -> bool:
    """Whether the code is compiled."""
    from dali_lab.kernels.cpu import background, rasters

    one, four = np.zeros(0, np.int64), np.zeros((0, 4), np.int64)
    return background.ready(rasters.decode, one, one, one, four, four, 0, _WEIGHTS, one, one)


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode pictures whose headers have a `pixel`; PNG where libdeflate is there."""
    from dali_lab.kernels.cpu import rasters
    from dali_lab.kernels.cpu.memory import rows

    places, done = np.array(which), np.zeros(len(which), np.int64)
    found = _functions()
    functions = np.zeros(len(rasters.FUNCTIONS), np.int64) if found is None else found[1]
    rasters.decode(
        functions, rows(job.data.addresses[places]), rows(job.data.shapes[places, 0]), rows(job.headers.table[places]),
        rows(job.windows[places]), _COLORS.index(job.wanted.colors), _WEIGHTS, rows(job.out.addresses[places]), done,
    )  # fmt: skip
    return places[done == 0].tolist()  # type: ignore[no-any-return]


@functools.cache
def _functions() -> tuple[Any, Table] | None:
    """The library, which stays loaded, and the addresses of its functions."""
    from dali_lab.kernels.cpu import rasters

    return next(bundled.libraries("libdeflate-*.so*", rasters.FUNCTIONS), None)
