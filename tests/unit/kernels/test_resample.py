"""Resizing against NVIDIA DALI: filters, regions, flips, channels and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.resample import CUBIC, GAUSSIAN, LANCZOS3, LINEAR, NN, TRIANGULAR, resize
from tests.together import with_each
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn, types  # isort: skip

INTERPOLATION = {
    NN: types.INTERP_NN,
    LINEAR: types.INTERP_LINEAR,
    CUBIC: types.INTERP_CUBIC,
    LANCZOS3: types.INTERP_LANCZOS3,
    TRIANGULAR: types.INTERP_TRIANGULAR,
    GAUSSIAN: types.INTERP_GAUSSIAN,
}
SIZES = [(1, 1), (1, 9), (13, 1), (2, 3), (37, 61), (48, 20), (75, 75)]


def ours(
    images: list[Array], size: tuple[int, int], roi: Any = None, minify: int = LINEAR, magnify: int = LINEAR,
    antialias: bool = True, dtype: Any = None,
) -> list[Array]:  # fmt: skip
    dtype = np.dtype(dtype or images[0].dtype)
    out = [np.empty((*size, image.shape[2]), dtype) for image in images]
    shapes = table([(1, *image.shape) for image in images])
    regions = [(0, 0, *image.shape[:2]) if roi is None else roi for image in images]
    resize(
        addresses(images), addresses(out), shapes, table([(1, *o.shape) for o in out]), np.array(regions, np.float32),
        np.full(len(images), minify), np.full(len(images), magnify), antialias, images[0].dtype, dtype,
    )  # fmt: skip
    return out


def pictures(rng: np.random.Generator, channels: int, dtype: Any) -> list[Array]:
    return [rng.integers(0, 256, (*size, channels)).astype(dtype) for size in SIZES]


@with_each("antialias", [True, False])
@with_each("filter_code", list(INTERPOLATION))
@with_each("size", [(1, 1), (3, 7), (40, 33), (90, 11)])
def test_uint8_is_equal(filter_code: int, antialias: bool, size: tuple[int, int]) -> None:
    images = pictures(np.random.default_rng(1), 3, np.uint8)
    how = {"size": list(size), "interp_type": INTERPOLATION[filter_code], "antialias": antialias}
    want = dali(lambda d: fn.resize(d, **how), images, "HWC")
    assert difference(ours(images, size, None, filter_code, filter_code, antialias), want) == 0


@pytest.mark.parametrize("filter_code", list(INTERPOLATION))
def test_float_output(filter_code: int) -> None:
    images = pictures(np.random.default_rng(2), 3, np.uint8)
    want = dali(
        lambda d: fn.resize(d, size=[29, 31], interp_type=INTERPOLATION[filter_code], dtype=types.FLOAT), images, "HWC"
    )
    got = ours(images, (29, 31), None, filter_code, filter_code, dtype=np.float32)
    assert difference(got, want) == 0


@pytest.mark.parametrize("channels", [1, 2, 4, 5, 9])
def test_channels(channels: int) -> None:
    images = pictures(np.random.default_rng(3), channels, np.uint8)
    want = dali(lambda d: fn.resize(d, size=[30, 20]), images, "HWC")
    assert difference(ours(images, (30, 20)), want) == 0


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.float32])
def test_other_dtypes(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    low = -30000 if dtype is np.int16 else 0
    images = [rng.integers(low, 30000, (*size, 3)).astype(dtype) for size in SIZES]
    want = dali(lambda d: fn.resize(d, size=[30, 20], interp_type=types.INTERP_CUBIC), images, "HWC")
    got = ours(images, (30, 20), None, CUBIC, CUBIC)
    assert difference(got, want) == 0


@with_each("filter_code", [LINEAR, CUBIC, GAUSSIAN, LANCZOS3])
@with_each("roi", [(3.25, 4.5, 20.75, 11.0), (25.0, 14.5, 2.5, 3.25), (-3.0, -2.0, 34.0, 19.5), (7.0, 15.0, 9.0, 2.0)])
def test_regions_and_flips(filter_code: int, roi: tuple[float, ...]) -> None:
    rng = np.random.default_rng(5)
    images = [rng.integers(0, 256, (30, 17, 3)).astype(np.uint8)]
    want = dali(
        lambda d: fn.resize(
            d, size=[24, 40], roi_start=list(roi[:2]), roi_end=list(roi[2:]), interp_type=INTERPOLATION[filter_code]
        ),
        images,
        "HWC",
    )
    assert difference(ours(images, (24, 40), roi, filter_code, filter_code), want) == 0


def test_nearest_inside_a_region() -> None:
    images = [np.random.default_rng(6).integers(0, 256, (30, 17, 3)).astype(np.uint8)]
    roi = (25.0, 2.5, 3.5, 13.25)
    want = dali(
        lambda d: fn.resize(
            d, size=[12, 40], roi_start=list(roi[:2]), roi_end=list(roi[2:]), interp_type=types.INTERP_NN
        ),
        images,
        "HWC",
    )
    assert difference(ours(images, (12, 40), roi, NN, NN), want) == 0


def test_region_outside_the_image_repeats_its_edge() -> None:
    """NVIDIA DALI reads out of bounds here, so the expected values are by definition of the edge."""
    image = np.arange(20, dtype=np.uint8).reshape(4, 5, 1)
    for code in (NN, LINEAR, CUBIC):
        (out,) = ours([image], (2, 3), (10.0, 10.0, 12.0, 14.0), code, code)
        assert (out == 19).all()
        (out,) = ours([image], (2, 3), (-9.0, -9.0, -5.0, -2.0), code, code)
        assert (out == 0).all()


def test_different_filters_for_shrinking_and_growing() -> None:
    images = pictures(np.random.default_rng(7), 3, np.uint8)
    for minify, magnify in [(NN, LINEAR), (LINEAR, NN), (CUBIC, TRIANGULAR), (LANCZOS3, GAUSSIAN)]:
        want = dali(
            lambda d, a=minify, b=magnify: fn.resize(
                d, size=[45, 19], min_filter=INTERPOLATION[a], mag_filter=INTERPOLATION[b]
            ),
            images,
            "HWC",
        )
        assert difference(ours(images, (45, 19), None, minify, magnify), want) == 0


def test_frames_are_resized_one_by_one() -> None:
    rng = np.random.default_rng(8)
    video = rng.integers(0, 256, (5, 21, 30, 3)).astype(np.uint8)
    out = np.empty((5, 9, 44, 3), np.uint8)
    resize(
        addresses([video]), addresses([out]), table([video.shape]), table([out.shape]),
        np.array([[0, 0, 21, 30]], np.float32), np.array([LINEAR]), np.array([LINEAR]), True, np.uint8, np.uint8,
    )  # fmt: skip
    want = dali(lambda d: fn.resize(d, size=[9, 44]), [video], "FHWC")
    assert difference([out], want) == 0


def test_channel_first_is_frames_of_one_channel() -> None:
    rng = np.random.default_rng(9)
    image = rng.integers(0, 256, (3, 21, 30)).astype(np.uint8)
    out = np.empty((3, 9, 44), np.uint8)
    resize(
        addresses([image]), addresses([out]), table([(3, 21, 30, 1)]), table([(3, 9, 44, 1)]),
        np.array([[0, 0, 21, 30]], np.float32), np.array([LINEAR]), np.array([LINEAR]), True, np.uint8, np.uint8,
    )  # fmt: skip
    want = dali(lambda d: fn.resize(d, size=[9, 44]), [image], "CHW")
    assert difference([out], want) == 0


def test_nothing_is_written_for_empty_samples() -> None:
    image = np.zeros((0, 5, 3), np.uint8)
    out = np.full((2, 2, 3), 7, np.uint8)
    resize(
        addresses([image]), addresses([out]), table([(1, 0, 5, 3)]), table([(1, 2, 2, 3)]),
        np.array([[0, 0, 0, 5]], np.float32), np.array([LINEAR]), np.array([LINEAR]), True, np.uint8, np.uint8,
    )  # fmt: skip
    assert (out == 7).all()


@with_each("dtype", [np.uint8, np.int16, np.uint16])
@with_each("size", [(74, 80), (20, 80), (10, 111), (37, 20), (148, 20)])
def test_halves_go_where_dali_sends_them(size: tuple[int, int], dtype: Any) -> None:
    """Small even numbers, so that many sums end in one half; in either order of passes, with columns at both ends."""
    rng = np.random.default_rng(10)
    low = -8 if dtype is np.int16 else 0
    images = [(2 * rng.integers(low, 9, (37, 40, channels))).astype(dtype) for channels in (1, 3, 5)]
    for code in (LINEAR, LANCZOS3):
        for image in images:
            want = dali(lambda d, c=code: fn.resize(d, size=list(size), interp_type=INTERPOLATION[c]), [image], "HWC")
            assert difference(ours([image], size, None, code, code), want) == 0
