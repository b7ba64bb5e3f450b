"""Several linear colour operators over uint8 pixels of three channels in one walk, each with its own rounding.

Pixels go through in blocks: their channels are taken apart into float32 once, every step works on whole vectors and
rounds and clamps as if it stored uint8, and the last one is put together again. So the result has the bits of the
operators one after the other (:mod:`dali_lab.kernels.cpu.color`), without the pictures between them.
"""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.convert import whole_level
from dali_lab.kernels.cpu.memory import array_at, kernel, part

MATRIX, SCALE, EXCHANGE = range(3)
_BLOCK = 1024


@part
def _step(red: Array, green: Array, blue: Array, matrix: Array, offset: Array) -> None:
    m00, m01, m02 = matrix[0], matrix[1], matrix[2]
    m10, m11, m12 = matrix[3], matrix[4], matrix[5]
    m20, m21, m22 = matrix[6], matrix[7], matrix[8]
    b0, b1, b2 = offset[0], offset[1], offset[2]
    for p in range(red.shape[0]):
        r, g, b = red[p], green[p], blue[p]
        red[p] = whole_level(m00 * r + m01 * g + m02 * b + b0)
        green[p] = whole_level(m10 * r + m11 * g + m12 * b + b1)
        blue[p] = whole_level(m20 * r + m21 * g + m22 * b + b2)


@part
def _scaled(channel: Array, factor: Real, offset: Real) -> None:
    for p in range(channel.shape[0]):
        channel[p] = whole_level(channel[p] * factor + offset)


@kernel
def chain(src: Array, dst: Array, pixels: Array, matrices: Array, offsets: Array, kinds: Array, like: Array) -> None:
    """``in = level(matrix @ in + offset)`` for each step in turn.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses of uint8 pixels of three interleaved channels.
    pixels
        ``int64[N]`` pixels of each sample.
    matrices, offsets
        ``float32[N, steps, 9]`` and ``float32[N, steps, 3]``.
    kinds
        ``int64[steps]``: `MATRIX`; `SCALE`, where the matrix is a multiple of the identity and the offset the same in
        all channels; `EXCHANGE`, where it exchanges the first and the third channel.
    like
        An array of uint8.
    """
    red, green, blue = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32)
    for i in range(src.shape[0]):
        source = array_at(src[i], (pixels[i] * 3,), like)
        target = array_at(dst[i], (pixels[i] * 3,), like)
        for start in range(0, pixels[i], _BLOCK):
            count = min(_BLOCK, pixels[i] - start)
            r, g, b = red[:count], green[:count], blue[:count]
            block = source[3 * start : 3 * (start + count)]
            for p in range(count):
                r[p] = block[3 * p]
                g[p] = block[3 * p + 1]
                b[p] = block[3 * p + 2]
            for s in range(kinds.shape[0]):
                if kinds[s] == EXCHANGE:
                    r, b = b, r
                elif kinds[s] == SCALE:
                    factor = matrices[i, s, 0]
                    _scaled(r, factor, offsets[i, s, 0])
                    _scaled(g, factor, offsets[i, s, 0])
                    _scaled(b, factor, offsets[i, s, 0])
                else:
                    _step(r, g, b, matrices[i, s], offsets[i, s])
            out = target[3 * start : 3 * (start + count)]
            for p in range(count):
                out[3 * p] = np.uint8(np.int32(r[p]))
                out[3 * p + 1] = np.uint8(np.int32(g[p]))
                out[3 * p + 2] = np.uint8(np.int32(b[p]))
