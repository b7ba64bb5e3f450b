"""Convolution with windows along axes; see :mod:`dali_lab.kernels.cpu.convolve`, which has the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.convolve import gaussian_windows
from dali_lab.kernels.cuda.kernel import NUMBERS, THREADS, Kernel, launches, stated
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.dtypes import FLOAT, FLOAT16, numpy_dtype

_TYPES = tuple(kind for kind in NUMBERS if kind != "b1")

CONVOLVE_AXIS = Kernel(
    "convolve.cu",
    "convolve_axis",
    sample=("u8 data out window", "i8 total inner", "i4 length taps"),
    types=(_TYPES, _TYPES),
)
_COLUMNS, _LINES = stated("convolve.cu", "COLUMNS"), stated("convolve.cu", "LINES")
_ROWS = (48, 128)
"""Rows of a tile with what a window reaches beyond it: 12 and 32 KiB of shared memory, windows up to 17 and 97 rows."""
CONVOLVE_PLANE = Kernel(
    "convolve.cu",
    "convolve_plane",
    sample=("u8 data out window_x window_y", "i8 tiles", "i4 height width channels taps_x taps_y"),
    types=(_TYPES, (False, True), _ROWS),
    shares=True,
)
ADD_SCALED = Kernel(
    "convolve.cu", "add_scaled", sample=("u8 data out", "i8 total", "f4 scale"), param=("i4 fresh halves",)
)


@launches
def separable_convolution(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, windows: Array, lengths: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Convolve along x, y and z; see :func:`dali_lab.kernels.cpu.convolve.separable_convolution`.

    Along x and y it is one launch, unless a window reaches over more rows than a block's memory takes; along any
    other axes one for each that any sample has a window for.
    """
    table = np.asarray(shapes, np.int64)
    total = table.prod(axis=1)
    every = np.asarray(windows, np.float32)
    start = gpu.rows(every, len(every))
    axes = [axis for axis in (2, 1, 0) if (lengths[:, axis] != 1).any() or (every[:, axis, 0] != 1).any()] or [2]
    source, kind, last = src, np.dtype(src_dtype), np.dtype(dst_dtype)
    # Rows of memory for a tile; none where a window is too long for it.
    fitting = [rows for rows in _ROWS if _LINES - 1 + int(lengths[:, 1].max(initial=1)) <= rows]
    # Of float16, products and what is between axes are rounded.
    part = FLOAT16 if kind == np.float16 else FLOAT
    tiled = (
        bool(fitting)
        and part == FLOAT
        and last in (kind, np.float32)
        and int((table[:, 2] * table[:, 3]).max(initial=0)) < 1 << 30
    )
    while axes:
        together = 2 if tiled and axes[:2] == [2, 1] else 1
        done, axes = axes[:together], axes[together:]
        between = gpu.batch(total.reshape(-1, 1), part) if axes else None
        target, made = (dst, last) if between is None else (between.addresses, numpy_dtype(part))
        places = {"data": source, "out": target}
        starts = [start + axis * every.shape[2] * every.itemsize for axis in done]
        if together == 2:
            _launch_plane(gpu, places, table, starts, lengths, (kind, made != kind, fitting[0]))
        else:
            _launch_axis(gpu, places, table, starts[0], lengths, done[0], (kind, made))
        source, kind = target, made


def _launch_plane(
    gpu: Launcher, places: dict[str, Array], table: Array, starts: list[Array], lengths: Array, types: tuple[Any, ...]
) -> None:
    _, height, width, channels = table.T
    tiles = table[:, 0] * -(-height // _LINES) * -(-(width * channels) // _COLUMNS)
    sample = {
        **places,
        "window_x": starts[0],
        "window_y": starts[1],
        "tiles": tiles,
        "height width channels": table[:, 1:],
        "taps_y taps_x": lengths[:, 1:],
    }
    CONVOLVE_PLANE.launch(gpu, types, tiles * THREADS, sample)


def _launch_axis(
    gpu: Launcher, places: dict[str, Array], table: Array, start: Array, lengths: Array, axis: int,
    types: tuple[Any, ...],
) -> None:  # fmt: skip
    total = table.prod(axis=1)
    sample = {
        **places,
        "window": start,
        "inner": table[:, axis + 1 :].prod(axis=1),
        "length": table[:, axis],
        "taps": lengths[:, axis],
    }
    CONVOLVE_AXIS.launch(gpu, types, total, sample)


@launches
def add_scaled(gpu: Launcher, src: Array, dst: Array, sizes: Array, scales: Array, fresh: bool, halves: bool) -> None:
    """Add scaled samples; see :func:`dali_lab.kernels.cpu.convolve.add_scaled`."""
    sample = {"data": src, "out": dst, "scale": scales}
    ADD_SCALED.launch(gpu, (), sizes, sample, {"fresh": fresh, "halves": halves})


__all__ = ["add_scaled", "gaussian_windows", "separable_convolution"]
