"""Histogram equalisation: every channel of an image spread over all levels."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows


@kernel
def _equalize(src: Array, dst: Array, outer: Array, counts: Array, inner: Array, item: Array) -> None:
    levels = np.empty(256, np.int64)
    table = np.empty(256, np.uint8)
    for i in range(src.shape[0]):
        count, step = counts[i], inner[i]
        total = outer[i] * count * step
        source = array_at(src[i], (total,), item)
        target = array_at(dst[i], (total,), item)
        for plane in range(outer[i] if count > 0 else 0):
            for c in range(step):
                base = plane * count * step + c
                levels[:] = 0
                for j in range(count):
                    levels[source[base + j * step]] += 1
                lowest = 0
                while levels[lowest] == 0:
                    lowest += 1
                # An image of one level stays as it is.
                table[lowest] = lowest if levels[lowest] == count else 0
                scale = np.float32(255) / np.float32(max(count - levels[lowest], 1))
                below = 0
                for level in range(lowest + 1, 256):
                    below += levels[level]
                    table[level] = np.uint8(min(np.rint(np.float32(below) * scale), np.float32(255)))
                for j in range(count):
                    target[base + j * step] = table[source[base + j * step]]


def equalize(src: Array, dst: Array, outer: Array, counts: Array, inner: Array) -> None:
    """Equalise the histogram of each channel of uint8 images.

    The level ``v`` becomes ``255 · (elements of a level in (lowest, v]) / (elements above the lowest level)``, in
    float32, rounded half to even, as OpenCV's ``equalizeHist`` does.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    outer, counts, inner
        ``int64[N]``: a sample is ``[outer, count, inner]``, and there are ``outer · inner`` channels of ``count``
        elements.
    """
    _equalize(rows(src), rows(dst), rows(outer), rows(counts), rows(inner), like(np.uint8))
