"""Pasting regions of images into others, with conversion."""

from __future__ import annotations

import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.convert import saturate, widen
from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows


@kernel
def _paste(
    canvases: Array, sizes: Array, src: Array, dst: Array, pitches: Array, heights: Array, widths: Array,
    like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    for i in range(canvases.shape[0]):
        canvas = array_at(canvases[i], (sizes[i],), like_dst)
        for j in range(sizes[i]):
            canvas[j] = 0
    for k in range(src.shape[0]):
        width = widths[k]
        for row in range(heights[k]):
            source = array_at(src[k] + row * pitches[k, 0], (width,), like_src)
            target = array_at(dst[k] + row * pitches[k, 1], (width,), like_dst)
            for j in range(width):
                target[j] = saturate(widen(source[j], like_src), like_dst)


def paste_regions(
    canvases: Array, sizes: Array, src: Array, dst: Array, pitches: Array, heights: Array, widths: Array,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Set canvases to zero, then paste regions one after the other.

    Parameters
    ----------
    canvases, sizes
        ``int64[N]``: address and number of elements of each canvas.
    src, dst
        ``int64[K]``: address of the first element of each region, in its image and in its canvas.
    pitches
        ``int64[K, 2]``: bytes from a row to the next one, in the image and in the canvas.
    heights, widths
        ``int64[K]``: rows of a region, and elements of each of them.
    src_dtype, dst_dtype
        Types of the elements; values are rounded and clamped.
    """
    _paste(
        rows(canvases), rows(sizes), rows(src), rows(dst), rows(pitches), rows(heights), rows(widths),
        like(src_dtype), like(dst_dtype),
    )  # fmt: skip
