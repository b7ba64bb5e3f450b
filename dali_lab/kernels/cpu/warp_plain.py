"""Affine warps of pixels in NumPy: bit for bit what the kernel gives, for the batches before that is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.color_plain import to_bytes
from dali_lab.kernels.cpu.memory import array_in_memory, like

_SPAN = 256
_FAR = np.float32(1e9)


def _positions(first: Array, step: Real, columns: int) -> Any:
    """Positions along each row: every 256th from the one before it, those between one after the other."""
    spans = -(-columns // _SPAN)
    begins = np.full((len(first), spans), step * np.float32(_SPAN), np.float32)
    begins[:, 0] = first
    steps = np.full((len(first), spans, _SPAN), step, np.float32)
    steps[..., 0] = np.add.accumulate(begins, axis=1)
    return np.add.accumulate(steps, axis=2).reshape(len(first), -1)[:, :columns]


def _floor(position: Array) -> Array:
    """See :func:`dali_lab.kernels.cpu.warp.whole`."""
    known = np.where(np.isnan(position), -_FAR, position)
    return np.asarray(np.floor(np.clip(known, -_FAR, _FAR)), np.int64)


def _pixels(picture: Array, row: Array, column: Array, edge: bool, outside: Array) -> Array:
    """The pixels at some places, or those of the edge, or `outside`, in float32."""
    height, width = picture.shape[:2]
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    if not picture.size:
        return np.broadcast_to(outside.astype(np.float32), (*row.shape, 3))
    place = np.clip(row, 0, height - 1) * width + np.clip(column, 0, width - 1)
    values: Array = picture.reshape(-1, 3).take(place, 0).astype(np.float32)
    if not edge:
        values[~inside] = outside
    return values


def warp_pixels(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, matrices: Array, clamp: bool, fill: Array,
    like_bytes: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.warp.warp_affine` for pixels."""
    half, one = np.float32(0.5), np.float32(1)
    for i, (frames, height, width) in enumerate(src_shapes[:, :3].tolist()):
        out_height, out_width = dst_shapes[i, 1:3].tolist()
        if frames * out_height * out_width == 0:
            continue
        m = matrices[i]
        padding = fill[min(i, len(fill) - 1)]
        outside = to_bytes(padding[np.minimum(np.arange(3), len(padding) - 1)])
        y = np.arange(out_height).astype(np.float32) + half
        x = _positions((m[2] + m[0] * half) + m[1] * y, m[0], out_width) - half
        y = _positions((m[5] + m[3] * half) + m[4] * y, m[3], out_width) - half
        left, top = _floor(x), _floor(y)
        qx, qy = (x - left.astype(np.float32))[..., None], (y - top.astype(np.float32))[..., None]
        px = one - qx
        edge = clamp and height * width > 0
        pictures = array_in_memory(src[i], (frames, height, width, 3), like(np.uint8))
        for picture, result in zip(
            pictures, array_in_memory(dst[i], (frames, out_height, out_width, 3), like_bytes), strict=True
        ):
            upper, lower = (
                _pixels(picture, row, left, edge, outside) * px + _pixels(picture, row, left + 1, edge, outside) * qx
                for row in (top, top + 1)
            )
            result[:] = to_bytes(upper + (lower - upper) * qy)
