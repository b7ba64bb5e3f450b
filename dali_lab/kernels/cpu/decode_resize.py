"""JPEG pictures decoded and resized one by one, into normalised planes or pixels: what is decoded stays in the cache.

The decoder writes its rows where the resize reads them, with the columns around the window that it decodes anyway, so
that none is copied; columns and first rows that the resize does not read are not decoded. The same bits as
:mod:`~dali_lab.kernels.cpu.machine.jpeg` and then :mod:`~dali_lab.kernels.cpu.resample_planes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background, resample_planes
from dali_lab.kernels.cpu.machine.instructions import cycles, take
from dali_lab.kernels.cpu.machine.jpeg import COLORS, decode_loosely, memory_for
from dali_lab.kernels.cpu.memory import kernel, rows
from dali_lab.kernels.cpu.resample_planes import plan_planes, rows_before
from dali_lab.model.buffers import buffer
from dali_lab.model.undecoded import PIXELS, Undecoded

if TYPE_CHECKING:
    from dali_lab.kernels.cpu.normalize import Resized


_SLACK = 64
"""Bytes behind a picture, so that its last pixels are read like all others."""


@kernel
def _decode_resize(
    functions: Array, structures: Array, addresses: Array, lengths: Array, stored: Array, regions: Array, color: int,
    fast: bool, memory: Array, scratch: Array, dst: Array, sizes: Array, windows: Array, roi: Array, minify: Array,
    magnify: Array, antialias: bool, mirror: Array, mean: Array, inverse: Array, pixels: Array, done: Array,
    taken: Array, most: int,
) -> Any:  # fmt: skip
    """Decode and resize the pictures for which `done` is 1, which is made 0 where that cannot be done here.

    Without means pixels are written to `dst`; where `pixels` are addresses, both are written. Of the pictures that are
    left, `taken` of which were begun already, `most` are done. Returns the share of the time spent on decoding.
    """
    decoding, began = 0, cycles()
    place, box = np.empty(2, np.int64), np.empty(4, np.int64)
    for _ in range(most):
        i = take(taken.ctypes.data)
        if i >= addresses.shape[0]:
            break
        if done[i] == 0 or windows[i, 2] == 0:
            continue
        height, width = regions[i, 2] - regions[i, 0], regions[i, 3] - regions[i, 1]
        window = (windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3])
        fits, plan = plan_planes(
            height, width, sizes[i, 0], sizes[i, 1], window, roi[i], minify[i], magnify[i], antialias,
            mirror[i] != 0 and not pixels.shape[0],
        )  # fmt: skip
        before = cycles()
        # All rows below are decoded, so that damage shows wherever it is.
        top, left, right = rows_before(plan), plan[0][1], plan[0][1] + plan[0][2]
        if fits and lengths[i] == PIXELS:
            place[1] = stored[i, 1] * 3
            place[0] = addresses[i] + (regions[i, 0] + top) * place[1] + (regions[i, 1] + left) * 3
        else:
            box[0], box[1] = regions[i, 0] + top, regions[i, 1] + left
            box[2], box[3] = regions[i, 2], regions[i, 1] + right
            if not fits or not decode_loosely(
                functions, structures, memory, addresses[i], lengths[i], stored.ctypes.data + i * 24, box.ctypes.data,
                color, fast, scratch.ctypes.data, place,
            ):  # fmt: skip
                done[i] = 0
                continue
        decoding += cycles() - before
        picture = place[0] - top * place[1] - left * 3
        if not mean.shape[0]:
            resample_planes.resample_pixels(picture, place[1], plan, 0, 0, dst[i])
            continue
        centre = mean[min(i, mean.shape[0] - 1)].ctypes.data
        factor = inverse[min(i, inverse.shape[0] - 1)].ctypes.data
        if pixels.shape[0]:
            mirrored = mirror[i] != 0
            resample_planes.resample_both(picture, place[1], plan, centre, factor, pixels[i], dst[i], mirrored)
        else:
            resample_planes.resample_planes(picture, place[1], plan, centre, factor, dst[i])
    return decoding / max(1, cycles() - began)


def ready() -> bool:
    """Whether :func:`decode_resize` need not wait for the compiler; if not, it is compiled from now on."""
    one, two, reals = np.zeros(0, np.int64), np.zeros((0, 4), np.int64), np.zeros((0, 4), np.float32)
    return resample_planes.AVAILABLE and background.ready(
        _decode_resize, one, one, one, one, two, two, 0, False, one, np.zeros(0, np.uint8), one, two, two, reals, one,
        one, False, one, reals, reals, one, one, one, 0,
    )  # fmt: skip


def decode_resize(
    pictures: Undecoded,
    dst: Array,
    resized: Resized,
    share: Callable[[Callable[[int], bool]], None] | None = None,
    pixels: Array | None = None,
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Decode, resize, crop, mirror and normalise pictures into float32 planes of three channels, or into pixels.

    Parameters
    ----------
    pictures
        How long decoding them took is added to their `seconds`.
    dst
        ``int64[N]`` addresses.
    resized
        The resize and the rest; means and inverse deviations are of three channels, or not there for pixels of uint8.
    share
        :meth:`~dali_lab.schema.call.Call.share`, where several threads may work on them.
    pixels
        ``int64[N]`` addresses for the resized windows as they are before they are mirrored and normalised.

    Returns
    -------
    numpy.ndarray
        ``bool[N]``: which are done. The others are damaged, or not for this kernel, or it is not compiled yet.
    """
    from dali_lab.codecs.backends import libjpeg

    regions = rows(pictures.windows)
    done = rows(resample_planes.candidates(regions[:, 3] - regions[:, 1], resized.windows[:, 3]))
    if not done.any():
        return np.zeros(len(pictures), np.bool_)
    widths = pictures.stored[:, 1] * 3
    picture_size = int(((regions[:, 2] - regions[:, 0]) * widths).max())
    count, row_bytes, taken = len(pictures), int(widths.max()), np.zeros(1, np.int64)
    pictures_in = (
        *libjpeg.tables(), rows(pictures.addresses), rows(pictures.lengths), rows(pictures.stored), regions,
        COLORS[pictures.color], pictures.use_fast_idct,
    )  # fmt: skip
    planes_out = (
        rows(dst), *resized.tables(), rows(resized.mirror), rows(resized.mean, np.float32),
        rows(resized.inverse, np.float32), rows(np.zeros(0, np.int64) if pixels is None else pixels), done, taken,
    )  # fmt: skip
    parts: list[tuple[float, float]] = []

    def work(most: int) -> bool:
        began = time.perf_counter()
        space = memory_for(row_bytes), buffer(picture_size + _SLACK)
        arguments: Any = (*pictures_in, *space, *planes_out, most)
        decoding = _decode_resize(*arguments)
        spent = time.perf_counter() - began
        parts.append((spent, spent * decoding))
        return bool(taken[0] < count)

    if not ready():
        return np.zeros(count, np.bool_)
    began = time.perf_counter()
    if share is None:
        work(count)
    else:
        share(work)
    spent, decoding = (sum(times) for times in zip(*parts, strict=True))
    pictures.seconds += (time.perf_counter() - began) * decoding / max(spent, 1e-9)
    return done.astype(np.bool_)
