"""Boxes and points: mirrored, transformed, matched with anchors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cuda.kernel import NUMBERS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.dtypes import INT32

_DATA = ("u8 data out", "i8 total")

FLIP_BOXES = Kernel("boxes.cu", "flip_boxes", sample=(*_DATA, "i4 horizontal vertical"), param=("i4 by_size",))
FLIP_POINTS = Kernel("boxes.cu", "flip_points", sample=(*_DATA, "i4 flips[3]", "f4 center[3]"), param=("i4 width",))
TRANSFORM_POINTS = Kernel(
    "boxes.cu",
    "transform_points",
    sample=(*_DATA, "u8 matrix offset"),
    param=("i4 width rows",),
    types=(NUMBERS, NUMBERS),
)
FAVOURITE_ANCHORS = Kernel(
    "boxes.cu", "favourite_anchors", sample=("u8 boxes anchors out", "i8 total"), param=("i4 anchors",)
)
ENCODE_BOXES = Kernel(
    "boxes.cu",
    "encode_boxes",
    sample=("u8 boxes labels favourites anchors out out_classes", "i8 total", "i4 count"),
    param=("i4 offset", "f4 criteria scale means[4] stds[4]"),
)


@launches
def flip_boxes(
    gpu: Launcher, src: Array, dst: Array, counts: Array, horizontal: Array, vertical: Array, by_size: bool
) -> None:
    """Mirror ``counts[n]`` boxes of a unit square, given by corners, or by a corner and a size."""
    sample: dict[str, Any] = {"data": src, "out": dst}
    FLIP_BOXES.launch(gpu, (), counts, sample | {"horizontal": horizontal, "vertical": vertical}, {"by_size": by_size})


@launches
def flip_points(gpu: Launcher, src: Array, dst: Array, counts: Array, flips: Array, center: Array) -> None:
    """Mirror ``counts[n]`` points of ``flips.shape[1]`` coordinates about ``center[n]``."""
    width = flips.shape[1]
    axes, middle = np.zeros((len(flips), 3), np.int32), np.zeros((len(flips), 3), np.float32)
    axes[:, :width], middle[:, :width] = flips, center
    sample: dict[str, Any] = {"data": src, "out": dst, "flips": axes, "center": middle}
    FLIP_POINTS.launch(gpu, (), counts * width, sample, {"width": width})


@launches
def transform_points(
    gpu: Launcher, src: Array, dst: Array, counts: Array, matrix: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = matrix[n] @ in + offset[n]`` for ``counts[n]`` points; one matrix may stand for all samples."""
    _, rows, width = matrix.shape
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "matrix": gpu.rows(matrix.astype(np.float32), len(src)),
        "offset": gpu.rows(offset.astype(np.float32), len(src)),
    }
    TRANSFORM_POINTS.launch(gpu, (src_dtype, dst_dtype), counts * rows, sample, {"width": width, "rows": rows})


@launches
def encode(
    gpu: Launcher, boxes: Array, labels: Array, counts: Array, out_boxes: Array, out_labels: Array, anchors: Array,
    criteria: Real, offset: bool, scale: Real, means: Array, stds: Array, *_: object,
) -> None:  # fmt: skip
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
