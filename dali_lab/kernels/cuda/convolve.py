"""Convolution with windows along axes; see :mod:`dali_lab.kernels.cpu.convolve`, which has the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cpu.convolve import gaussian_windows
from dali_lab.kernels.cuda.kernel import NUMBERS, Kernel, launches
from dali_lab.types import FLOAT

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_TYPES = tuple(kind for kind in NUMBERS if kind != "b1")

CONVOLVE_AXIS = Kernel(
    "convolve.cu",
    "convolve_axis",
    sample=(
        ("data", "u8"),
        ("out", "u8"),
        ("window", "u8"),
        ("total", "i8"),
        ("inner", "i8"),
        ("length", "i4"),
        ("taps", "i4"),
    ),
    types=(_TYPES, _TYPES),
)
ACCUMULATE = Kernel("convolve.cu", "accumulate", sample=(("data", "u8"), ("out", "u8"), ("total", "i8")))


@launches
def separable_convolution(
    gpu: Launcher,
    src: Array,
    dst: Array,
    shapes: Array,
    windows: Array,
    lengths: Array,
    src_dtype: Any,
    dst_dtype: Any,
) -> None:
    """Convolve along x, y and z, one launch for each axis that any sample has a window for.

    See :func:`dali_lab.kernels.cpu.convolve.separable_convolution`.
    """
    table = np.asarray(shapes, np.int64)
    total = table.prod(axis=1)
    every = np.asarray(windows, np.float32)
    start = gpu.rows(every, len(every))
    axes = [axis for axis in (2, 1, 0) if (lengths[:, axis] != 1).any() or (every[:, axis, 0] != 1).any()] or [2]
    source, kind = src, np.dtype(src_dtype)
    for axis in axes:
        last = axis == axes[-1]
        between = None if last else gpu.batch(total.reshape(-1, 1), FLOAT)
        target = dst if between is None else between.addresses
        made = np.dtype(dst_dtype) if last else np.dtype(np.float32)
        CONVOLVE_AXIS.launch(
            gpu,
            (kind, made),
            total,
            {
                "data": source,
                "out": target,
                "window": start + axis * every.shape[2] * every.itemsize,
                "total": total,
                "inner": table[:, axis + 1 :].prod(axis=1),
                "length": table[:, axis],
                "taps": lengths[:, axis],
            },
        )
        source, kind = target, made


@launches
def add(gpu: Launcher, src: Array, dst: Array, sizes: Array) -> None:
    """Add float32 samples of ``sizes[n]`` elements to those at `dst`, in place."""
    ACCUMULATE.launch(gpu, (), sizes, {"data": src, "out": dst, "total": sizes})


__all__ = ["add", "gaussian_windows", "separable_convolution"]
