"""Moving elements without looking at them; see :mod:`dali_lab.kernels.cpu.copy`, which has the same functions."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.copy import window_walk
from dali_lab.kernels.cuda.kernel import WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

AXES = 8
_MOST_BYTES = 8
"""Bytes that a thread copies at once where addresses and sizes are multiples of it."""

GATHER = Kernel(
    "copy.cu",
    "gather",
    sample=(
        "u8 data out fill",
        f"i8 total stride[{AXES}] start[{AXES}]",
        f"i4 shape[{AXES}] extent[{AXES}] step[{AXES}]",
    ),
    param=("i4 ndim fill_axis fills",),
    types=(WORDS,),
)


@launches
def copy_window(
    gpu: Launcher, src: Array, dst: Array, src_shapes: Array, starts: Array, sizes: Array, item_size: int, *,
    steps: Array | None = None, flips: Array | None = None, order: tuple[int, ...] | None = None,
    fill: Array | None = None, fill_axis: int = -1,
) -> None:  # fmt: skip
    """Copy a window of each sample; see :func:`dali_lab.kernels.cpu.copy.copy_window`."""
    shapes = np.asarray(src_shapes, np.int64)
    count, ndim = shapes.shape
    first, extent, step, axes = window_walk(shapes, starts, sizes, steps, flips, order)
    strides = np.ones((count, ndim), np.int64)
    if ndim > 1:
        strides[:, :-1] = np.cumprod(shapes[:, :0:-1], axis=1)[:, ::-1]
    values = np.zeros((1, 1), f"u{item_size}") if fill is None else np.atleast_2d(np.asarray(fill, f"u{item_size}"))
    total = extent.prod(axis=1)
    GATHER.launch(
        gpu,
        (f"u{item_size}",),
        total,
        {
            "data": src,
            "out": dst,
            "fill": gpu.rows(values, count),
            "stride": padded(strides[:, axes]),
            "start": padded(first[:, axes]),
            "shape": padded(extent[:, axes]),
            "extent": padded(shapes[:, axes]),
            "step": padded(step[:, axes]),
        },
        {"ndim": ndim, "fill_axis": fill_axis, "fills": values.shape[1]},
    )


def padded(rows: Array, length: int = AXES) -> Array:
    """``[N, ndim]`` with columns of zeros up to the length that the structure has."""
    table = np.zeros((len(rows), length), np.int64)
    table[:, : rows.shape[1]] = rows
    return table


@launches
def transpose(gpu: Launcher, src: Array, dst: Array, src_shapes: Array, order: tuple[int, ...], item_size: int) -> None:
    """Reorder the axes of each sample: output axis d is source axis ``order[d]``."""
    shapes = np.asarray(src_shapes, np.int64)
    copy_window(gpu, src, dst, shapes, np.zeros_like(shapes), shapes, item_size, order=order)


@launches
def flip(gpu: Launcher, src: Array, dst: Array, src_shapes: Array, flips: Array, item_size: int) -> None:
    """Mirror each sample along the axes that ``flips[n, axis]`` says."""
    shapes = np.asarray(src_shapes, np.int64)
    copy_window(gpu, src, dst, shapes, np.zeros_like(shapes), shapes, item_size, flips=flips)


@launches
def copy(gpu: Launcher, src: Array, dst: Array, sizes: Array, item_size: int) -> None:
    """Copy samples of ``sizes[n]`` elements as they are."""
    nbytes = np.asarray(sizes, np.int64) * item_size
    word = _MOST_BYTES
    while np.bitwise_or.reduce(np.concatenate([src, dst, nbytes])) % word:
        word //= 2
    shapes = (nbytes // word).reshape(-1, 1)
    copy_window(gpu, src, dst, shapes, np.zeros_like(shapes), shapes, word)
