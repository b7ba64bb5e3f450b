"""Colour images from Bayer patterns."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.debayer import ALGORITHMS
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

DEBAYER = Kernel(
    "debayer.cu",
    "debayer",
    sample=("u8 data out", "i8 total", "i4 height width blue_row blue_column"),
    param=("i4 algorithm",),
    types=(("u1", "u2"),),
)


@launches
def debayer(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, positions: Array, algorithm: str, dtype: npt.DTypeLike
) -> None:
    """Make RGB images, or gray ones; see :func:`dali_lab.kernels.cpu.debayer.debayer`."""
    total = sizes.prod(axis=1)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "height width": sizes,
        "blue_row blue_column": positions,
    }
    DEBAYER.launch(gpu, (dtype,), total, sample, {"algorithm": ALGORITHMS.index(algorithm)})
