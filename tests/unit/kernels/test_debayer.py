"""Bayer patterns become the colours that OpenCV gives, to the bit."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab.kernels.cpu import debayer

TILES = ("BG", "GB", "GR", "RG")
CODES = {"bilinear": "COLOR_Bayer{}2RGB", "edge_aware": "COLOR_Bayer{}2RGB_EA", "gray": "COLOR_Bayer{}2GRAY"}
SIZES = ((2, 2), (2, 30), (30, 2), (4, 4), (6, 22), (34, 68))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("algorithm", CODES)
def test_equals_opencv(algorithm: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    channels = 1 if algorithm == "gray" else 3
    for place, tile in enumerate(TILES):
        raw = [rng.integers(0, np.iinfo(dtype).max, size, endpoint=True).astype(dtype) for size in SIZES]
        raw[-1][10:20] = np.iinfo(dtype).max
        made = [np.full((*size, channels), 7, dtype) for size in SIZES]
        debayer.debayer(
            np.array([array.ctypes.data for array in raw]),
            np.array([array.ctypes.data for array in made]),
            np.array(SIZES),
            np.array([divmod(place, 2)] * len(SIZES)),
            algorithm,
            dtype,
        )
        for array, got in zip(raw, made, strict=True):
            expected = cv2.cvtColor(array, getattr(cv2, CODES[algorithm].format(tile)))
            np.testing.assert_array_equal(got, expected.reshape(got.shape))


def _along_colors(raw: np.ndarray, blue: tuple[int, int]) -> np.ndarray:
    """Pixel by pixel, by the words of NPP's documentation; the image is reflected at its edges."""
    wide = np.pad(raw.astype(int), 2, "reflect")
    out = np.zeros((*raw.shape, 3), int)
    for y, x in np.ndindex(*raw.shape):
        around = wide[y : y + 5, x : x + 5]
        seen, left, right, over, under = (around[p] for p in ((2, 2), (2, 1), (2, 3), (1, 2), (3, 2)))
        row, column = (y - 1) % 2 == blue[0], (x - 1) % 2 == blue[1]
        if row != column:
            in_row, in_column = (left + right) // 2, (over + under) // 2
            out[y, x] = (in_column, seen, in_row) if row else (in_row, seen, in_column)
            continue
        along_row = abs(seen - (around[2, 0] + around[2, 4]) // 2)
        along_column = abs(seen - (around[0, 2] + around[4, 2]) // 2)
        green = (left + right + over + under) // 4
        if along_row != along_column:
            green = (left + right) // 2 if along_row < along_column else (over + under) // 2
        other = (around[1, 1] + around[1, 3] + around[3, 1] + around[3, 3]) // 4
        out[y, x] = (other, green, seen) if row else (seen, green, other)
    return out


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_on_a_gpu_green_follows_the_other_colors(dtype: Any) -> None:
    rng = np.random.default_rng(7)
    raw = [rng.integers(0, np.iinfo(dtype).max, size, endpoint=True).astype(dtype) for size in SIZES]
    for place in range(4):
        blue = divmod(place, 2)
        expected = [_along_colors(array, blue) for array in raw]
        for algorithm in (None, "default_npp"):
            pipe = dali_lab.Pipeline(len(raw), 1, None, gpu="never")
            with pipe:
                data = dali_lab.fn.external_source(lambda: raw, layout="HW").gpu()
                pipe.set_outputs(dali_lab.fn.debayer(data, blue_position=blue, algorithm=algorithm))
            (made,) = pipe.run()
            for index, array in enumerate(expected):
                np.testing.assert_array_equal(made.as_cpu().at(index), array)
