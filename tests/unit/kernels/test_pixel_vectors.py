"""Warping and normalising three-channel pictures in vectors equals the general kernels, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu import normalize, warp
from dali_lab.model.batch import Batch
from dali_lab.types import FLOAT, UINT8
from tests.together import with_each

Array = np.ndarray[Any, Any]
SIZES = ((1, 1), (2, 2), (9, 31), (64, 300), (3, 8), (50, 47))


def pictures(sizes: Any = SIZES) -> Batch:
    rng = np.random.default_rng(5)
    return Batch.of([rng.integers(0, 256, (h, w, 3), np.uint8) for h, w in sizes], "HWC")


def frames_first(shapes: Array) -> Array:
    return np.concatenate([np.ones((len(shapes), 1), np.int64), shapes], axis=1)


def assert_same(out: Batch, fast: Callable[[], None], general: Callable[[], None]) -> None:
    fast()
    results = [array.copy() for array in out.arrays()]
    for array in out.arrays():
        array[...] = 0
    general()
    for index, (one, two) in enumerate(zip(results, out.arrays(), strict=True)):
        np.testing.assert_array_equal(one, two, err_msg=f"sample {index}")


MATRICES = {
    "identity": (1, 0, 0, 0, 1, 0),
    "rotated": (0.94, -0.34, 3.0, 0.34, 0.94, -4.0),
    "shrunk": (3.1, 0, -20, 0, 2.7, -15),
    "grown": (0.07, 0, 0.3, 0, 0.09, 0.2),
    "flipped": (-1, 0, 30, 0, -1, 40),
    "far": (1, 0, 1e8, 0, 1, -1e8),
    "endless": (np.inf, 0, 0, 0, 1, 0),
    "nothing": (np.nan,) * 6,
}


@with_each("name", MATRICES)
@with_each("fill", [None, ((7.6,),), ((-3.0, 300.0, 12.5),)])
def test_warp(name: str, fill: Any) -> None:
    data = pictures()
    shapes = np.array([(40, 44, 3), (1, 1, 3), (300, 7, 3), (11, 300, 3), (5, 5, 3), (20, 600, 3)], np.int64)
    out = Batch.allocate(shapes, UINT8, "HWC")
    matrices = np.tile(np.array(MATRICES[name], np.float32), (len(data), 1))
    values = None if fill is None else np.array(fill, np.float32)

    def run(linear: Array) -> None:
        warp.warp_affine(
            data.addresses, out.addresses, frames_first(data.shapes), frames_first(shapes), matrices, linear,
            np.uint8, np.uint8, fill=values,
        )  # fmt: skip

    def general() -> None:
        """The kernel itself: a projection would add up in another order."""
        from dali_lab.kernels.cpu.memory import like

        padding = np.zeros((1, 1), np.float32) if values is None else values
        warp._warp(
            data.addresses, out.addresses, frames_first(data.shapes), frames_first(shapes), matrices, False,
            np.ones(len(data), np.int64), values is None, padding, like(np.uint8), like(np.uint8),
        )  # fmt: skip

    assert_same(out, lambda: run(np.ones(len(data), np.int64)), general)


def test_warp_of_sequences() -> None:
    rng = np.random.default_rng(2)
    data = Batch.of([rng.integers(0, 256, (3, 21, 18, 3), np.uint8)], "FHWC")
    out = Batch.allocate(np.array([[3, 30, 25, 3]]), UINT8, "FHWC")
    matrix = np.array([MATRICES["rotated"]], np.float32)
    fill = np.zeros((1, 1), np.float32)
    ones = np.ones(1, np.int64)

    def general() -> None:
        from dali_lab.kernels.cpu.memory import like

        stand = like(np.uint8)
        warp._warp(
            data.addresses, out.addresses, data.shapes, out.shapes, matrix, False, ones, False, fill, stand, stand
        )

    def fast() -> None:
        warp.warp_affine(
            data.addresses, out.addresses, data.shapes, out.shapes, matrix, ones, np.uint8, np.uint8, fill=fill
        )

    assert_same(out, fast, general)


@pytest.mark.parametrize("width", [8, 9, 15, 16, 40])
@pytest.mark.parametrize("channels", [1, 3])
def test_crop_mirror_normalize(width: int, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pictures(((20, 40), (9, 41), (30, 64)))
    rng = np.random.default_rng(1)
    windows = np.array([(0, 0, 20, width), (2, 1, 7, width), (30 - 11, 64 - width, 11, width)], np.int64)
    out = Batch.allocate(np.stack([np.full(3, 3), windows[:, 2], windows[:, 3]], axis=1), FLOAT, "CHW")
    mean = rng.uniform(90, 130, (3, channels)).astype(np.float32)
    inverse = rng.uniform(0.01, 0.02, (1, channels)).astype(np.float32)

    def run() -> None:
        normalize.crop_mirror_normalize(
            data.addresses, out.addresses, frames_first(data.shapes), windows, np.array([0, 1, 1]), mean, inverse,
            np.uint8, np.float32, out_channels=3, planar_dst=True,
        )  # fmt: skip

    def general() -> None:
        monkeypatch.setattr(normalize, "_are_inside", lambda *_: False)
        run()

    assert_same(out, run, general)
