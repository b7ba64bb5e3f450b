"""Saturating conversion of elements, as :mod:`dali_lab.kernels.cpu.convert` has it."""

from __future__ import annotations

import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import NUMBERS, Kernel, launches, short
from dali_lab.kernels.cuda.launching import Launcher

CAST = Kernel("casting.cu", "cast", sample=("u8 data out", "i8 total"), param=("i4 target truncate",), types=(NUMBERS,))


@launches
def cast(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike
) -> None:
    """Convert samples of ``sizes[n]`` elements: rounded half away from zero and clamped."""
    _launch(gpu, src, dst, sizes, src_dtype, dst_dtype, False)


@launches
def truncate(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike
) -> None:
    """Convert as crop and slice do: fractions are cut off, and float16 keeps to its range."""
    _launch(gpu, src, dst, sizes, src_dtype, dst_dtype, True)


def _launch(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
    truncate: bool,
) -> None:  # fmt: skip
    param = {"target": NUMBERS.index(short(dst_dtype)), "truncate": truncate}
    CAST.launch(gpu, (src_dtype,), sizes, {"data": src, "out": dst}, param)
