"""Resizing; see :mod:`dali_lab.kernels.cpu.resample`, which has the same functions and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import THREADS, Kernel, Structure, launches, stated

if TYPE_CHECKING:
    from dali_lab.kernels.cpu.normalize import Resized
    from dali_lab.kernels.cuda.launching import Launcher

_TYPES = ("u1", "i1", "i2", "u2", "f2", "f4")
_COLUMNS, _LINES = stated("resample.cu", "COLUMNS"), stated("resample.cu", "LINES")

AXIS = Structure("ResampleAxis", ("i4 nearest base entries taps size first", "f4 scale anchor origin step"))
HALVES = Structure("ResampleHalves", ("i4 kind low high width",))
RESIZE = Kernel(
    "resample.cu",
    "resize",
    sample=(
        "u8 data out",
        "i8 tiles",
        ("down", AXIS),
        ("across", AXIS),
        ("halves", HALVES),
        "i4 out_height out_width channels vertical_first",
    ),
    param=("u8 tables",),
    types=(_TYPES, _TYPES),
    shares=True,
)
RESAMPLE_PASS = Kernel(
    "resample.cu",
    "resample_pass",
    sample=("u8 data out", "i8 total", ("axis", AXIS), ("halves", HALVES), "i4 accumulate out_size inner"),
    param=("u8 tables",),
    types=(_TYPES, _TYPES),
)
RESIZE_CROP_MIRROR_NORMALIZE = Kernel(
    "resample.cu",
    "resize_crop_mirror_normalize",
    sample=(
        "u8 data out mean inverse",
        "i8 tiles",
        ("down", AXIS),
        ("across", AXIS),
        ("halves", HALVES),
        "i4 top left out_height out_width channels vertical_first mirror",
    ),
    param=("i4 out_channels factors rounded planar_out", "u8 tables"),
    types=(("u1",), ("u1", "i1", "f2", "f4")),
    shares=True,
)


def _axes(
    src_shapes: Array, out_sizes: Array, roi: Array, min_filter: Array, mag_filter: Array, antialias: bool
) -> dict[str, Array]:
    """The columns ``down``, ``across``, ``vertical_first`` and ``halves`` of the table."""
    from dali_lab.kernels.cpu import resample_plan

    whole, real, vertical_first, parted = resample_plan.plan(
        src_shapes[:, 1:3], out_sizes, roi, min_filter, mag_filter, antialias
    )
    halves = np.zeros(len(whole), HALVES.dtype)
    halves["kind"], halves["low"], halves["high"] = parted.T
    halves["width"] = np.asarray(out_sizes)[:, 1]
    columns: dict[str, Array] = {"vertical_first": vertical_first, "halves": halves}
    for index, name in enumerate(("down", "across")):
        columns[name] = axis_column(whole[:, index], real[:, index])
    return columns


def _tiles(frames: Array, heights: Array, widths: Array) -> Array:
    """Number of tiles of each sample's result."""
    return np.asarray(frames * -(-heights // _LINES) * -(-widths // _COLUMNS))


def axis_column(whole: Array, real: Array) -> Array:
    """One axis of each sample as kernels take it, from what the plan has for it."""
    axis = np.zeros(len(whole), AXIS.dtype)
    for place, field in enumerate(("nearest", "base", "entries", "taps", "size", "first")):
        axis[field] = whole[:, place]
    for place, field in enumerate(("scale", "anchor", "origin", "step")):
        axis[field] = real[:, place]
    return axis


def filter_tables(gpu: Launcher) -> int:
    """The address of the sampled filters."""
    from dali_lab.kernels.cpu import resample_filters

    return gpu.constant(resample_filters.TABLES)


def factor_rows(gpu: Launcher, count: int, mean: Array, inverse: Array) -> tuple[Array, Array, int]:
    """Addresses of each sample's row of means and of factors, and how many there are in a row."""
    first, second = np.broadcast_arrays(
        np.atleast_2d(np.asarray(mean, np.float32)), np.atleast_2d(np.asarray(inverse, np.float32))
    )
    if len(first) > 1 and (first == first[0]).all() and (second == second[0]).all():
        first, second = first[:1], second[:1]
    return gpu.rows(first, count), gpu.rows(second, count), first.shape[1]


@launches
def resize(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, min_filter: Array,
    mag_filter: Array, antialias: bool, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Resize frames; see :func:`dali_lab.kernels.cpu.resample.resize`."""
    full = (np.asarray(src_shapes) > 0).all(axis=1) & (np.asarray(dst_shapes) > 0).all(axis=1)
    if not full.all():
        keep = np.flatnonzero(full)
        src, dst, src_shapes, dst_shapes = src[keep], dst[keep], src_shapes[keep], dst_shapes[keep]
        roi, min_filter, mag_filter = roi[keep], min_filter[keep], mag_filter[keep]
    if not len(src):
        return
    sizes = np.asarray(dst_shapes, np.int64)
    tiles = _tiles(*sizes[:, :3].T)
    RESIZE.launch(
        gpu,
        (src_dtype, dst_dtype),
        tiles * THREADS,
        {
            "tiles": tiles,
            "data": src,
            "out": dst,
            "out_height out_width channels": sizes[:, 1:],
            **_axes(src_shapes, dst_shapes[:, 1:3], roi, min_filter, mag_filter, antialias),
        },
        {"tables": filter_tables(gpu)},
    )


@launches
def resize_crop_mirror_normalize(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, resized: Resized, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike, *, out_channels: int, planar_dst: bool, rounded: bool = True,
) -> None:  # fmt: skip
    """Do it in one launch; see :func:`dali_lab.kernels.cpu.normalize.resize_crop_mirror_normalize`."""
    means, inverses, factors = factor_rows(gpu, len(src), resized.mean, resized.inverse)
    tiles = _tiles(src_shapes[:, 0], *np.asarray(resized.windows, np.int64)[:, 2:].T)
    RESIZE_CROP_MIRROR_NORMALIZE.launch(
        gpu,
        (src_dtype, dst_dtype),
        tiles * THREADS,
        {
            "tiles": tiles,
            "data": src,
            "out": dst,
            "mean": means,
            "inverse": inverses,
            "top left out_height out_width": resized.windows,
            "channels": src_shapes[:, 3],
            "mirror": np.asarray(resized.mirror) != 0,
            **_axes(src_shapes, resized.sizes, resized.roi, resized.min_filter, resized.mag_filter, resized.antialias),
        },
        {
            "out_channels": out_channels,
            "factors": factors,
            "rounded": rounded,
            "planar_out": planar_dst,
            "tables": filter_tables(gpu),
        },
    )
