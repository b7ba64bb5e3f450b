"""JPEG artifacts: pictures compressed and unpacked with the numbers of libjpeg, without writing a file."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.jpeg_distortion import steps
from dali_lab.kernels.cuda.kernel import Fields, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.dtypes import INT16

_SIZE: Fields = ("i8 total", "i4 height width")

ROWS = Kernel("jpeg_distortion.cu", "jpeg_rows", sample=("u8 data out", *_SIZE))
COLUMNS = Kernel("jpeg_distortion.cu", "jpeg_columns", sample=("u8 steps out", *_SIZE))
LEVELS = Kernel("jpeg_distortion.cu", "jpeg_levels", sample=("u8 out", "i8 total"))
PIXELS = Kernel("jpeg_distortion.cu", "jpeg_pixels", sample=("u8 data out", *_SIZE))


@launches
def jpeg_round_trip(gpu: Launcher, src: Array, dst: Array, sizes: Array, quality: Array) -> None:
    """Compress RGB pictures; see :func:`dali_lab.kernels.cpu.jpeg_distortion.jpeg_round_trip`."""
    height, width = np.asarray(sizes, np.int64).T
    luma = (-(-height // 8) * 8) * (-(-width // 8) * 8)
    chroma = (-(-height // 16) * 8) * (-(-width // 16) * 8)
    planes = gpu.batch((luma + 2 * chroma).reshape(-1, 1), INT16)
    levels, which = np.unique(quality, return_inverse=True)
    tables = gpu.constant(steps(levels))
    size = {"height": height, "width": width}
    pieces = (luma + 2 * chroma) // 8
    ROWS.launch(gpu, (), pieces, {"data": src, "out": planes.addresses, "total": pieces, **size})
    sample = {"steps": tables + which.reshape(-1) * 2 * 64 * 4, "out": planes.addresses, "total": pieces, **size}
    COLUMNS.launch(gpu, (), pieces, sample)
    LEVELS.launch(gpu, (), pieces, {"out": planes.addresses, "total": pieces})
    pixels = height * width
    PIXELS.launch(gpu, (), pixels, {"data": planes.addresses, "out": dst, "total": pixels, **size})
