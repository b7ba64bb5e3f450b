"""Erasing boxes; see :mod:`dali_lab.kernels.cpu.erase`, which has the same functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.erase import erase_regions, fill_elements
from dali_lab.kernels.cuda.copy import AXES, copy, padded
from dali_lab.kernels.cuda.kernel import WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

FILL_REGION = Kernel(
    "erase.cu",
    "fill_region",
    sample=("u8 out values", f"i8 total start stride[{AXES}]", f"i4 extent[{AXES}] first"),
    param=("i4 ndim fill_axis fills",),
    types=(WORDS,),
)


@launches
def erase(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, starts: Array, stops: Array, fill: Array,
    dtype: npt.DTypeLike, *, fill_axis: int = -1,
) -> None:  # fmt: skip
    """Copy samples, then overwrite all regions in one launch; see :func:`dali_lab.kernels.cpu.erase.erase`."""
    table = np.asarray(shapes, np.int64)
    ndim = table.shape[1]
    item_size = np.dtype(dtype).itemsize
    if (src != dst).any():
        copy(gpu, src, dst, table.prod(axis=1), item_size)
    extents = np.maximum(np.asarray(stops, np.int64) - starts, 0)
    sizes = extents.prod(axis=2)
    owner, region = np.nonzero(sizes)
    if not len(owner):
        return
    values = fill_elements(fill, dtype)
    strides = np.ones_like(table)
    if ndim > 1:
        strides[:, :-1] = np.cumprod(table[:, :0:-1], axis=1)[:, ::-1]
    first, extent = np.asarray(starts, np.int64)[owner, region], extents[owner, region]
    FILL_REGION.launch(
        gpu,
        (f"u{item_size}",),
        sizes[owner, region],
        {
            "out": dst[owner],
            "values": gpu.constant(values) + np.minimum(owner, len(values) - 1) * values[:1].nbytes,
            "start": (first * strides[owner]).sum(axis=1),
            "stride": padded(strides[owner]),
            "extent": padded(extent),
            "first": first[:, fill_axis] if fill_axis >= 0 else 0,
        },
        {"ndim": ndim, "fill_axis": fill_axis, "fills": values.shape[1]},
    )


__all__ = ["erase", "erase_regions"]
