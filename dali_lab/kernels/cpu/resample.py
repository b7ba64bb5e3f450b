"""Resizing: any filter, region and scale per sample, in one call for a whole chunk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background, resample_plain, resample_planes
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.machine.pixel_vectors import finish_bytes
from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows
from dali_lab.kernels.cpu.resample_filters import CUBIC, GAUSSIAN, LANCZOS3, LINEAR, NN, TRIANGULAR
from dali_lab.kernels.cpu.resample_pixels import pixel_row, plan_pixels, start_picture, takes
from dali_lab.kernels.cpu.resample_rows import ROWS, finish, plan_rows, resample_four_rows, start_frame


@kernel
def _resize(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        frames, height = src_shapes[i, 0], src_shapes[i, 1]
        width, channels = src_shapes[i, 2], src_shapes[i, 3]
        out_height, out_width = dst_shapes[i, 1], dst_shapes[i, 2]
        if min(frames, height, width, channels) == 0 or min(out_height, out_width) == 0:
            continue
        source = array_at(src[i], (frames * height * width * channels,), like_src)
        target = array_at(dst[i], (frames * out_height * out_width * channels,), like_dst)
        window = (0, 0, out_height, out_width)
        plan, turns = plan_rows(
            height, width, channels, out_height, out_width, window, roi[i], minify[i], magnify[i], antialias,
            16 // like_dst.itemsize,
        )  # fmt: skip
        count = out_width * channels
        four = np.empty(ROWS * (count + 4), np.float32)
        for frame in range(frames):
            start_frame(plan)
            for y in range(0, out_height, ROWS):
                ready = resample_four_rows(source, like_src, frame * height * width * channels, y, plan, four)
                for r in range(ready):
                    row = four[r * (count + 4) : r * (count + 4) + count]
                    start = (frame * out_height + y + r) * count
                    goal = target[start : start + count]
                    for k in range(0, 6, 2):
                        for j in range(turns[k], turns[k + 1]):
                            goal[j] = finish(row[j], like_dst)
                        for j in range(turns[k + 1], turns[k + 2]):
                            goal[j] = saturate(row[j], like_dst)


@kernel
def _resize_pixels(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool,
) -> None:  # fmt: skip
    """Uint8 pictures of three channels, or windows of them, with the bits of :func:`_resize`."""
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        out_height, out_width = windows[i, 2], windows[i, 3]
        if min(frames, height) == 0 or out_height == 0:
            continue
        window = (windows[i, 0], windows[i, 1], out_height, out_width)
        plan, levels = plan_pixels(
            height, width, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias, False
        )
        for frame in range(frames):
            start_picture(plan)
            picture = src[i] + frame * height * width * 3
            for y in range(out_height):
                lines, weights, count = pixel_row(picture, y, plan)
                goal = dst[i] + (frame * out_height + y) * out_width * 3
                finish_bytes(lines, weights, count, goal, out_width, levels.ctypes.data)


def resize(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, roi: Array, min_filter: Array, mag_filter: Array,
    antialias: bool, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Resize frames, each sample with its own sizes, region and filters.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes, dst_shapes
        ``int64[N, 4]``: frames, height, width, channels. The frames and the channels of both are the same. Any
        layout of images comes down to this: FHWC as it is, HW with one channel, CHW as C frames of one channel.
    roi
        ``float32[N, 4]``: ``(y0, x0, y1, x1)`` in source pixels; the whole image is ``(0, 0, height, width)``.
        Ends before starts flip; parts outside the image repeat its edge.
    min_filter, mag_filter
        ``int64[N]``: codes of the filters (:data:`NN` and the others) where an axis shrinks, and where it does not.
    antialias
        Whether shrinking widens the filter; a triangular filter then stands for the linear one.
    src_dtype, dst_dtype
        uint8, int8, int16, uint16, float16 or float32 each; NVIDIA DALI has uint8, int16, uint16 and float32, to
        the same type or float32.

    Notes
    -----
    Equal to NVIDIA DALI to the bit, but for regions where DALI errs (:mod:`~dali_lab.kernels.cpu.resample_rows`).
    """
    if np.dtype(src_dtype) == np.dtype(dst_dtype) == np.uint8 and takes(
        src_shapes[:, 3], src_shapes[:, 2], dst_shapes[:, 2]
    ):
        sizes = dst_shapes[:, 1:3]
        whole = np.concatenate([np.zeros_like(sizes), sizes], axis=1)
        resize_windows(src, dst, src_shapes, sizes, whole, roi, min_filter, mag_filter, antialias)
        return
    arguments = (
        rows(src), rows(dst), rows(src_shapes), rows(dst_shapes), rows(roi, np.float32), rows(min_filter),
        rows(mag_filter), antialias, like(src_dtype), like(dst_dtype),
    )  # fmt: skip
    if np.dtype(np.float16) in (np.dtype(src_dtype), np.dtype(dst_dtype)):
        _resize(*arguments)
    else:
        background.call(_resize, *arguments, meanwhile=resample_plain.resize)


def resize_windows(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, min_filter: Array,
    mag_filter: Array, antialias: bool,
) -> None:  # fmt: skip
    """Resize pictures that :func:`takes` accepts, and store a window of each: only that is computed.

    Parameters
    ----------
    sizes
        ``int64[N, 2]``: height and width of the whole results.
    windows
        ``int64[N, 4]``: top, left, height and width of the windows.
    """
    resample_planes.call(
        resample_planes.resize_windows, _resize_pixels, resample_plain.resize_pixels, rows(src), rows(dst),
        rows(src_shapes), rows(sizes), rows(windows), rows(roi, np.float32), rows(min_filter), rows(mag_filter),
        antialias,
    )  # fmt: skip


__all__ = ["CUBIC", "GAUSSIAN", "LANCZOS3", "LINEAR", "NN", "TRIANGULAR", "resize", "resize_windows", "takes"]
