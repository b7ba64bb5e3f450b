"""Remapping by maps of coordinates and by projections, with the interpolation that OpenCV has on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.borders import BORDERS
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.pictures import MOVED, moved

_PARTS = 32
"""Parts of a pixel at which OpenCV samples for Lanczos interpolation, and for linear interpolation of int16."""
_TYPES = ("u1", "u2", "i2", "f4")
_TAKE = ("u8 weights", "i4 taps parts parted")

REMAP = Kernel(
    "remap.cu",
    "remap",
    sample=("u8 data out columns rows", "i8 total", "i4 height width channels"),
    param=(*_TAKE, "f4 shift"),
    types=(_TYPES,),
)
PROJECT = Kernel(
    "remap.cu",
    "project",
    sample=(*MOVED, "f8 matrix[9]"),
    param=(*_TAKE, "u8 fill", "i4 fills border"),
    types=(_TYPES,),
)


@launches
def remap(
    gpu: Launcher, src: Array, dst: Array, columns: Array, lines: Array, shapes: Array, sizes: Array, taps: int,
    shift: float, dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Take pixels from where two maps say; see :func:`dali_lab.kernels.cpu.remap.remap`."""
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "columns": columns,
        "rows": lines,
        "height width channels": shapes,
    }
    REMAP.launch(gpu, (dtype,), sizes, sample, {**_taking(gpu, taps, dtype), "shift": shift})


@launches
def warp_perspective(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, sizes: Array, matrices: Array, taps: int, border: str,
    fill: Array, dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Warp pictures by projections; see :func:`dali_lab.kernels.cpu.remap.warp_perspective`."""
    table = np.asarray(shapes, np.int64)
    sample = moved(src, dst, table[:, 1:], sizes, table[:, 0])
    sample["matrix"] = np.asarray(matrices, np.float64).reshape(len(src), 9)
    param = {
        **_taking(gpu, taps, dtype),
        "fill": gpu.constant(np.asarray(fill, np.float32)),
        "fills": len(fill),
        "border": BORDERS[border],
    }
    PROJECT.launch(gpu, (dtype,), sample["total"], sample, param)


def _taking(gpu: Launcher, taps: int, dtype: npt.DTypeLike) -> dict[str, Any]:
    """The parameters about interpolation."""
    weights = gpu.constant(tap_weights(taps, _PARTS)) if taps in (2, 8) else 0
    return {"weights": weights, "taps": taps, "parts": _PARTS, "parted": np.dtype(dtype) == np.int16}


def tap_weights(taps: int, parts: int) -> Array:
    """Weights of neighbours for positions at each part of a pixel, ``float32[parts, taps]``; they add up to 1."""
    position = np.arange(parts) / parts
    distance = position[:, None] - np.arange(taps) + (taps // 2 - 1)
    values = 1 - np.abs(distance) if taps == 2 else np.sinc(distance) * np.sinc(distance / 4)
    return np.asarray(values / values.sum(axis=1, keepdims=True), np.float32)
