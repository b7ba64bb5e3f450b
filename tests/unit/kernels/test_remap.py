"""Pictures moved by maps and projections are OpenCV's, to the bit, for all types and numbers of channels."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from dali_lab.kernels.cpu.borders import BORDERS
from dali_lab.kernels.cpu.remap import remap, warp_perspective
from tests.together import with_each
from tests.unit.kernels.oracle import addresses

_FLAGS = {1: cv2.INTER_NEAREST, 2: cv2.INTER_LINEAR, 4: cv2.INTER_CUBIC, 8: cv2.INTER_LANCZOS4}
_DTYPES = (np.uint8, np.uint16, np.int16, np.float32)


def _picture(random: np.random.Generator, dtype: Any, channels: int) -> npt.NDArray[Any]:
    shape = (*random.integers(2, 50, 2), channels)  # OpenCV never ends for one row, mirrored
    if dtype is np.float32:
        return random.random(shape, np.float32)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@with_each("taps", [1, 2, 4])
@with_each("border", ("constant", "replicate", "reflect", "wrap", "reflect_101"))
def test_projections(taps: int, border: str) -> None:
    """Moderate ones: beyond the horizon, where depths change their sign, positions are as good as undefined."""
    random = np.random.default_rng(taps)
    for k in range(16):
        dtype, channels = _DTYPES[k % 4], 1 + k // 4
        source = _picture(random, dtype, channels)
        size = (int(random.integers(1, 50)), int(random.integers(1, 50)))
        matrix = (np.eye(3) + random.normal(size=(3, 3)) * [[0.2, 0.2, 4], [0.2, 0.2, 4], [2e-3, 2e-3, 0]]).astype("f4")
        fill = 0.0 if dtype is np.float32 else 77.0
        out = np.empty((*size, channels), dtype)
        warp_perspective(
            addresses([source]), addresses([out]), np.array([[1, *source.shape]]), np.array([size]),
            matrix[None].astype(np.float64), taps, border, np.array([fill]), dtype,
        )  # fmt: skip
        flags = _FLAGS[taps] | cv2.WARP_INVERSE_MAP
        want = cv2.warpPerspective(
            source, matrix, size[::-1], flags=flags, borderMode=BORDERS[border], borderValue=(fill,) * 4
        )
        np.testing.assert_array_equal(out, want.reshape(out.shape))


@pytest.mark.parametrize("taps", [1, 2, 4, 8])
def test_maps(taps: int) -> None:
    random = np.random.default_rng(taps)
    for k in range(8):
        dtype, channels = (np.uint8, np.float32)[k % 2], 1 + k // 2
        source = _picture(random, dtype, channels)
        size = (int(random.integers(1, 50)), int(random.integers(1, 50)))
        columns, lines = (
            ((random.random(size) * 1.4 - 0.2) * extent).astype(np.float32) for extent in source.shape[1::-1]
        )
        out = np.empty((*size, channels), dtype)
        remap(
            addresses([source]), addresses([out]), addresses([columns]), addresses([lines]), np.array([source.shape]),
            np.array([columns.size]), taps, 0.0, dtype,
        )  # fmt: skip
        want = cv2.remap(source, columns, lines, _FLAGS[taps], borderMode=cv2.BORDER_CONSTANT).reshape(out.shape)
        # Sums of 64 neighbours are in another order, and not in fixed point.
        step = 0 if taps < 8 else 1e-6 if dtype is np.float32 else 1
        np.testing.assert_allclose(out.astype(np.float64), want.astype(np.float64), rtol=0, atol=step)
