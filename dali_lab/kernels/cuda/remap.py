"""Remapping by maps of coordinates, with the interpolation that OpenCV has on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cuda.kernel import Kernel, launches

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_PARTS = 32
"""Parts of a pixel at which OpenCV samples for Lanczos interpolation, and for linear interpolation of int16."""

REMAP = Kernel(
    "remap.cu",
    "remap",
    sample=(
        ("data", "u8"),
        ("out", "u8"),
        ("columns", "u8"),
        ("rows", "u8"),
        ("total", "i8"),
        ("height", "i4"),
        ("width", "i4"),
        ("channels", "i4"),
    ),
    param=(("weights", "u8"), ("shift", "f4"), ("taps", "i4"), ("parts", "i4")),
    types=(("u1", "u2", "i2", "f4"),),
)


@launches
def remap(
    gpu: Launcher, src: Array, dst: Array, columns: Array, rows: Array, shapes: Array, sizes: Array, taps: int,
    shift: float, dtype: Any,
) -> None:  # fmt: skip
    """Take pixels from where two maps say.

    Parameters
    ----------
    src, dst, columns, rows
        ``int64[N]`` addresses; the maps are float32.
    shapes
        ``int64[N, 3]``: height, width, channels of the sources.
    sizes
        ``int64[N]``: pixels of the results.
    taps
        Neighbours along each axis: 1, 2 for linear, 4 for cubic, 8 for Lanczos interpolation.
    shift
        Subtracted from the coordinates.
    dtype
        uint8, uint16, int16 or float32.
    """
    kind = np.dtype(dtype)
    parts = _PARTS if taps == 8 or (taps == 2 and kind == np.int16) else 0
    height, width, channels = np.asarray(shapes, np.int64).T
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "columns": columns,
        "rows": rows,
        "total": sizes,
        "height": height,
        "width": width,
        "channels": channels,
    }
    weights = gpu.constant(tap_weights(taps, parts)) if parts else 0
    REMAP.launch(gpu, (kind,), sizes, sample, {"weights": weights, "shift": shift, "taps": taps, "parts": parts})


def tap_weights(taps: int, parts: int) -> Array:
    """Weights of neighbours for positions at each part of a pixel, ``float32[parts, taps]``; they add up to 1."""
    position = np.arange(parts) / parts
    distance = position[:, None] - np.arange(taps) + (taps // 2 - 1)
    values = 1 - np.abs(distance) if taps == 2 else np.sinc(distance) * np.sinc(distance / 4)
    return np.asarray(values / values.sum(axis=1, keepdims=True), np.float32)
