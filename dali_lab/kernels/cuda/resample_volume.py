"""Resizing volumes; see :mod:`dali_lab.kernels.cpu.resample_volume`, which has the same function and numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.resample import HALVES, RESAMPLE_PASS, axis_column, filter_tables


@launches
def resize_volumes(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, min_filter: Array,
    mag_filter: Array, antialias: bool, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Resize volumes, in a launch for each pass; see :func:`dali_lab.kernels.cpu.resample_volume.resize_volumes`."""
    from dali_lab.kernels.cpu import resample_plan

    src_shapes, dst_shapes = np.asarray(src_shapes, np.int64), np.asarray(dst_shapes, np.int64)
    keep = np.flatnonzero((src_shapes > 0).all(axis=1) & (dst_shapes > 0).all(axis=1))
    if not len(keep):
        return
    src, dst, shapes, dst_shapes = src[keep], dst[keep], src_shapes[keep], dst_shapes[keep]
    whole, real, order, parted = resample_plan.plan_volumes(
        shapes[:, 1:4], dst_shapes[:, 1:4], roi[keep], min_filter[keep], mag_filter[keep], antialias
    )
    every = np.arange(len(keep))
    source, kind, held = src, src_dtype, []
    for number in range(3):
        axis = order[:, number]
        last = number == 2
        sizes = shapes[:, 1:4]
        inner = np.where(np.arange(3) > axis[:, None], sizes, 1).prod(axis=1) * shapes[:, 4]
        shapes = shapes.copy()
        shapes[every, axis + 1] = dst_shapes[every, axis + 1]
        total = shapes.prod(axis=1)
        if last:
            target, to = dst, dst_dtype
        else:
            block = gpu.scratch(4 * int(total.sum()))
            held.append(block)
            target, to = block.address + 4 * (np.cumsum(total) - total), np.float32
        RESAMPLE_PASS.launch(
            gpu,
            (kind, to),
            total,
            {
                "data": source,
                "out": target,
                "axis": axis_column(whole[every, axis], real[every, axis]),
                "halves": _halves(parted) if last else np.zeros(len(keep), HALVES.dtype),
                "accumulate": axis != 2,
                "out_size": dst_shapes[every, axis + 1],
                "inner": inner,
            },
            {"tables": filter_tables(gpu)},
        )
        source, kind = target, to


def _halves(parted: Array) -> Array:
    """The halves that go to the even neighbour, as the kernel takes them, from the plan."""
    halves = np.zeros(len(parted), HALVES.dtype)
    halves["kind"], halves["low"], halves["high"], halves["width"] = parted.T
    return halves
