"""Warping images; see :mod:`dali_lab.kernels.cpu.warp`, which has the same functions and numbers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches, stated
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.pictures import MOVED, moved

_TYPES = ("u1", "i2", "u2", "i4", "f4")
_SPAN = stated("warp.cu", "SPAN")
"""Pixels of a row that a thread computes."""

WARP_IMAGE = Kernel(
    "warp.cu",
    "warp_image",
    sample=(*MOVED, "u8 fill", "f4 matrix[9]", "i4 linear"),
    param=("i4 projective clamp fills",),
    types=(_TYPES, _TYPES),
)
DISPLACE = Kernel(
    "warp.cu",
    "displace",
    sample=("u8 data out", "i8 total", "i4 height width channels chosen"),
    param=("u8 fill shift_x shift_y", "i4 sphere linear"),
    types=(("u1", "i2", "i4", "f4"),),
)
"""Launched by :mod:`dali_lab.kernels.cuda.displace`."""


@launches
def warp_affine(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, linear: Array,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, fill: Array | None = None,
) -> None:  # fmt: skip
    """Warp frames by one matrix a sample; see :func:`dali_lab.kernels.cpu.warp.warp_affine`."""
    given = np.asarray(matrices, np.float32)
    given = given.reshape(len(src), math.prod(given.shape[1:]))
    matrix = np.zeros((len(src), 9), np.float32)
    matrix[:, : given.shape[1]] = given
    values = np.zeros((1, 1), np.float32) if fill is None else np.atleast_2d(np.asarray(fill, np.float32))
    shapes = np.asarray(src_shapes, np.int64)
    sample = moved(src, dst, shapes[:, 1:], dst_shapes[:, 1:3], shapes[:, 0])
    sample["total"] = shapes[:, 0] * dst_shapes[:, 1] * -(-dst_shapes[:, 2] // _SPAN)
    WARP_IMAGE.launch(
        gpu,
        (src_dtype, dst_dtype),
        sample["total"],
        {**sample, "fill": gpu.rows(values, len(src)), "matrix": matrix, "linear": linear},
        {"projective": given.shape[1] == 9, "clamp": fill is None, "fills": values.shape[1]},
    )
