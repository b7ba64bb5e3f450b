"""JPEG compression without files, against a library that writes and reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from dali_lab.codecs import encoding
from dali_lab.kernels.cpu.jpeg_distortion import jpeg_round_trip

Picture = npt.NDArray[np.uint8]


def _compressed(pictures: list[Picture], quality: list[int]) -> list[Picture]:
    results = [np.zeros_like(picture) for picture in pictures]
    addresses = [np.array([each.ctypes.data for each in arrays]) for arrays in (pictures, results)]
    sizes = np.array([picture.shape[:2] for picture in pictures])
    jpeg_round_trip(*addresses, sizes, np.array(quality))
    return results


def _soft(random: np.random.Generator, height: int, width: int) -> Picture:
    waves = np.sin(np.arange(height)[:, None, None] / 5 + np.arange(width)[:, None] / 7 + random.uniform(0, 6, 3))
    return (127.5 + 127.5 * waves).astype(np.uint8)


@pytest.mark.parametrize("kind", ["noise", "black and white", "soft"])
def test_equals_libjpeg(kind: str) -> None:
    random = np.random.default_rng(len(kind))
    pictures = []
    for height, width in [*random.integers(1, 60, (60, 2)).tolist(), [1, 1], [2, 300], [17, 4], [16, 256], [131, 5]]:
        if kind == "soft":
            pictures.append(_soft(random, height, width))
        else:
            noise = random.integers(0, 256, (height, width, 3), np.uint8)
            pictures.append(noise if kind == "noise" else (noise >> 7) * np.uint8(255))
    quality = [*range(1, 101, 2), *range(100, 0, -7)]
    assert len(quality) == len(pictures)
    for picture, level, result in zip(pictures, quality, _compressed(pictures, quality), strict=True):
        np.testing.assert_array_equal(result, encoding.jpeg_round_trip(picture, level), err_msg=f"quality {level}")
