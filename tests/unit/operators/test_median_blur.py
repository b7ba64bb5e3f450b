"""The median blur against NumPy's median of each window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.schema import samples
from tests.unit.operators.running import outputs, per_sample


def reference(image: np.ndarray, width: int, height: int) -> np.ndarray:
    padded = np.pad(image, ((height // 2,) * 2, (width // 2,) * 2, (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(0, 1))
    return np.median(windows, axis=(-2, -1)).astype(image.dtype)


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 5), (9, 9), (3, 7), (1, 5), (21, 23)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.float32])
def test_is_the_median_of_each_window(size: Any, dtype: Any) -> None:
    for channels in (1, 3):
        images = samples.pictures(channels=channels, dtype=dtype)[0]
        results = outputs("experimental.median_blur", (images, "HWC"), window_size=size)
        for image, result in zip(images, results, strict=True):
            np.testing.assert_array_equal(result, reference(image, *size))


def test_layouts_agree() -> None:
    images = samples.pictures()[0]
    sizes = per_sample((3, 5), (7, 7), (5, 1))
    plain = outputs("experimental.median_blur", (images, "HWC"), window_size=sizes)
    planar = outputs("experimental.median_blur", samples.planar(), window_size=sizes)
    frames = outputs("experimental.median_blur", ([np.stack([a, a]) for a in images], "FHWC"), window_size=sizes)
    for one, other, sequence in zip(plain, planar, frames, strict=True):
        np.testing.assert_array_equal(one, other.transpose(1, 2, 0))
        np.testing.assert_array_equal(one, sequence[1])
