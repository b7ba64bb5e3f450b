"""Optical flow of pictures that move by known distances."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.types import BGR, GRAY
from tests.unit.operators.running import outputs


def moving(shifts: list[tuple[int, int]], height: int = 96, width: int = 130) -> np.ndarray:
    """Frames of a texture, each at ``(x, y)`` from its place."""
    noise = np.random.default_rng(0).random((height + 80, width + 80, 3)).astype(np.float32)
    texture = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
    return np.stack([texture[40 - y : 40 - y + height, 40 - x : 40 - x + width] for x, y in shifts])


@pytest.mark.parametrize("preset", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("grid", [1, 2, 4])
def test_finds_the_distance(preset: float, grid: int) -> None:
    frames = moving([(0, 0), (5, -3), (3, 2)])
    (flow,) = outputs("optical_flow", ([frames], "FHWC"), preset=preset, output_grid=grid)
    assert flow.dtype == np.float32
    assert flow.shape == (2, -(-96 // grid), -(-130 // grid), 2)
    for step, expected in enumerate(((5, -3), (-2, 5))):
        inner = flow[step, 5:-5, 5:-5].reshape(-1, 2)
        np.testing.assert_allclose(np.median(inner, axis=0), expected, atol=0.25)


@pytest.mark.parametrize("arguments", [{"image_type": BGR}, {"enable_temporal_hints": True}])
def test_colours_and_hints(arguments: dict[str, Any]) -> None:
    frames = moving([(0, 0), (4, 0), (8, 0), (12, 0)])
    (flow,) = outputs("optical_flow", ([frames], "FHWC"), **arguments)
    np.testing.assert_allclose(np.median(flow.reshape(3, -1, 2), axis=1), [(4, 0)] * 3, atol=0.2)


def test_gray_and_external_hints() -> None:
    frames = moving([(0, 0), (30, 10)])[..., :1].copy()
    hints = np.tile(np.float32([30, 10]), (1, 24, 33, 1))
    (flow,) = outputs("optical_flow", ([frames], "FHWC"), [hints], image_type=GRAY, enable_external_hints=True)
    np.testing.assert_allclose(np.median(flow[0, :, 8:].reshape(-1, 2), axis=0), (30, 10), atol=0.3)


def test_one_frame_has_no_flow() -> None:
    (flow,) = outputs("optical_flow", ([moving([(0, 0)])], "FHWC"))
    assert flow.shape == (0, 24, 33, 2)
