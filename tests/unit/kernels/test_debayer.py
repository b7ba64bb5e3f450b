"""Bayer patterns become the colours that OpenCV gives, to the bit."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.kernels.cpu import debayer

TILES = ("BG", "GB", "GR", "RG")
CODES = {"bilinear": "COLOR_Bayer{}2RGB", "edge_aware": "COLOR_Bayer{}2RGB_EA", "gray": "COLOR_Bayer{}2GRAY"}
SIZES = ((2, 2), (2, 30), (30, 2), (4, 4), (6, 22), (34, 68))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("algorithm", debayer.ALGORITHMS)
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
