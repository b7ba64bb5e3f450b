"""Equalising histograms; see :mod:`dali_lab.kernels.cpu.histogram`, which has the same function."""

from __future__ import annotations

from typing import Any

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.dtypes import INT32, UINT8

_COPIES, _RUN = 16, 64
"""Counts are kept in this many copies; so many pixels one after the other go to the same one."""

CLEAR_COUNTS = Kernel("histogram.cu", "clear_counts", sample=("u8 out", "i8 total"))
COUNT_LEVELS = Kernel(
    "histogram.cu", "count_levels", sample=("u8 data out", "i8 total plane channels inner"), param=("i4 copies run",)
)
ADD_COUNTS = Kernel("histogram.cu", "add_counts", sample=("u8 out", "i8 total"), param=("i4 copies",))
EQUAL_LEVELS = Kernel("histogram.cu", "equal_levels", sample=("u8 counts out", "i8 total", "i4 pixels"))
THROUGH_LEVELS = Kernel("histogram.cu", "through_levels", sample=("u8 data levels out", "i8 total plane inner"))


@launches
def equalize(gpu: Launcher, src: Array, dst: Array, outer: Array, counts: Array, inner: Array) -> None:
    """Equalise the histogram of each channel; see :func:`dali_lab.kernels.cpu.histogram.equalize`."""
    channels, plane = outer * inner, counts * inner
    total = outer * plane
    found = gpu.batch((channels * 256 * _COPIES).reshape(-1, 1), INT32)
    levels = gpu.batch((channels * 256).reshape(-1, 1), UINT8)
    table = channels * 256
    CLEAR_COUNTS.launch(gpu, (), table * _COPIES, {"out": found.addresses, "total": table * _COPIES})
    pixels: dict[str, Any] = {"data": src, "total": total, "plane": plane, "inner": inner}
    COUNT_LEVELS.launch(
        gpu, (), total, {**pixels, "out": found.addresses, "channels": channels}, {"copies": _COPIES, "run": _RUN}
    )
    ADD_COUNTS.launch(gpu, (), table, {"out": found.addresses, "total": table}, {"copies": _COPIES})
    sample = {"counts": found.addresses, "out": levels.addresses, "total": table, "pixels": counts}
    EQUAL_LEVELS.launch(gpu, (), table, sample)
    THROUGH_LEVELS.launch(gpu, (), total, {**pixels, "levels": levels.addresses, "out": dst})
