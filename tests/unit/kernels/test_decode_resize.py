"""Pictures decoded and resized in one call equal those decoded by one and resized by another, bit for bit."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.codecs.backends import libjpeg
from dali_lab.kernels.cpu import resample_plain, resample_planes
from dali_lab.kernels.cpu.decode_resize import decode_resize
from dali_lab.kernels.cpu.machine import jpeg
from dali_lab.kernels.cpu.memory import like, rows
from dali_lab.kernels.cpu.normalize import Resized, resize_crop_mirror_normalize
from dali_lab.kernels.cpu.resample import CUBIC, LINEAR
from dali_lab.model.undecoded import Undecoded
from dali_lab.schema.samples import picture

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.usefixtures("fast_jpeg")
OUT = (48, 56)


@pytest.fixture(params=[True, False], autouse=True)
def by_planes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests as on a processor that has AVX-512, where this one has it, and as on one that has not."""
    monkeypatch.setattr(resample_planes, "AVAILABLE", request.param and resample_planes.AVAILABLE)


SAMPLINGS = (
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)  # fmt: skip


def encoded(height: int, width: int, seed: int) -> Array:
    options = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLINGS[seed % 3], cv2.IMWRITE_JPEG_PROGRESSIVE, int(seed % 5 == 4)]
    return cv2.imencode(".jpg", picture(height, width, seed=seed), options)[1].reshape(-1)


def both(
    files: list[Array], sizes: list[tuple[int, int]], windows: list[list[int]], color: str = "RGB", *,
    fast: bool = False, filters: int = LINEAR, crop: list[int] | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """By one kernel, by two, and which samples the one has done; memory that it must not touch is NaN.

    Without AVX-512 it must have done none; what two kernels give is compared with NumPy.
    """
    count = len(files)
    addresses, lengths = np.array([file.ctypes.data for file in files]), np.array([file.size for file in files])
    stored, boxes = np.array([(*size, 3) for size in sizes]), np.array(windows)
    wanted = np.tile(crop or [0, 0, *OUT], (count, 1))
    extents = boxes[:, 2:] - boxes[:, :2]
    rng = np.random.default_rng(3)
    resized = Resized(
        np.tile(OUT, (count, 1)), wanted, np.concatenate([np.zeros((count, 2)), extents], axis=1),
        np.full(count, filters), np.full(count, filters), True, np.arange(count) % 2,
        rng.uniform(0, 200, (count, 3)).astype(np.float32), rng.uniform(0.01, 1, (count, 3)).astype(np.float32),
    )  # fmt: skip
    one, two = (np.full((count, 3, *wanted[0, 2:]), np.nan, np.float32) for _ in range(2))
    places = np.arange(count) * one[0].nbytes
    pictures = Undecoded(addresses, lengths, stored, boxes, color, fast, lambda wanted: pytest.fail("not asked for"))
    done = decode_resize(pictures, one.ctypes.data + places, resized)
    assert (pictures.seconds > 0) == done.any()
    ends = extents.prod(axis=1).cumsum() * 3
    memory = np.empty(ends[-1], np.uint8)
    starts = memory.ctypes.data + ends - extents.prod(axis=1) * 3
    ones = np.ones(count, np.int64)
    jpeg.decode(
        *libjpeg.tables(), addresses, lengths, stored, boxes, ones, ones * jpeg.COLORS[color], fast, starts,
        np.zeros(count, np.int64), jpeg.memory_for(int(stored[:, 1].max()) * 3),
    )  # fmt: skip
    shapes = np.concatenate([np.ones((count, 1), np.int64), extents, np.full((count, 1), 3)], axis=1)
    resize_crop_mirror_normalize(
        starts, two.ctypes.data + places, shapes, resized, np.uint8, np.float32, out_channels=3, planar_dst=True
    )
    if not resample_planes.AVAILABLE:
        assert not done.any()
        wanted_planes = np.full_like(two, np.nan)
        resample_plain.resize_crop_mirror_normalize(
            rows(starts), rows(wanted_planes.ctypes.data + places), rows(shapes), *resized.tables(), True,
            rows(resized.mirror), resized.mean, resized.inverse, 3, True, like(np.uint8), like(np.float32),
        )  # fmt: skip
        np.testing.assert_array_equal(two, wanted_planes)
    return one, two, done


@pytest.mark.parametrize("seed", range(4))
def test_windows_anywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [(int(rng.integers(20, 260)), int(rng.integers(33, 300))) for _ in range(12)]
    windows = []
    for height, width in sizes:
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width - 32))
        windows.append([top, left, int(rng.integers(top + 1, height + 1)), int(rng.integers(left + 32, width + 1))])
    windows[0] = [0, 0, *sizes[0]]
    files = [encoded(*size, seed=seed + index) for index, size in enumerate(sizes)]
    one, two, done = both(
        files, sizes, windows, "BGR" if seed == 1 else "RGB", fast=seed == 2, filters=CUBIC if seed == 3 else LINEAR,
        crop=[3, 5, 40, 44] if seed % 2 else None,
    )  # fmt: skip
    assert done.sum() >= 6 or not resample_planes.AVAILABLE
    np.testing.assert_array_equal(one[done].view(np.uint32), two[done].view(np.uint32))
    assert np.isnan(one[~done]).all()


def test_what_is_damaged_narrow_or_shrinks_too_much_is_left() -> None:
    sizes = [(60, 80), (60, 80), (60, 80), (300, 700), (60, 80)]
    files = [encoded(*size, seed=index) for index, size in enumerate(sizes)]
    files[1] = files[1][: len(files[1]) // 2]
    windows = [[0, 0, 60, 80], [0, 0, 60, 80], [0, 10, 60, 30], [0, 0, 300, 700], [5, 5, 50, 79]]
    one, two, done = both(files, sizes, windows)
    assert done.tolist() == [resample_planes.AVAILABLE, False, False, False, resample_planes.AVAILABLE]
    np.testing.assert_array_equal(one[done], two[done])


def test_a_header_that_says_otherwise_now_is_no_picture() -> None:
    one, _, done = both([encoded(64, 64, 0)], [(64, 72)], [[0, 0, 64, 72]])
    assert not done.any()
    assert np.isnan(one).all()
