"""Equalising tiles gives OpenCV's numbers, for all colours and any tiles."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu.clahe import clahe
from tests.together import with_each

Picture = npt.NDArray[np.uint8]


def _equalised(picture: Picture, tiles: tuple[int, int], clip: float, luma: bool) -> Picture:
    out = np.zeros_like(picture)
    height, width, channels = picture.shape
    clahe(np.array([picture.ctypes.data]), np.array([out.ctypes.data]), np.array([[height, width]]), channels, tiles,
          clip, luma)  # fmt: skip
    return out


def _by_opencv(picture: Picture, tiles: tuple[int, int], clip: float, luma: bool) -> npt.NDArray[Any]:
    equaliser = cv2.createCLAHE(clip, tiles)
    if not luma:
        planes = [equaliser.apply(np.ascontiguousarray(picture[..., k])) for k in range(picture.shape[2])]
        return np.stack(planes, axis=2)
    lab = cv2.cvtColor(picture, cv2.COLOR_RGB2LAB)
    lab[..., 0] = equaliser.apply(np.ascontiguousarray(lab[..., 0]))
    return cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)


@with_each("seed", range(40))
def test_any_picture(seed: int) -> None:
    random = np.random.default_rng(seed)
    height, width = random.integers(1, 70, 2)
    channels = int(random.choice([1, 3]))
    luma = channels == 3 and seed % 2 == 0
    picture = random.integers(0, 256, (height, width, channels), np.uint8)
    if seed % 3 == 0:
        picture //= 9
    tiles = int(random.integers(1, 20)), int(random.integers(1, 20))
    clip = float(random.choice([-1, 0, 0.5, 1, 2, 4.3, 40, 1e12]))
    np.testing.assert_array_equal(_equalised(picture, tiles, clip, luma), _by_opencv(picture, tiles, clip, luma))


def test_all_colours() -> None:
    """Every other level of each channel, and white."""
    levels = np.append(np.arange(0, 256, 2), 255).astype(np.uint8)
    picture = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, len(levels), 3)
    np.testing.assert_array_equal(_equalised(picture, (1, 1), 0.0, True), _by_opencv(picture, (1, 1), 0.0, True))
