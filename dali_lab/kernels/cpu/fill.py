"""Filling boxes of samples with a value for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.memory import array_at, kernel, like_size

Array = np.ndarray[Any, Any]


@kernel
def _fill_boxes(
    dst: Array, shapes: Array, owner: Array, low: Array, high: Array, values: Array, value_axis: int, like_item: Array
) -> None:
    ndim = shapes.shape[1]
    index = np.empty(ndim, np.int64)
    for k in range(owner.shape[0]):
        i = owner[k]
        total = 1
        empty = False
        for d in range(ndim):
            total *= shapes[i, d]
            if low[k, d] >= high[k, d]:
                empty = True
        if empty:
            continue
        target = array_at(dst[i], (total,), like_item)
        for d in range(ndim):
            index[d] = low[k, d]
        last = ndim - 1
        while True:
            at = 0
            for d in range(last):
                at = at * shapes[i, d] + index[d]
            at = at * shapes[i, last]
            if value_axis == last:
                for x in range(low[k, last], high[k, last]):
                    target[at + x] = values[i, x]
            else:
                value = values[i, index[value_axis] if value_axis >= 0 else 0]
                for x in range(low[k, last], high[k, last]):
                    target[at + x] = value
            d = last - 1
            while d >= 0:
                index[d] += 1
                if index[d] < high[k, d]:
                    break
                index[d] = low[k, d]
                d -= 1
            if d < 0:
                break


def fill_boxes(
    dst: Array, shapes: Array, owner: Array, low: Array, high: Array, values: Array, value_axis: int, item_size: int
) -> None:
    """Fill boxes in place.

    Parameters
    ----------
    dst, shapes
        ``int64[N]`` addresses and ``int64[N, ndim]`` shapes of the samples.
    owner
        ``int64[K]``, the sample of each box.
    low, high
        ``int64[K, ndim]``, half-open boxes inside their samples.
    values
        Elements as unsigned integers of `item_size` bytes, ``[N, V]``.
    value_axis
        Axis along which the values go, or −1 to use the first one everywhere.
    item_size
        Bytes of an element: 1, 2, 4 or 8.
    """
    item = like_size(item_size)
    _fill_boxes(
        dst,
        np.ascontiguousarray(shapes, np.int64),
        np.ascontiguousarray(owner, np.int64),
        np.ascontiguousarray(low, np.int64),
        np.ascontiguousarray(high, np.int64),
        np.ascontiguousarray(values, item.dtype),
        value_axis,
        item,
    )
