"""Scales, offsets and colour matrices; see :mod:`dali_lab.kernels.cpu.color`, which has the same functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

_TYPES = ("u1", "i2", "i4", "f2", "f4")

SCALE = Kernel("color.cu", "scale", sample=("u8 data out", "i8 total", "f4 factor offset"), types=(_TYPES, _TYPES))
LINEAR_RGB = Kernel(
    "color.cu", "linear_rgb", sample=("u8 data out", "i8 pixels", "f4 matrix[9] offset[3]"), types=(_TYPES, _TYPES)
)
CHAIN = Kernel(
    "color.cu", "chain", sample=("u8 data out matrices offsets", "i8 pixels"), param=("u8 kinds", "i4 steps")
)
MIX = Kernel(
    "color.cu",
    "mix",
    sample=("u8 data out matrix offset", "i8 pixels"),
    param=("i4 inputs outputs",),
    types=(("u1", "f4"), ("u1", "f4")),
)


@launches
def scale(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, factor: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = in * factor + offset`` with a factor and an offset for each sample."""
    sample = {"data": src, "out": dst, "factor": factor, "offset": offset}
    SCALE.launch(gpu, (src_dtype, dst_dtype), sizes, sample)


@launches
def linear_rgb(
    gpu: Launcher, src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = matrix @ in + offset`` for pixels of three interleaved channels."""
    sample = {"data": src, "out": dst, "pixels": pixels, "matrix": matrix, "offset": offset}
    LINEAR_RGB.launch(gpu, (src_dtype, dst_dtype), pixels, sample)


@launches
def chain(gpu: Launcher, src: Array, dst: Array, pixels: Array, matrices: Array, offsets: Array, kinds: Array) -> None:
    """Several linear operators over uint8 pixels; see :func:`dali_lab.kernels.cpu.color_chain.chain`."""
    count = len(src)
    sample = {
        "data": src,
        "out": dst,
        "matrices": gpu.rows(np.ascontiguousarray(matrices, np.float32), count),
        "offsets": gpu.rows(np.ascontiguousarray(offsets, np.float32), count),
        "pixels": pixels,
    }
    param = {"kinds": gpu.constant(np.asarray(kinds, np.int32)), "steps": len(kinds)}
    CHAIN.launch(gpu, (), pixels, sample, param)


@launches
def mix(
    gpu: Launcher, src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = matrix @ in + offset`` with one matrix for all samples, between any numbers of channels."""
    outputs, inputs = matrix.shape
    sample = {
        "data": src,
        "out": dst,
        "matrix": gpu.constant(np.asarray(matrix, np.float32)),
        "offset": gpu.constant(np.asarray(offset, np.float32)),
        "pixels": pixels,
    }
    MIX.launch(gpu, (src_dtype, dst_dtype), pixels * outputs, sample, {"inputs": inputs, "outputs": outputs})
