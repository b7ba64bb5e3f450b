"""Erasing boxes: a copy of each sample with regions overwritten.

What NVIDIA DALI does: a region covers ``floor(anchor)`` to ``floor(anchor + shape)`` along each of its axes (all of
the others), in float32, after relative values are multiplied by the extent and half the shape is taken from a
centred anchor. Fill values lose their fraction, and wrap around where they do not fit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, like_size, rows
from dali_lab.kernels.streams import truncated


@kernel
def _erase(
    src: Array, dst: Array, shapes: Array, starts: Array, stops: Array, fill: Array, fill_axis: int, item: Array
) -> None:
    ndim = shapes.shape[1]
    index = np.zeros(ndim, np.int64)
    strides = np.empty(ndim, np.int64)
    for i in range(src.shape[0]):
        total = 1
        for d in range(ndim - 1, -1, -1):
            strides[d] = total
            total *= shapes[i, d]
        if total == 0:
            continue
        target = array_at(dst[i], (total,), item)
        if src[i] != dst[i]:
            source = array_at(src[i], (total,), item)
            for j in range(total):
                target[j] = source[j]
        values = fill[min(i, fill.shape[0] - 1)]
        for region in range(starts.shape[1]):
            start, stop = starts[i, region], stops[i, region]
            base = 0
            empty = False
            for d in range(ndim):
                index[d] = start[d]
                base += start[d] * strides[d]
                empty = empty or stop[d] <= start[d]
            if empty:
                continue
            # Trailing axes that a region covers whole are one run, unless the fill value changes along them.
            run = 1
            last = ndim - 1
            while last >= 0 and last != fill_axis and start[last] == 0 and stop[last] == shapes[i, last]:
                run *= shapes[i, last]
                last -= 1
            if last >= 0 and last != fill_axis:
                run *= stop[last] - start[last]
                last -= 1
            while True:
                value = values[min(index[fill_axis], values.shape[0] - 1)] if fill_axis >= 0 else values[0]
                line = target[base : base + run]
                for j in range(run):
                    line[j] = value
                d = last
                while d >= 0:
                    index[d] += 1
                    base += strides[d]
                    if index[d] < stop[d]:
                        break
                    base -= strides[d] * (stop[d] - start[d])
                    index[d] = start[d]
                    d -= 1
                if d < 0:
                    break


def erase(
    src: Array, dst: Array, shapes: Array, starts: Array, stops: Array, fill: Array, dtype: npt.DTypeLike, *,
    fill_axis: int = -1,
) -> None:  # fmt: skip
    """Copy samples and overwrite regions of them.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses; the same address erases in place.
    shapes
        ``int64[N, ndim]``.
    starts, stops
        ``int64[N, R, ndim]``, within the samples: see :func:`erase_regions`. Empty regions do nothing.
    fill
        ``float32[K]``, or ``[N, K]`` for values of each sample.
    dtype
        Any.
    fill_axis
        Axis along which `fill` has its values; -1 if there is one value.
    """
    item = like_size(np.dtype(dtype).itemsize)
    elements = rows(fill_elements(fill, dtype), item.dtype)
    _erase(rows(src), rows(dst), rows(shapes), rows(starts), rows(stops), elements, fill_axis, item)


def fill_elements(fill: Array, dtype: npt.DTypeLike) -> Array:
    """Fill values as the bytes of elements, ``[N or 1, K]``; see :func:`dali_lab.kernels.streams.truncated`."""
    kind = np.dtype(dtype)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(truncated(np.atleast_2d(fill), kind)).view(f"u{kind.itemsize}")


def erase_regions(
    anchors: Array, extents: Array, axes: tuple[int, ...], shapes: Array, *, normalized_anchor: bool = False,
    normalized_shape: bool = False, centered: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """Starts and stops of regions in whole elements, clipped to the samples: two ``int64[N, R, ndim]``.

    Parameters
    ----------
    anchors, extents
        ``float32[N, R, A]`` along `axes`; pad the regions of a sample with extents of zero.
    axes
        The axes that regions are bounded along.
    shapes
        ``int64[N, ndim]``.
    normalized_anchor, normalized_shape
        Whether the values are shares of the sample's extent.
    centered
        Whether an anchor is the middle of its region rather than its start.
    """
    sizes = np.asarray(shapes, np.int64)
    first = np.asarray(anchors, np.float32)
    extent = np.asarray(extents, np.float32)
    whole = sizes[:, None, list(axes)].astype(np.float32)
    if normalized_anchor:
        first = first * whole
    if normalized_shape:
        extent = extent * whole
    if centered:
        first = first - extent * np.float32(0.5)
    limit = np.broadcast_to(sizes[:, None, :], (sizes.shape[0], first.shape[1], sizes.shape[1]))
    starts, stops = np.zeros_like(limit), limit.copy()
    bound = limit[:, :, list(axes)]
    starts[:, :, list(axes)] = np.clip(np.floor(first), 0, bound)
    stops[:, :, list(axes)] = np.clip(np.floor(first + extent), 0, bound)
    return starts, stops
