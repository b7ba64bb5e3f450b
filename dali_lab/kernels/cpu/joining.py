"""Concatenation of samples of several batches along one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_at, kernel, like, rows


@kernel
def _join(src: Array, dst: Array, repeats: Array, blocks: Array, item: Array) -> None:
    for n in range(dst.shape[0]):
        pitch = 0
        for k in range(src.shape[0]):
            pitch += blocks[k, n]
        target = array_at(dst[n], (pitch * repeats[n],), item)
        place = 0
        for k in range(src.shape[0]):
            size = blocks[k, n]
            if size == 0:
                continue
            source = array_at(src[k, n], (size * repeats[n],), item)
            for r in range(repeats[n]):
                piece = source[r * size : r * size + size]
                goal = target[r * pitch + place : r * pitch + place + size]
                for j in range(size):
                    goal[j] = piece[j]
            place += size


def join(src: Sequence[Array], dst: Array, shapes: Sequence[Array], axis: int, item_size: int) -> None:
    """Copy samples into one, along an axis that all of them have.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses: of each input, and of the output.
    shapes
        ``int64[N, ndim]`` of each input; they agree in all axes but `axis`.
    axis
        The axis along which the inputs follow each other.
    item_size
        Bytes of an element.
    """
    repeats = shapes[0][:, :axis].prod(axis=1)
    blocks = np.stack([shape[:, axis:].prod(axis=1) * item_size for shape in shapes])
    _join(rows(np.stack(src)), rows(dst), rows(repeats), rows(blocks), like(np.uint8))
