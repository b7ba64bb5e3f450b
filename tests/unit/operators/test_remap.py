"""Remapping against identities, shifts, and a sum of four neighbours in float64."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab.schema import samples
from dali_lab.types import INTERP_LINEAR, INTERP_NN
from tests.unit.operators.running import outputs


def maps(images: list[np.ndarray], shift: float = 0.0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    grids = [np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32) + np.float32(shift) for image in images]
    return [np.ascontiguousarray(grid[1]) for grid in grids], [np.ascontiguousarray(grid[0]) for grid in grids]


@pytest.mark.parametrize("interp", [INTERP_NN, INTERP_LINEAR])
def test_identity_in_both_origins(interp: object) -> None:
    for channels in (1, 3, 6):
        images = samples.pictures(channels=channels)[0]
        for origin, shift in (("center", 0.0), ("corner", 0.5)):
            results = outputs(
                "experimental.remap", (images, "HWC"), *maps(images, shift), interp=interp, pixel_origin=origin
            )
            for image, result in zip(images, results, strict=True):
                np.testing.assert_array_equal(image, result)


def test_outside_is_zero_and_mirrors_mirror() -> None:
    images = samples.pictures(dtype=np.float32)[0]
    columns, rows = maps(images)
    mirrored = [np.ascontiguousarray(column[:, ::-1]) for column in columns]
    results = outputs("experimental.remap", (images, "HWC"), mirrored, rows, pixel_origin="center")
    for image, result in zip(images, results, strict=True):
        np.testing.assert_allclose(result, image[:, ::-1], atol=1e-6)
    far = [column + 1000 for column in columns]
    assert not any(result.any() for result in outputs("experimental.remap", (images, "HWC"), far, rows))


def test_linear_blends_four_neighbours() -> None:
    image = samples.picture(20, 24, 2, np.float32)
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0, 22.9, (11, 13)), rng.uniform(0, 18.9, (11, 13))
    # OpenCV rounds positions to a 32nd of a pixel.
    x, y = np.round(x * 32) / 32, np.round(y * 32) / 32
    (result,) = outputs(
        "experimental.remap", ([image], "HWC"), [x.astype(np.float32)], [y.astype(np.float32)], pixel_origin="center"
    )
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, bottom = (x - left)[..., None], (y - top)[..., None]
    upper = image[top, left] * (1 - right) + image[top, left + 1] * right
    lower = image[top + 1, left] * (1 - right) + image[top + 1, left + 1] * right
    np.testing.assert_allclose(result, upper * (1 - bottom) + lower * bottom, atol=1e-5)


def test_frames_share_a_map_or_have_their_own() -> None:
    frames, _ = samples.sequences((2, 2, 2))
    columns, rows = maps([sequence[0] for sequence in frames])
    shared = outputs("experimental.remap", (frames, "FHWC"), columns, rows, pixel_origin="center")
    own = [np.stack([column, column[:, ::-1]]) for column in columns]
    both = outputs(
        "experimental.remap", (frames, "FHWC"), (own, "FHW"), ([np.stack([r, r]) for r in rows], "FHW"),
        pixel_origin="center",
    )  # fmt: skip
    for sequence, one, two in zip(frames, shared, both, strict=True):
        np.testing.assert_array_equal(sequence, one)
        np.testing.assert_array_equal(sequence[1][:, ::-1], two[1])
