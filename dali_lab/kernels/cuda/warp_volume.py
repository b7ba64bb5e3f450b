"""Warping volumes; see :mod:`dali_lab.kernels.cpu.warp_volume`, which has the same function and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cuda.kernel import Kernel, launches

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_TYPES = ("u1", "i2", "u2", "i4", "f4")

WARP_VOLUME = Kernel(
    "warp_volume.cu",
    "warp_volume",
    sample=(
        ("data", "u8"),
        ("out", "u8"),
        ("total", "i8"),
        ("matrix", "f4", 12),
        ("depth", "i4"),
        ("height", "i4"),
        ("width", "i4"),
        ("channels", "i4"),
        ("out_height", "i4"),
        ("out_width", "i4"),
    ),
    param=(("linear", "i4"), ("clamp", "i4"), ("fill", "f4")),
    types=(_TYPES, _TYPES),
)


@launches
def warp_volumes(
    gpu: Launcher,
    src: Array,
    dst: Array,
    src_shapes: Array,
    dst_shapes: Array,
    matrices: Array,
    linear: bool,
    src_dtype: Any,
    dst_dtype: Any,
    *,
    fill: float | None = None,
) -> None:
    """Warp volumes by one matrix a sample; see :func:`dali_lab.kernels.cpu.warp_volume.warp_volumes`."""
    depth, height, width, channels = np.asarray(src_shapes, np.int64).T
    planes, out_height, out_width = (dst_shapes[:, axis] for axis in range(3))
    total = planes * out_height * out_width
    WARP_VOLUME.launch(
        gpu,
        (src_dtype, dst_dtype),
        total,
        {
            "data": src,
            "out": dst,
            "total": total,
            "matrix": np.asarray(matrices, np.float32).reshape(len(src), 12),
            "depth": depth,
            "height": height,
            "width": width,
            "channels": channels,
            "out_height": out_height,
            "out_width": out_width,
        },
        {"linear": linear, "clamp": fill is None, "fill": 0 if fill is None else fill},
    )
