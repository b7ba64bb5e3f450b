"""Operands repeated along axes of one element, to the shapes of results that differ from sample to sample."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.memory import array_at, kernel, like_size, part, rows


def stretch(src: Array, dst: Array, shapes: Array, stretched: Array, item_size: int) -> None:
    """Repeat samples along the axes in which they have one element and the result more.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes, stretched
        ``int64[N, ndim]``: shapes of the samples and of the results.
    item_size
        Bytes of an element.
    """
    _stretch(rows(src), rows(dst), rows(shapes), rows(stretched), like_size(item_size))


def ready(item_size: int) -> bool:
    """Whether :func:`stretch` need not wait for the compiler; if not, it is being compiled from now on."""
    table, shapes = np.zeros(0, np.int64), np.zeros((0, 1), np.int64)
    return background.ready(_stretch, table, table, shapes, shapes, like_size(item_size))


@part
def _repeat(target: Array, start: int, count: int, total: int) -> None:
    """Repeat the `count` elements from `start` on until they are `total`."""
    filled = count
    while filled < total:
        more = min(filled, total - filled)
        for k in range(more):
            target[start + filled + k] = target[start + k]
        filled += more


@part
def _stretch_sample(source: Array, target: Array, shape: Array, wanted: Array, steps: Array, place: Array) -> None:
    """One sample; `steps` and `place` are memory for a number for each axis."""
    step = 1
    for d in range(shape.shape[0] - 1, -1, -1):
        steps[d] = 0 if shape[d] == 1 else step
        step *= shape[d]
        place[d] = 0
    # The last axes as they are, and those before them that repeat them, are written together.
    outer, count = shape.shape[0], 1
    while outer > 0 and shape[outer - 1] == wanted[outer - 1]:
        outer -= 1
        count *= shape[outer]
    unit = count
    while outer > 0 and shape[outer - 1] == 1:
        outer -= 1
        unit *= wanted[outer]
    at, start = 0, 0
    while start < target.shape[0]:
        for k in range(count):
            target[start + k] = source[at + k]
        _repeat(target, start, count, unit)
        start += unit
        for d in range(outer - 1, -1, -1):
            place[d] += 1
            at += steps[d]
            if place[d] < wanted[d]:
                break
            at -= steps[d] * wanted[d]
            place[d] = 0


@kernel
def _stretch(src: Array, dst: Array, shapes: Array, stretched: Array, like: Array) -> None:
    ndim = shapes.shape[1]
    steps, place = np.empty(ndim, np.int64), np.empty(ndim, np.int64)
    for i in range(src.shape[0]):
        size, total = 1, 1
        for d in range(ndim):
            size *= shapes[i, d]
            total *= stretched[i, d]
        if total:
            source, target = array_at(src[i], (size,), like), array_at(dst[i], (total,), like)
            _stretch_sample(source, target, shapes[i], stretched[i], steps, place)
