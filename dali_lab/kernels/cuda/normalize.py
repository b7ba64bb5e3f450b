"""Crop, mirror and normalise; see :mod:`dali_lab.kernels.cpu.normalize`, which has the same functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.resample import factor_rows, resize_crop_mirror_normalize

CROP_MIRROR_NORMALIZE = Kernel(
    "normalize.cu",
    "crop_mirror_normalize",
    sample=("u8 data out mean inverse fill", "i8 total", "i4 height width top left out_height out_width mirror"),
    param=("i4 channels out_channels factors fills planar_in planar_out",),
    types=(("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8"), ("u1", "i1", "f2", "f4")),
)


@launches
def crop_mirror_normalize(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, windows: Array, mirror: Array, mean: Array,
    inverse: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, out_channels: int, planar_src: bool = False,
    planar_dst: bool = False, fill: Array | None = None,
) -> None:  # fmt: skip
    """Crop, mirror and normalise frames; see :func:`dali_lab.kernels.cpu.normalize.crop_mirror_normalize`."""
    shapes, windows = np.asarray(src_shapes, np.int64), np.asarray(windows, np.int64)
    values = np.zeros((1, 1), dst_dtype) if fill is None else np.atleast_2d(np.array(fill, dst_dtype))
    means, inverses, factors = factor_rows(gpu, len(src), mean, inverse)
    total = shapes[:, 0] * windows[:, 2:].prod(axis=1) * out_channels
    CROP_MIRROR_NORMALIZE.launch(
        gpu,
        (src_dtype, dst_dtype),
        total,
        {
            "data": src,
            "out": dst,
            "mean": means,
            "inverse": inverses,
            "fill": gpu.rows(values, len(src)),
            "height width": shapes[:, 1:3],
            "top left out_height out_width": windows,
            "mirror": np.asarray(mirror) != 0,
        },
        {
            "channels": int(shapes[0, 3]) if len(shapes) else 1,
            "out_channels": out_channels,
            "factors": factors,
            "fills": values.shape[1],
            "planar_in": planar_src,
            "planar_out": planar_dst,
        },
    )


__all__ = ["crop_mirror_normalize", "resize_crop_mirror_normalize"]
