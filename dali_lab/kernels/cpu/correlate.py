"""Correlation of images and volumes with any window of their own, as ``fn.filter`` does.

What NVIDIA DALI does: products are summed in float32, and whole-number results are rounded half to even and clamped.
It leaves that to OpenCV, which fuses products and sums for whole vectors of a row (:func:`lanes`) and rounds them one
by one in the rest of it. Windows of more than 50 elements (130 where both types are UINT8 or FLOAT) it takes to the
domain of Fourier instead, whose errors are not followed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array, Extents, Real
from dali_lab.kernels.cpu.borders import BORDERS, place_of
from dali_lab.kernels.cpu.convert import saturate
from dali_lab.kernels.cpu.machine.instructions import fused_multiply_add
from dali_lab.kernels.cpu.memory import array_at, kernel, like, part, rows
from dali_lab.kernels.cpu.resample_rows import widen_row


def lanes(src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike) -> int:
    """The elements of a vector in which OpenCV fuses products and sums; 0 where it does not."""
    if np.dtype(src_dtype) == np.dtype(dst_dtype):
        return 8 if np.dtype(src_dtype).kind == "f" else 4
    return 0


@part
def _pad(
    source: Array, like_src: Array, start: int, sizes: Extents, channels: int, anchor: Extents, padded: Array,
    extents: Extents, border: int, fill: Real,
) -> None:  # fmt: skip
    """An image or volume as float32, continued on all sides."""
    depth, height, width = sizes
    az, ay, ax = anchor
    pitch = extents[2] * channels
    for z in range(extents[0]):
        from_z = place_of(z - az, depth, border)
        for y in range(extents[1]):
            from_y = place_of(y - ay, height, border)
            base = (z * extents[1] + y) * pitch
            if from_z < 0 or from_y < 0:
                padded[base : base + pitch] = fill
                continue
            at = start + (from_z * height + from_y) * width * channels
            widen_row(source, like_src, at, padded, base + ax * channels, width * channels)
            for x in range(extents[2]):
                if ax <= x < ax + width:
                    continue
                from_x = place_of(x - ax, width, border)
                for c in range(channels):
                    padded[base + x * channels + c] = (
                        fill if from_x < 0 else padded[base + (ax + from_x) * channels + c]
                    )


@part
def _sum(padded: Array, offsets: Array, window: Array, n: int, line: Array, fused: int, count: int) -> None:
    """Products with the window's elements at `offsets` of a row, added up one element after the other."""
    line[:count] = 0
    k = 0
    while k + 4 <= n:
        a = padded[offsets[k] : offsets[k] + count]
        b = padded[offsets[k + 1] : offsets[k + 1] + count]
        c = padded[offsets[k + 2] : offsets[k + 2] + count]
        d = padded[offsets[k + 3] : offsets[k + 3] + count]
        wa, wb, wc, wd = window[k], window[k + 1], window[k + 2], window[k + 3]
        for j in range(fused):
            total = fused_multiply_add(b[j], wb, fused_multiply_add(a[j], wa, line[j]))
            line[j] = fused_multiply_add(d[j], wd, fused_multiply_add(c[j], wc, total))
        for j in range(fused, count):
            line[j] = line[j] + a[j] * wa + b[j] * wb + c[j] * wc + d[j] * wd
        k += 4
    while k < n:
        a = padded[offsets[k] : offsets[k] + count]
        for j in range(fused):
            line[j] = fused_multiply_add(a[j], window[k], line[j])
        for j in range(fused, count):
            line[j] = line[j] + a[j] * window[k]
        k += 1


@kernel
def _correlate(
    src: Array, dst: Array, shapes: Array, outs: Array, windows: Array, lengths: Array, anchors: Array, fills: Array,
    border: int, lanes: int, whole: bool, like_src: Array, like_dst: Array, like_window: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        planes, depth, height, width, channels = (
            shapes[i, 0], shapes[i, 1], shapes[i, 2], shapes[i, 3], shapes[i, 4],
        )  # fmt: skip
        volume = depth * height * width * channels
        out_depth, out_height, out_width = outs[i, 0], outs[i, 1], outs[i, 2]
        count = out_width * channels
        fused = count - count % lanes if lanes else 0
        if planes * volume == 0:
            continue
        source = array_at(src[i], (planes * volume,), like_src)
        target = array_at(dst[i], (planes * out_depth * out_height * count,), like_dst)
        nz, ny, nx = lengths[i, 0], lengths[i, 1], lengths[i, 2]
        taps = nz * ny * nx
        window = array_at(windows[i], (taps,), like_window)
        extents = (out_depth + nz - 1, out_height + ny - 1, out_width + nx - 1)
        pitch = extents[2] * channels
        padded = np.empty(extents[0] * extents[1] * pitch, np.float32)
        inside = np.empty(taps, np.int64)
        for k in range(taps):
            inside[k] = (k // (ny * nx) * extents[1] + k // nx % ny) * pitch + k % nx * channels
        offsets = np.empty(taps, np.int64)
        line = np.empty(count, np.float32)
        for plane in range(planes):
            _pad(
                source, like_src, plane * volume, (depth, height, width), channels,
                (anchors[i, 0], anchors[i, 1], anchors[i, 2]), padded, extents, border, fills[i],
            )  # fmt: skip
            for z in range(out_depth):
                for y in range(out_height):
                    for k in range(taps):
                        offsets[k] = inside[k] + (z * extents[1] + y) * pitch
                    _sum(padded, offsets, window, taps, line, fused, count)
                    to = ((plane * out_depth + z) * out_height + y) * count
                    goal = target[to : to + count]
                    for j in range(count):
                        goal[j] = saturate(np.rint(line[j]) if whole else line[j], like_dst)


def correlate(
    src: Array, dst: Array, shapes: Array, outs: Array, windows: Array, lengths: Array, anchors: Array, fills: Array,
    border: str, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Sums of products with a window.

    Parameters
    ----------
    src, dst, windows
        ``int64[N]`` addresses; windows are float32.
    shapes
        ``int64[N, 5]``: planes, depth, height, width, channels; an image has the depth 1.
    outs
        ``int64[N, 3]``: depth, height and width of the results.
    lengths
        ``int64[N, 3]``: depth, height and width of the windows.
    anchors
        ``int64[N, 3]``: the element of a window that lies on the result's place; 0 where results are only wanted for
        places at which the window lies inside.
    fills
        ``float32[N]``: what lies outside with the border ``"constant"``.
    border
        ``"reflect_101"``, ``"reflect_1001"``, ``"wrap"``, ``"clamp"`` or ``"constant"``.
    """
    _correlate(
        rows(src), rows(dst), rows(shapes), rows(outs), rows(windows), rows(lengths), rows(anchors),
        rows(fills, np.float32), BORDERS[border],
        lanes(src_dtype, dst_dtype), np.dtype(dst_dtype).kind in "iu", like(src_dtype), like(dst_dtype),
        like(np.float32),
    )  # fmt: skip
