"""Three-channel pictures resampled in vectors equal the general rows, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu import normalize, resample
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.resample_pixels import takes
from dali_lab.model.batch import Batch
from dali_lab.types import FLOAT, UINT8

Array = np.ndarray[Any, Any]
SIZES = ((8, 8), (9, 31), (61, 47), (130, 200), (3, 64), (300, 17))
OUT = ((40, 36), (8, 8), (5, 100), (64, 9), (33, 210), (1, 8))
FILTERS = (resample.NN, resample.LINEAR, resample.CUBIC, resample.LANCZOS3, resample.TRIANGULAR, resample.GAUSSIAN)


def pictures() -> Batch:
    rng = np.random.default_rng(7)
    return Batch.of([rng.integers(0, 256, (h, w, 3), np.uint8) for h, w in SIZES], "HWC")


def regions(kind: str, shapes: Array) -> Array:
    """Whole, flipped, inside, partly outside and far outside."""
    height, width = shapes[:, :1].astype(np.float32), shapes[:, 1:2].astype(np.float32)
    y0, x0, y1, x1 = {
        "whole": (0.0, 0.0, 1.0, 1.0),
        "flipped": (1.0, 1.0, 0.0, 0.0),
        "inside": (0.21, 0.33, 0.77, 0.9),
        "outside": (-0.4, 0.5, 0.5, 1.7),
        "far": (3.0, -5.0, 4.0, -3.0),
    }[kind]
    return np.concatenate([y0 * height, x0 * width, y1 * height, x1 * width], axis=1).astype(np.float32)


def frames_first(shapes: Array) -> Array:
    return np.concatenate([np.ones((len(shapes), 1), np.int64), shapes], axis=1)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Switches the vectors off."""

    def switch() -> None:
        for module in (resample, normalize):
            monkeypatch.setattr(module, "takes", lambda *_: False)

    return switch


@pytest.mark.parametrize("code", FILTERS)
@pytest.mark.parametrize("antialias", [True, False])
def test_resize(code: int, antialias: bool, general: Any) -> None:
    data = pictures()
    sizes = np.array(OUT, np.int64)
    shapes = np.concatenate([sizes, np.full((len(sizes), 1), 3)], axis=1)
    codes = np.full(len(data), code)

    def run(kind: str) -> list[Array]:
        out = Batch.allocate(shapes, UINT8, "HWC")
        resample.resize(
            data.addresses, out.addresses, frames_first(data.shapes), frames_first(shapes),
            regions(kind, data.shapes), codes, codes, antialias, np.uint8, np.uint8,
        )  # fmt: skip
        return [array.copy() for array in out.arrays()]

    kinds = ("whole", "flipped", "inside", "outside", "far")
    fast = [run(kind) for kind in kinds]
    general()
    for kind, left in zip(kinds, fast, strict=True):
        for index, (one, two) in enumerate(zip(left, run(kind), strict=True)):
            np.testing.assert_array_equal(one, two, err_msg=f"{kind}, sample {index}")


def test_sequences(general: Any) -> None:
    rng = np.random.default_rng(3)
    data = Batch.of([rng.integers(0, 256, (4, 30, 41, 3), np.uint8)], "FHWC")
    shapes = np.array([[4, 21, 50, 3]], np.int64)
    one = np.ones(1, np.int64)

    def run() -> Array:
        out = Batch.allocate(shapes, UINT8, "FHWC")
        roi = np.array([[0, 0, 30, 41]], np.float32)
        resample.resize(
            data.addresses, out.addresses, data.shapes, shapes, roi, one, one, True, np.uint8, np.uint8
        )  # fmt: skip
        return out.array(0).copy()

    fast = run()
    general()
    np.testing.assert_array_equal(fast, run())


@pytest.mark.parametrize("channels_of_mean", [1, 3])
def test_resize_crop_mirror_normalize(channels_of_mean: int, general: Any) -> None:
    data = pictures()
    rng = np.random.default_rng(1)
    sizes = np.array([(40, 36), (20, 25), (30, 44), (64, 60), (33, 21), (16, 16)], np.int64)
    windows = np.array([(3, 2, 16, 20), (0, 0, 16, 20), (14, 24, 16, 20), (5, 40, 16, 20), (9, 1, 16, 20),
                        (0, 0, 16, 16)], np.int64)  # fmt: skip
    mean = rng.uniform(90, 130, (len(data), channels_of_mean)).astype(np.float32)
    inverse = rng.uniform(0.01, 0.02, (1, channels_of_mean)).astype(np.float32)
    codes = np.ones(len(data), np.int64)
    resized = normalize.Resized(
        sizes, windows, regions("whole", data.shapes), codes, codes, True, np.arange(len(data)) % 2, mean, inverse
    )

    def run() -> list[Array]:
        out = Batch.allocate(np.stack([np.full(len(data), 3), windows[:, 2], windows[:, 3]], axis=1), FLOAT, "CHW")
        normalize.resize_crop_mirror_normalize(
            data.addresses, out.addresses, frames_first(data.shapes), resized, np.uint8, np.float32, out_channels=3,
            planar_dst=True,
        )  # fmt: skip
        return [array.copy() for array in out.arrays()]

    fast = run()
    general()
    for one, two in zip(fast, run(), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.skipif(not uses("vectors"), reason="they take nothing then")
def test_what_the_vectors_do_not_take() -> None:
    ones = np.ones(2, np.int64)
    assert takes(3 * ones, 8 * ones, 8 * ones)
    assert not takes(3 * ones, 7 * ones, 8 * ones)
    assert not takes(3 * ones, 8 * ones, 7 * ones)
    assert not takes(np.array([3, 1]), 8 * ones, 8 * ones)
    assert not takes(ones[:0], ones[:0], ones[:0])
