"""Crop, mirror and normalise in one pass over the output, alone or right after a resize.

What NVIDIA DALI does: ``out = (in - mean) * scale / std + shift``, computed in float32 as
``(in - centre) * inverse`` with ``inverse = scale / std`` and ``centre = mean - shift * std / scale`` (in double, then
rounded), then the saturating conversion. The window is cropped (and padded) first, the mirror reverses all of it.
Elements outside the sample, and channels that `pad_output` adds, have the fill value of their channel, which is not
normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background, resample_plain, resample_planes
from dali_lab.kernels.cpu.convert import saturate, whole_level, widen
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.pixel_vectors import (
    ROW_STEP,
    finish_normalized,
    normalize_mirrored_row,
    normalize_row,
)
from dali_lab.kernels.cpu.memory import array_at, kernel, like, part, rows
from dali_lab.kernels.cpu.resample_pixels import pixel_row, plan_pixels, start_picture, takes
from dali_lab.kernels.cpu.resample_rows import ROWS, plan_rows, resample_four_rows, start_frame


def normalization(
    mean: npt.ArrayLike, std: npt.ArrayLike, scale: npt.ArrayLike = 1.0, shift: npt.ArrayLike = 0.0
) -> tuple[Array, Array]:
    """The ``float32`` mean and inverse deviation that :func:`crop_mirror_normalize` takes.

    All arguments broadcast; scalars and vectors of channels are the usual ones.
    """
    mean, std, scale, shift = (np.asarray(value, np.float32) for value in (mean, std, scale, shift))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inverse = scale / std
        wide = mean.astype(np.float64) - shift.astype(np.float64) * std / scale
        moved = np.where(shift == 0, mean, wide.astype(np.float32))
    mean, inverse = np.broadcast_arrays(moved, inverse)
    return np.array(mean, np.float32), np.array(inverse, np.float32)


@part
def _normalize_row(
    source: Array, like_src: Array, at: int, step: int, channel_step: int, count: int, channels: int,
    mean: Array, inverse: Array,
    target: Array, like_dst: Array, to: int, pitch: int, channel_pitch: int,
) -> None:  # fmt: skip
    """Normalise a row of `count` pixels from strided to strided memory."""
    for c in range(channels):
        centre = mean[min(c, mean.shape[0] - 1)]
        factor = inverse[min(c, inverse.shape[0] - 1)]
        one = at + c * channel_step
        two = to + c * channel_pitch
        if pitch == 1 and step == 3:
            goal = target[two : two + count]
            for x in range(count):
                value = np.float32(widen(source[np.uintp(one + 3 * x)], like_src))
                goal[x] = saturate((value - centre) * factor, like_dst)
        elif pitch == 1 and step == -3:
            goal = target[two : two + count]
            for x in range(count):
                value = np.float32(widen(source[np.uintp(one - 3 * x)], like_src))
                goal[x] = saturate((value - centre) * factor, like_dst)
        elif pitch == 1 and step == 1:
            goal = target[two : two + count]
            line = source[one : one + count]
            for x in range(count):
                value = np.float32(widen(line[x], like_src))
                goal[x] = saturate((value - centre) * factor, like_dst)
        else:
            for x in range(count):
                value = np.float32(widen(source[np.uintp(one + step * x)], like_src))
                target[np.uintp(two + pitch * x)] = saturate((value - centre) * factor, like_dst)


@part
def _clear_row(
    target: Array, to: int, pitch: int, channel_pitch: int, count: int, all_channels: int, fill: Array
) -> None:
    """Write the fill value of each channel; the last one counts for the channels beyond them."""
    for c in range(all_channels):
        two = to + c * channel_pitch
        value = fill[min(c, fill.shape[0] - 1)]
        for x in range(count):
            target[np.uintp(two + pitch * x)] = value


@kernel
def _crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, windows: Array, mirror: Array, mean: Array, inverse: Array,
    fill: Array, out_channels: int, planar_src: bool, planar_dst: bool, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        frames, height, width, channels = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2], src_shapes[i, 3]
        top, left, out_height, out_width = windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3]
        size_in = height * width * channels
        size_out = out_height * out_width * out_channels
        if frames * size_out == 0:
            continue
        source = array_at(src[i], (frames * size_in,), like_src)
        target = array_at(dst[i], (frames * size_out,), like_dst)
        centre = mean[min(i, mean.shape[0] - 1)]
        factor = inverse[min(i, inverse.shape[0] - 1)]
        padding = fill[min(i, fill.shape[0] - 1)]
        step, channel_step = (1, height * width) if planar_src else (channels, 1)
        pitch, channel_pitch = (1, out_height * out_width) if planar_dst else (out_channels, 1)
        # The columns that exist, as positions in the output: mirrored, the window is read from its right end.
        first = min(max(-left, 0), out_width)
        last = max(first, min(out_width, width - left))
        column = left + first
        walk = step
        if mirror[i]:
            column = left + last - 1
            first, last = out_width - last, out_width - first
            walk = -step
        for frame in range(frames):
            for y in range(out_height):
                to = frame * size_out + y * out_width * pitch
                row = top + y
                inside = row >= 0 and row < height and last > first
                if not inside or first > 0 or last < out_width or out_channels > channels:
                    _clear_row(target, to, pitch, channel_pitch, out_width, out_channels, padding)
                if inside:
                    at = frame * size_in + (row * width + column) * step
                    _normalize_row(
                        source, like_src, at, walk, channel_step, last - first, channels, centre, factor,
                        target, like_dst, to + first * pitch, pitch, channel_pitch,
                    )  # fmt: skip


@kernel
def _crop_mirror_normalize_pixels(
    src: Array, dst: Array, src_shapes: Array, windows: Array, mirror: Array, mean: Array, inverse: Array
) -> None:
    """Windows inside uint8 pictures of three channels to float32 planes, with the bits of the general kernel.

    `mean` and `inverse` are those of :func:`_lanes`.
    """
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        top, left, out_height, out_width = windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3]
        centre = mean[min(i, mean.shape[0] - 1)].ctypes.data
        factor = inverse[min(i, inverse.shape[0] - 1)].ctypes.data
        plane = out_height * out_width * 4
        for frame in range(frames):
            for y in range(out_height):
                row = src[i] + ((frame * height + top + y) * width + left) * 3
                goal = dst[i] + frame * 3 * plane + y * out_width * 4
                if mirror[i]:
                    normalize_mirrored_row(row, centre, factor, goal, plane, out_width)
                else:
                    normalize_row(row, centre, factor, goal, plane, out_width)


def _are_inside(src_shapes: Array, windows: Array) -> bool:
    """Whether pictures have three channels and windows lie within them, wide enough for the vectors."""
    table, cut = np.asarray(src_shapes), np.asarray(windows)
    if not (uses("vectors") and len(table) and (table[:, 3] == 3).all() and cut[:, 3].min() >= ROW_STEP):
        return False
    return bool(cut[:, :2].min() >= 0 and (cut[:, :2] + cut[:, 2:] <= table[:, 1:3]).all())


def crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, windows: Array, mirror: Array, mean: Array, inverse: Array,
    src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *, out_channels: int, planar_src: bool = False,
    planar_dst: bool = False, fill: Array | None = None,
) -> None:  # fmt: skip
    """Crop, mirror and normalise frames, changing dtype and the place of the channels.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes
        ``int64[N, 4]``: frames, height, width, channels, in this order whatever the layout. Frames stay outermost
        on both sides (for CDHW and the like, see Notes).
    windows
        ``int64[N, 4]``: top, left, height, width; may leave the image.
    mirror
        ``int64[N]``, not zero to reverse left and right.
    mean, inverse
        ``float32[M, C]`` from :func:`normalization`, with M of N or 1 and C of the channels or 1.
    src_dtype, dst_dtype
        Any; NVIDIA DALI has uint8, int16, uint16, int32, float16 and float32 to uint8, int8, float16 and float32.
    out_channels
        Channels of the output; those beyond the input's have their fill value.
    planar_src, planar_dst
        Whether channels come before height and width (CHW) rather than after (HWC).
    fill
        ``dst_dtype[M, C]``, for what is outside the image, and for channels beyond the input's; zeros where not
        given, and the last one for all channels that follow.

    Notes
    -----
    Equal to NVIDIA DALI, to the bit. For volumes take depth as frames where channels come last on both sides.
    """
    floats = np.dtype(src_dtype) == np.uint8 and np.dtype(dst_dtype) == np.float32
    if floats and planar_dst and not planar_src and out_channels == 3 and _are_inside(src_shapes, windows):
        _crop_mirror_normalize_pixels(
            rows(src), rows(dst), rows(src_shapes), rows(windows), rows(mirror), _lanes(mean), _lanes(inverse)
        )
        return
    stand = like(dst_dtype)
    values = np.zeros((1, 1), dst_dtype) if fill is None else np.atleast_2d(np.array(fill, dst_dtype))
    _crop_mirror_normalize(
        rows(src), rows(dst), rows(src_shapes), rows(windows), rows(mirror), _matrix(mean), _matrix(inverse),
        rows(values.view(stand.dtype), stand.dtype),
        out_channels, planar_src, planar_dst, like(src_dtype), stand,
    )  # fmt: skip


def _matrix(values: Array) -> Array:
    return rows(np.atleast_2d(np.asarray(values, np.float32)), np.float32)


@kernel
def _resize_crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, rounded: bool, mirror: Array, mean: Array, inverse: Array, out_channels: int, planar_dst: bool,
    like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    nothing = np.zeros(1, like_dst.dtype)
    plain = np.empty(0, np.float32)
    for i in range(src.shape[0]):
        frames, height, width, channels = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2], src_shapes[i, 3]
        out_height, out_width = windows[i, 2], windows[i, 3]
        size_in = height * width * channels
        size_out = out_height * out_width * out_channels
        if frames * size_in == 0 or size_out == 0:
            continue
        source = array_at(src[i], (frames * size_in,), like_src)
        target = array_at(dst[i], (frames * size_out,), like_dst)
        centre = mean[min(i, mean.shape[0] - 1)]
        factor = inverse[min(i, inverse.shape[0] - 1)]
        window = (windows[i, 0], windows[i, 1], out_height, out_width)
        plan, turns = plan_rows(
            height, width, channels, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias, 16
        )
        pitch, channel_pitch = (1, out_height * out_width) if planar_dst else (out_channels, 1)
        start, step = ((out_width - 1) * channels, -channels) if mirror[i] else (0, channels)
        row_pitch = out_width * channels + 4
        four = np.empty(ROWS * row_pitch, np.float32)
        for frame in range(frames):
            start_frame(plan)
            for y in range(0, out_height, ROWS):
                ready = resample_four_rows(source, like_src, frame * size_in, y, plan, four)
                if rounded:
                    for r in range(ready):
                        row = four[r * row_pitch : (r + 1) * row_pitch]
                        for k in range(0, 6, 2):
                            for j in range(turns[k], turns[k + 1]):
                                row[j] = np.rint(min(max(row[j], np.float32(0)), np.float32(255)))
                            for j in range(turns[k + 1], turns[k + 2]):
                                row[j] = whole_level(row[j])
                for r in range(ready):
                    to = frame * size_out + (y + r) * out_width * pitch
                    if out_channels > channels:
                        _clear_row(target, to, pitch, channel_pitch, out_width, out_channels, nothing)
                    _normalize_row(
                        four, plain, r * row_pitch + start, step, 1, out_width, channels, centre, factor,
                        target, like_dst, to, pitch, channel_pitch,
                    )  # fmt: skip


@kernel
def _resize_crop_mirror_normalize_pixels(
    src: Array, dst: Array, src_shapes: Array, sizes: Array, windows: Array, roi: Array, minify: Array, magnify: Array,
    antialias: bool, mirror: Array, mean: Array, inverse: Array,
) -> None:  # fmt: skip
    """Uint8 pictures of three channels to float32 planes, with the bits of the general kernel.

    `mean` and `inverse` are ``float32[M, 8]``: three channels and a lane that is not used, twice.
    """
    for i in range(src.shape[0]):
        frames, height, width = src_shapes[i, 0], src_shapes[i, 1], src_shapes[i, 2]
        out_height, out_width = windows[i, 2], windows[i, 3]
        if frames * height == 0 or out_height == 0:
            continue
        window = (windows[i, 0], windows[i, 1], out_height, out_width)
        plan, levels = plan_pixels(
            height, width, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias, mirror[i] != 0
        )
        centre = mean[min(i, mean.shape[0] - 1)].ctypes.data
        factor = inverse[min(i, inverse.shape[0] - 1)].ctypes.data
        plane = out_height * out_width * 4
        for frame in range(frames):
            start_picture(plan)
            picture = src[i] + frame * height * width * 3
            for y in range(out_height):
                lines, weights, count = pixel_row(picture, y, plan)
                goal = dst[i] + frame * 3 * plane + y * out_width * 4
                finish_normalized(lines, weights, count, centre, factor, goal, plane, out_width, levels.ctypes.data)


def _lanes(values: Array) -> Array:
    """One to three channels as the two pixels of four lanes that a vector holds."""
    table = _matrix(values)
    return np.ascontiguousarray(table[:, np.minimum([0, 1, 2, 2, 0, 1, 2, 2], table.shape[1] - 1)])


@dataclass(frozen=True)
class Resized:
    """Resize, crop, mirror and normalisation of each picture.

    Attributes
    ----------
    sizes
        ``int64[N, 2]``: height and width of the resized picture.
    windows
        ``int64[N, 4]``: top, left, height, width of the crop; inside the resized picture.
    roi, min_filter, mag_filter, antialias
        As in :func:`~dali_lab.kernels.cpu.resample.resize`.
    mirror, mean, inverse
        As in :func:`crop_mirror_normalize`.
    """

    sizes: Array
    windows: Array
    roi: Array
    min_filter: Array
    mag_filter: Array
    antialias: bool
    mirror: Array
    mean: Array
    inverse: Array

    def take(self, chosen: Array) -> Resized:
        """The tables of some of the pictures."""
        tables = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        own: dict[str, Any] = {name: table[chosen] for name, table in tables.items() if len(table) == len(self.sizes)}
        return replace(self, **own)

    def tables(self) -> tuple[Any, ...]:
        """Tables of resize and crop, as kernels take them."""
        return (
            rows(self.sizes), rows(self.windows), rows(self.roi, np.float32), rows(self.min_filter),
            rows(self.mag_filter), self.antialias,
        )  # fmt: skip


def resize_crop_mirror_normalize(
    src: Array, dst: Array, src_shapes: Array, resized: Resized, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike, *,
    out_channels: int, planar_dst: bool, rounded: bool = True,
) -> None:  # fmt: skip
    """Resize, crop, mirror and normalise in one pass: exactly what the two operators give one after the other.

    Only the rows and columns inside the crop are computed, and the resized image is never stored.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes
        ``int64[N, 4]``: frames, height, width, channels; channels come last in memory.
    resized
        Resize, crop, mirror and normalisation.
    out_channels, planar_dst
        As in :func:`crop_mirror_normalize`.
    src_dtype, dst_dtype
        uint8 to uint8, float16 or float32 are the usual ones.
    rounded
        Whether the resized image would have been stored as uint8: its values are rounded and clamped in between.
    """
    floats = np.dtype(src_dtype) == np.uint8 and np.dtype(dst_dtype) == np.float32
    if floats and rounded and planar_dst and out_channels == 3 and takes(
        src_shapes[:, 3], src_shapes[:, 2], resized.windows[:, 3]
    ):  # fmt: skip
        resample_planes.call(
            resample_planes.resize_crop_mirror_normalize, _resize_crop_mirror_normalize_pixels,
            resample_plain.resize_crop_mirror_normalize_pixels, rows(src), rows(dst), rows(src_shapes),
            *resized.tables(), rows(resized.mirror), _lanes(resized.mean), _lanes(resized.inverse),
        )  # fmt: skip
        return
    general: Any = (
        rows(src), rows(dst), rows(src_shapes), *resized.tables(), rounded, rows(resized.mirror), _matrix(resized.mean),
        _matrix(resized.inverse), out_channels, planar_dst, like(src_dtype), like(dst_dtype),
    )  # fmt: skip
    if np.dtype(src_dtype) == np.float16 or np.dtype(dst_dtype) != np.float32:
        _resize_crop_mirror_normalize(*general)
    else:
        background.call(_resize_crop_mirror_normalize, *general, meanwhile=resample_plain.resize_crop_mirror_normalize)
