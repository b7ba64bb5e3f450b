"""Blanking the squares of a grid; see :mod:`dali_lab.kernels.cpu.grid`, which has the same function."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.grid import grid_steps
from dali_lab.kernels.cuda.kernel import WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

GRID_MASK = Kernel(
    "grid.cu",
    "grid_mask",
    sample=("u8 data out", "i8 total", "i4 width channels", "f4 cosine sine start_u start_v ratio"),
    types=(WORDS,),
)


@launches
def grid_mask(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, tile: Array, ratio: Array, angle: Array, shift_x: Array,
    shift_y: Array, item_size: int,
) -> None:  # fmt: skip
    """Copy images and set the pixels in squares to zero; see :func:`dali_lab.kernels.cpu.grid.grid_mask`."""
    table = np.asarray(shapes, np.int64)
    total = table.prod(axis=1)
    cosines, sines, starts = grid_steps(tile, angle, shift_x, shift_y)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "width channels": table[:, 1:],
        "cosine": cosines,
        "sine": sines,
        "start_u start_v": starts,
        "ratio": ratio,
    }
    GRID_MASK.launch(gpu, (f"u{item_size}",), total, sample)
