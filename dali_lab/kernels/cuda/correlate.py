"""Correlation with windows; see :mod:`dali_lab.kernels.cpu.correlate`, which has the same function and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.borders import BORDERS
from dali_lab.kernels.cpu.correlate import lanes
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

_TYPES = ("u1", "i1", "u2", "i2", "f2", "f4")

CORRELATE = Kernel(
    "correlate.cu",
    "correlate",
    sample=(
        "u8 data out window",
        "i8 total",
        "i4 depth height width channels out_depth out_height out_width fused",
        "i4 taps_z taps_y taps_x anchor_z anchor_y anchor_x",
        "f4 fill",
    ),
    param=("i4 border",),
    types=(_TYPES, _TYPES),
)


@launches
def correlate(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, outs: Array, windows: Array, lengths: Array, anchors: Array,
    fills: Array, border: str, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Sums of products with a window; see :func:`dali_lab.kernels.cpu.correlate.correlate`."""
    table = np.asarray(shapes, np.int64)
    planes, channels = table[:, 0], table[:, 4]
    total = np.where(table.prod(axis=1) == 0, 0, planes * np.prod(outs, axis=1) * channels)
    row, vector = outs[:, 2] * channels, lanes(src_dtype, dst_dtype)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "window": windows,
        "depth height width channels": table[:, 1:],
        "out_depth out_height out_width": outs,
        "taps_z taps_y taps_x": lengths,
        "anchor_z anchor_y anchor_x": anchors,
        "fused": row - row % vector if vector else np.zeros_like(row),
        "fill": fills,
    }
    CORRELATE.launch(gpu, (src_dtype, dst_dtype), total, sample, {"border": BORDERS[border]})
