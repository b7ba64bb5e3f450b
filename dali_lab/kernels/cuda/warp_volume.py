"""Warping volumes; see :mod:`dali_lab.kernels.cpu.warp_volume`, which has the same function and numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.pictures import MOVED, moved

_TYPES = ("u1", "i2", "u2", "i4", "f4")

WARP_VOLUME = Kernel(
    "warp_volume.cu",
    "warp_volume",
    sample=(*MOVED, "f4 matrix[12]", "i4 depth"),
    param=("i4 linear clamp", "f4 fill"),
    types=(_TYPES, _TYPES),
)


@launches
def warp_volumes(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, linear: bool,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, fill: float | None = None,
) -> None:  # fmt: skip
    """Warp volumes by one matrix a sample; see :func:`dali_lab.kernels.cpu.warp_volume.warp_volumes`."""
    shapes = np.asarray(src_shapes, np.int64)
    sample = moved(src, dst, shapes[:, 1:], dst_shapes[:, 1:3], dst_shapes[:, 0])
    WARP_VOLUME.launch(
        gpu,
        (src_dtype, dst_dtype),
        sample["total"],
        {**sample, "matrix": np.asarray(matrices, np.float32).reshape(len(src), 12), "depth": shapes[:, 0]},
        {"linear": linear, "clamp": fill is None, "fill": 0 if fill is None else fill},
    )
