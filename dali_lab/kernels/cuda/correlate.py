"""Correlation with windows; see :mod:`dali_lab.kernels.cpu.correlate`, which has the same function and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cpu.correlate import lanes
from dali_lab.kernels.cuda.borders import BORDERS
from dali_lab.kernels.cuda.kernel import Kernel, launches

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_TYPES = ("u1", "i1", "u2", "i2", "f2", "f4")
_AXES = ("z", "y", "x")

CORRELATE = Kernel(
    "correlate.cu",
    "correlate",
    sample=(
        "u8 data out window",
        "i8 total",
        "i4 depth height width channels out_depth out_height out_width fused",
        *((f"taps_{axis}", "i4") for axis in _AXES),
        *((f"anchor_{axis}", "i4") for axis in _AXES),
        "f4 fill",
    ),
    param=("i4 border",),
    types=(_TYPES, _TYPES),
)


@launches
def correlate(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, outs: Array, windows: Array, lengths: Array, anchors: Array,
    fills: Array, border: str, src_dtype: Any, dst_dtype: Any,
) -> None:  # fmt: skip
    """Sums of products with a window; see :func:`dali_lab.kernels.cpu.correlate.correlate`."""
    planes, depth, height, width, channels = np.asarray(shapes, np.int64).T
    total = np.where(np.prod(shapes, axis=1) == 0, 0, planes * np.prod(outs, axis=1) * channels)
    row, vector = outs[:, 2] * channels, lanes(src_dtype, dst_dtype)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "window": windows,
        "depth": depth,
        "height": height,
        "width": width,
        "channels": channels,
        "out_depth": outs[:, 0],
        "out_height": outs[:, 1],
        "out_width": outs[:, 2],
        "fused": row - row % vector if vector else np.zeros_like(row),
        "fill": fills,
    }
    for index, axis in enumerate(_AXES):
        sample |= {f"taps_{axis}": lengths[:, index], f"anchor_{axis}": anchors[:, index]}
    CORRELATE.launch(gpu, (src_dtype, dst_dtype), total, sample, {"border": BORDERS[border]})
