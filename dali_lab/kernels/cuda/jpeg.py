"""What JPEG compression does to pictures, with the numbers of libjpeg, without writing a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cuda.kernel import Fields, Kernel, launches
from dali_lab.types import INT16

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_SIZE: Fields = (("total", "i8"), ("height", "i4"), ("width", "i4"))

ROWS = Kernel("jpeg.cu", "jpeg_rows", sample=(("data", "u8"), ("out", "u8"), *_SIZE))
COLUMNS = Kernel("jpeg.cu", "jpeg_columns", sample=(("steps", "u8"), ("out", "u8"), *_SIZE))
LEVELS = Kernel("jpeg.cu", "jpeg_levels", sample=(("out", "u8"), ("total", "i8")))
PIXELS = Kernel("jpeg.cu", "jpeg_pixels", sample=(("data", "u8"), ("out", "u8"), *_SIZE))

# Steps for a quality of 50: ITU-T T.81, tables K.1 (luma) and K.2 (chroma).
_LUMA = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip
_CHROMA = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99, *(99,) * 32,
)  # fmt: skip


@launches
def jpeg_round_trip(gpu: Launcher, src: Array, dst: Array, sizes: Array, quality: Array) -> None:
    """Compress RGB pictures of uint8 and unpack them again.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    sizes
        ``int64[N, 2]``: height and width.
    quality
        ``int64[N]``, from 1 to 100.
    """
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


def steps(quality: Array) -> Array:
    """The steps of coefficients for qualities from 1 to 100, ``int32[N, 2, 64]``: for luma and for chroma, by rows."""
    level = np.asarray(quality, np.int64)
    percent = np.where(level < 50, 5000 // np.maximum(level, 1), 200 - 2 * level)
    scaled = (np.array([_LUMA, _CHROMA], np.int64) * percent[:, None, None] + 50) // 100
    return np.clip(scaled, 1, 255).astype(np.int32)
