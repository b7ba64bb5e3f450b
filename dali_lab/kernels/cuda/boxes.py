"""Boxes and points: mirrored, transformed, matched with anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.cuda.kernel import NUMBERS, Kernel, launches
from dali_lab.model.dtypes import INT32

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Array = np.ndarray[Any, Any]
_DATA = (("data", "u8"), ("out", "u8"), ("total", "i8"))

FLIP_BOXES = Kernel(
    "boxes.cu",
    "flip_boxes",
    sample=(*_DATA, ("horizontal", "i4"), ("vertical", "i4")),
    param=(("by_size", "i4"),),
)
FLIP_POINTS = Kernel(
    "boxes.cu", "flip_points", sample=(*_DATA, ("flips", "i4", 3), ("center", "f4", 3)), param=(("width", "i4"),)
)
TRANSFORM_POINTS = Kernel(
    "boxes.cu",
    "transform_points",
    sample=(*_DATA, ("matrix", "u8"), ("offset", "u8")),
    param=(("width", "i4"), ("rows", "i4")),
    types=(NUMBERS, NUMBERS),
)
FAVOURITE_ANCHORS = Kernel(
    "boxes.cu",
    "favourite_anchors",
    sample=(("boxes", "u8"), ("anchors", "u8"), ("out", "u8"), ("total", "i8")),
    param=(("anchors", "i4"),),
)
ENCODE_BOXES = Kernel(
    "boxes.cu",
    "encode_boxes",
    sample=(
        ("boxes", "u8"),
        ("labels", "u8"),
        ("favourites", "u8"),
        ("anchors", "u8"),
        ("out", "u8"),
        ("out_classes", "u8"),
        ("total", "i8"),
        ("count", "i4"),
    ),
    param=(("offset", "i4"), ("criteria", "f4"), ("scale", "f4"), ("means", "f4", 4), ("stds", "f4", 4)),
)


@launches
def flip_boxes(
    gpu: Launcher, src: Array, dst: Array, counts: Array, horizontal: Array, vertical: Array, by_size: bool
) -> None:
    """Mirror ``counts[n]`` boxes of a unit square, given by corners, or by a corner and a size."""
    sample: dict[str, Any] = {"data": src, "out": dst, "total": counts}
    FLIP_BOXES.launch(gpu, (), counts, sample | {"horizontal": horizontal, "vertical": vertical}, {"by_size": by_size})


@launches
def flip_points(gpu: Launcher, src: Array, dst: Array, counts: Array, flips: Array, center: Array) -> None:
    """Mirror ``counts[n]`` points of ``flips.shape[1]`` coordinates about ``center[n]``."""
    width = flips.shape[1]
    axes, middle = np.zeros((len(flips), 3), np.int32), np.zeros((len(flips), 3), np.float32)
    axes[:, :width], middle[:, :width] = flips, center
    sample: dict[str, Any] = {"data": src, "out": dst, "total": counts * width, "flips": axes, "center": middle}
    FLIP_POINTS.launch(gpu, (), counts * width, sample, {"width": width})


@launches
def transform_points(
    gpu: Launcher,
    src: Array,
    dst: Array,
    counts: Array,
    matrix: Array,
    offset: Array,
    src_dtype: Any,
    dst_dtype: Any,
) -> None:
    """``out = matrix[n] @ in + offset[n]`` for ``counts[n]`` points; one matrix may stand for all samples."""
    _, rows, width = matrix.shape
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "total": counts * rows,
        "matrix": gpu.rows(matrix.astype(np.float32), len(src)),
        "offset": gpu.rows(offset.astype(np.float32), len(src)),
    }
    TRANSFORM_POINTS.launch(gpu, (src_dtype, dst_dtype), counts * rows, sample, {"width": width, "rows": rows})


@launches
def encode(
    gpu: Launcher,
    boxes: Array,
    labels: Array,
    counts: Array,
    out_boxes: Array,
    out_labels: Array,
    anchors: Array,
    criteria: Any,
    offset: bool,
    scale: Any,
    means: Array,
    stds: Array,
    *_: Any,
) -> None:
    """Match the boxes of each sample with `anchors`; see :func:`dali_lab.kernels.cpu.boxes.encode`."""
    places = gpu.constant(anchors)
    favourites = gpu.batch(np.asarray(counts).reshape(-1, 1), INT32)
    sample: dict[str, Any] = {"boxes": boxes, "anchors": places, "out": favourites.addresses, "total": counts}
    FAVOURITE_ANCHORS.launch(gpu, (), counts, sample, {"anchors": len(anchors)})
    total = np.full(len(boxes), len(anchors))
    ENCODE_BOXES.launch(
        gpu,
        (),
        total,
        {
            "boxes": boxes,
            "labels": labels,
            "favourites": favourites.addresses,
            "anchors": places,
            "out": out_boxes,
            "out_classes": out_labels,
            "total": total,
            "count": counts,
        },
        {"offset": offset, "criteria": criteria, "scale": scale, "means": means, "stds": stds},
    )
