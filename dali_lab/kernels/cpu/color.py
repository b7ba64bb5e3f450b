"""Colours: a matrix and an offset for each sample, applied to pixels of three channels, or a scale to any samples.

The sums are formed in float32, each product added in the order red, green, blue, then the offset; whole-number
results are rounded half away from zero and clamped, as NVIDIA DALI's linear transformations are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.convert import saturate, widen
from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows

_EXCHANGE = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], np.float32)


@kernel
def _linear_rgb(
    src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, like_src: Array, like_dst: Array
) -> None:
    for i in range(src.shape[0]):
        count = pixels[i]
        source = array_at(src[i], (count * 3,), like_src)
        target = array_at(dst[i], (count * 3,), like_dst)
        m00, m01, m02 = matrix[i, 0], matrix[i, 1], matrix[i, 2]
        m10, m11, m12 = matrix[i, 3], matrix[i, 4], matrix[i, 5]
        m20, m21, m22 = matrix[i, 6], matrix[i, 7], matrix[i, 8]
        b0, b1, b2 = offset[i, 0], offset[i, 1], offset[i, 2]
        for p in range(count):
            r = np.float32(widen(source[3 * p], like_src))
            g = np.float32(widen(source[3 * p + 1], like_src))
            b = np.float32(widen(source[3 * p + 2], like_src))
            target[3 * p] = saturate(m00 * r + m01 * g + m02 * b + b0, like_dst)
            target[3 * p + 1] = saturate(m10 * r + m11 * g + m12 * b + b1, like_dst)
            target[3 * p + 2] = saturate(m20 * r + m21 * g + m22 * b + b2, like_dst)


@kernel
def _scale(
    src: Array, dst: Array, sizes: Array, factor: Array, offset: Array, like_src: Array, like_dst: Array
) -> None:
    for i in range(src.shape[0]):
        count = sizes[i]
        source = array_at(src[i], (count,), like_src)
        target = array_at(dst[i], (count,), like_dst)
        a, b = factor[i], offset[i]
        for j in range(count):
            target[j] = saturate(np.float32(widen(source[j], like_src)) * a + b, like_dst)


def linear_rgb(
    src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = matrix @ in + offset`` for pixels of three interleaved channels.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    pixels
        ``int64[N]`` pixels of each sample.
    matrix
        ``float32[N, 9]``, row by row.
    offset
        ``float32[N, 3]``.
    src_dtype, dst_dtype
        Types of the elements.
    """
    _linear_rgb(
        rows(src), rows(dst), rows(pixels), rows(matrix, np.float32).reshape(-1, 9),
        rows(offset, np.float32).reshape(-1, 3), like(src_dtype), like(dst_dtype),
    )  # fmt: skip


def scale(
    src: Array, dst: Array, sizes: Array, factor: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = in * factor + offset`` with a factor and an offset for each sample, ``float32[N]`` each."""
    _scale(
        rows(src), rows(dst), rows(sizes), rows(factor, np.float32), rows(offset, np.float32), like(src_dtype),
        like(dst_dtype),
    )  # fmt: skip


@kernel
def _to_one(
    src: Array, dst: Array, pixels: Array, weights: Array, offset: float, like_src: Array, like_dst: Array
) -> None:
    """Three channels into one."""
    w0, w1, w2 = weights[0], weights[1], weights[2]
    for i in range(src.shape[0]):
        count = pixels[i]
        source = array_at(src[i], (count * 3,), like_src)
        target = array_at(dst[i], (count,), like_dst)
        for p in range(count):
            r = np.float32(widen(source[3 * p], like_src))
            g = np.float32(widen(source[3 * p + 1], like_src))
            b = np.float32(widen(source[3 * p + 2], like_src))
            target[p] = saturate(w0 * r + w1 * g + w2 * b + offset, like_dst)


@kernel
def _from_one(
    src: Array, dst: Array, pixels: Array, weights: Array, offset: Array, like_src: Array, like_dst: Array
) -> None:
    """One channel into three."""
    w0, w1, w2 = weights[0], weights[1], weights[2]
    b0, b1, b2 = offset[0], offset[1], offset[2]
    for i in range(src.shape[0]):
        count = pixels[i]
        source = array_at(src[i], (count,), like_src)
        target = array_at(dst[i], (count * 3,), like_dst)
        for p in range(count):
            value = np.float32(widen(source[p], like_src))
            target[3 * p] = saturate(w0 * value + b0, like_dst)
            target[3 * p + 1] = saturate(w1 * value + b1, like_dst)
            target[3 * p + 2] = saturate(w2 * value + b2, like_dst)


@kernel
def _swap(src: Array, dst: Array, pixels: Array, like_both: Array) -> None:
    """The first and the third of three channels exchanged."""
    for i in range(src.shape[0]):
        count = pixels[i]
        source = array_at(src[i], (count * 3,), like_both)
        target = array_at(dst[i], (count * 3,), like_both)
        for p in range(count):
            target[3 * p] = source[3 * p + 2]
            target[3 * p + 1] = source[3 * p + 1]
            target[3 * p + 2] = source[3 * p]


@kernel
def _mix(src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, like_src: Array, like_dst: Array) -> None:
    """Any numbers of channels."""
    outputs, inputs = matrix.shape
    for i in range(src.shape[0]):
        count = pixels[i]
        source = array_at(src[i], (count * inputs,), like_src)
        target = array_at(dst[i], (count * outputs,), like_dst)
        for p in range(count):
            for k in range(outputs):
                total = np.float32(0)
                for c in range(inputs):
                    total += matrix[k, c] * np.float32(widen(source[p * inputs + c], like_src))
                target[p * outputs + k] = saturate(total + offset[k], like_dst)


def mix(
    src: Array, dst: Array, pixels: Array, matrix: Array, offset: Array, src_dtype: npt.DTypeLike,
    dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``out = matrix @ in + offset`` with one matrix for all samples, between any numbers of interleaved channels.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    pixels
        ``int64[N]`` pixels of each sample.
    matrix
        ``float32[channels out, channels in]``.
    offset
        ``float32[channels out]``.
    src_dtype, dst_dtype
        Types of the elements.
    """
    counts = np.ascontiguousarray(pixels, np.int64)
    weights = np.ascontiguousarray(matrix, np.float32)
    shift = np.ascontiguousarray(offset, np.float32)
    types = like(src_dtype), like(dst_dtype)
    if weights.shape == (3, 3) and types[0] is types[1] and (weights == _EXCHANGE).all() and not shift.any():
        _swap(src, dst, counts, types[0])
    elif weights.shape == (3, 3):
        every = np.broadcast_to(weights.reshape(9), (len(src), 9)), np.broadcast_to(shift, (len(src), 3))
        linear_rgb(src, dst, counts, *every, src_dtype, dst_dtype)
    elif weights.shape == (1, 3):
        _to_one(src, dst, counts, weights[0], shift[0], *types)
    elif weights.shape == (3, 1):
        _from_one(src, dst, counts, np.ascontiguousarray(weights[:, 0]), shift, *types)
    else:
        _mix(src, dst, counts, weights, shift, *types)
