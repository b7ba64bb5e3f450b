"""Gaussian blur against NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.convolve import gaussian_windows, separable_convolution
from tests.together import with_each
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn, types  # isort: skip

SIZES = [(1, 1), (1, 9), (13, 2), (40, 51)]


def blur(images: list[Array], sigma: Any, window: Any, dtype: Any, volumes: bool = False) -> list[Array]:
    """`sigma` and `window` for the axes that are blurred, one row a sample or one for all."""
    windows, lengths = gaussian_windows(sigma, window)
    axes, size = windows.shape[1:]
    table3 = np.zeros((len(images), 3, size), np.float32)
    table3[:, :, 0] = 1
    table3[:, 3 - axes :] = windows
    lengths3 = np.ones((len(images), 3), np.int64)
    lengths3[:, 3 - axes :] = lengths
    shapes = table([i.shape if i.ndim == 4 else (1, *i.shape) for i in images])
    out = [np.empty(i.shape, dtype) for i in images]
    separable_convolution(addresses(images), addresses(out), shapes, table3, lengths3, images[0].dtype, dtype)
    return out


def pictures(dtype: Any = np.uint8, channels: int = 3) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, channels)).astype(dtype) for size in SIZES]


CASES = [
    ([1.0], [0]),
    ([0.5], [23]),
    ([0.0], [5]),
    ([2.3, 0.7], [0, 0]),
    ([1.5, 2.5], [5, 11]),
    ([0.0, 1.0], [7, 0]),
    ([6.0], [0]),
]


@with_each(("sigma", "window"), CASES)
@with_each("dtypes", [(np.uint8, np.uint8), (np.uint8, np.float32), (np.float32, np.float32)])
def test_blur_is_equal(dtypes: Any, sigma: list[float], window: list[int]) -> None:
    images = pictures(dtypes[0])
    kind = types.FLOAT if dtypes[1] is np.float32 else types.UINT8
    want = dali(lambda d: fn.gaussian_blur(d, sigma=sigma, window_size=window, dtype=kind), images, "HWC")
    got = blur(images, np.broadcast_to(sigma, (4, 2)), np.broadcast_to(window, (4, 2)), dtypes[1])
    assert difference(got, want) == 0


def test_each_sample_has_its_own_window() -> None:
    images = pictures()
    sigmas = [0.5, 1.0, 2.0, 4.0]
    want = dali(lambda d, s: fn.gaussian_blur(d, sigma=s), images, "HWC", s=[np.float32(s) for s in sigmas])
    got = blur(images, np.repeat(np.array(sigmas)[:, None], 2, 1), np.zeros((4, 2)), np.uint8)
    assert difference(got, want) == 0


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_channels(channels: int) -> None:
    images = pictures(channels=channels)
    want = dali(lambda d: fn.gaussian_blur(d, sigma=1.3), images, "HWC")
    assert difference(blur(images, np.full((4, 2), 1.3), np.zeros((4, 2)), np.uint8), want) == 0


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.float16])
def test_other_dtypes(dtype: Any) -> None:
    images = pictures(dtype)
    want = dali(lambda d: fn.gaussian_blur(d, sigma=1.3), images, "HWC")
    # Between the axes, DALI keeps float16 images in float16: one step of it at 255 is 0.125.
    tolerance = 0.125 if dtype is np.float16 else 0
    assert difference(blur(images, np.full((4, 2), 1.3), np.zeros((4, 2)), dtype), want) <= tolerance


def test_video_and_volume() -> None:
    video = [np.random.default_rng(1).integers(0, 256, (4, 12, 10, 3)).astype(np.uint8)]
    want = dali(lambda d: fn.gaussian_blur(d, sigma=1.3), video, "FHWC")
    assert difference(blur(video, np.full((1, 2), 1.3), np.zeros((1, 2)), np.uint8), want) == 0
    want = dali(lambda d: fn.gaussian_blur(d, sigma=[0.8, 1.3, 2.0], dtype=types.FLOAT), video, "DHWC")
    got = blur(video, np.array([[0.8, 1.3, 2.0]]), np.zeros((1, 3)), np.float32)
    assert difference(got, want) == 0
