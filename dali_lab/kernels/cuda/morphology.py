"""Extremes and medians of rectangles around each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.borders import BORDERS
from dali_lab.kernels.cpu.morphology import pictures
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.model.dtypes import numpy_dtype

if TYPE_CHECKING:
    from dali_lab.kernels.cuda.launching import Launcher
    from dali_lab.model.batch import Batch


EXTREME = Kernel(
    "morphology.cu",
    "extreme",
    sample=("u8 data out", "i8 total inner", "i4 length taps anchor"),
    param=("i4 border greatest",),
    types=(("u1", "u2", "i2", "f4"),),
)
MEDIAN = Kernel(
    "morphology.cu",
    "median",
    sample=("u8 data out", "i8 total", "i4 height width channels window_width window_height"),
    types=(("u1", "u2", "i2", "i4", "f4"),),
)


@launches
def extremes(
    gpu: Launcher, source: Batch, out: Batch, sizes: Array, anchors: Array, *, greatest: bool, border: str
) -> None:
    """The greatest or least element around each one; see :func:`dali_lab.kernels.cpu.morphology.extremes`."""
    _, height, width, channels = pictures(source).T
    total = source.sizes
    dtype = numpy_dtype(source.dtype)
    between = gpu.batch(total.reshape(-1, 1), source.dtype)
    param = {"border": BORDERS[border], "greatest": greatest}
    for column, (src, dst, length, inner) in enumerate(
        (
            (source.addresses, between.addresses, width, channels),
            (between.addresses, out.addresses, height, width * channels),
        )
    ):
        sample = {
            "data": src,
            "out": dst,
            "inner": inner,
            "length": length,
            "taps": sizes[:, column],
            "anchor": anchors[:, column],
        }
        EXTREME.launch(gpu, (dtype,), total, sample, param)


@launches
def medians(gpu: Launcher, source: Batch, out: Batch, sizes: Array) -> None:
    """The median of a window around each element; see :func:`dali_lab.kernels.cpu.morphology.medians`."""
    sample = {
        "data": source.addresses,
        "out": out.addresses,
        "height width channels": pictures(source)[:, 1:],
        "window_width window_height": sizes,
    }
    MEDIAN.launch(gpu, (numpy_dtype(source.dtype),), source.sizes, sample)
