"""The least and the largest elements along axes."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array, Number
from dali_lab.kernels.cpu.memory import array_at, kernel, part
from dali_lab.kernels.cpu.totals import LANES, SHORT, group_of, lanes_of, results_of

LEAST, LARGEST = range(2)


@part
def _keep_extremes(kind: int, row: Array, result: Array) -> None:
    if kind == LEAST:
        for k in range(row.shape[0]):
            result[k] = row[k] if row[k] < result[k] else result[k]
    else:
        for k in range(row.shape[0]):
            result[k] = row[k] if row[k] > result[k] else result[k]


@part
def extremes_of_block(kind: int, block: Array, result: Array, lanes: Array, limit: Number) -> None:
    """Take a block of rows of as many elements as there are results into them."""
    kept = result.shape[0]
    wide = lanes_of(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        best = lanes[:wide]
        best[:] = limit
        for row in range(rows):
            _keep_extremes(kind, block[row * wide : (row + 1) * wide], best)
        for start in range(0, wide, kept):
            _keep_extremes(kind, best[start : start + kept], result)
        block = block[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _keep_extremes(kind, block[start : start + kept], result)


@kernel
def extremes(kind: int, src: Array, dst: Array, extents: Array, limit: Number, like_src: Array) -> None:
    """The least or the largest number for each result, not beyond `limit`; NaN is passed over."""
    lanes = np.empty(LANES, like_src.dtype)
    for i in range(src.shape[0]):
        kept = extents[i, -1]
        size = extents[i, -2] * kept
        count, total = results_of(extents[i]), extents[i].prod()
        if count == 0:
            continue
        x = array_at(src[i], (total,), like_src)
        y = array_at(dst[i], (count,), like_src)
        y[:] = limit
        for start in range(0, total, size) if size else range(0):
            first = group_of(extents[i], start // size) * kept
            if size >= SHORT:
                extremes_of_block(kind, x[start : start + size], y[first : first + kept], lanes, limit)
                continue
            for k in range(kept):
                best = y[first + k]
                for r in range(extents[i, -2]):
                    element = x[start + r * kept + k]
                    if (element < best) if kind == LEAST else (element > best):
                        best = element
                y[first + k] = best
