"""Noise compared with NVIDIA DALI, live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.noise import add_gaussian_noise, add_salt_and_pepper, add_shot_noise, jitter
from dali_lab.kernels.streams import GeneratorState, open_stream
from tests.together import with_each
from tests.unit.random.test_streams import per_sample, run_dali

dali = pytest.importorskip("nvidia.dali")

DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32"]
SHAPES = [(9, 11, 3), (1, 1, 3), (4, 40, 3)]


def pictures(dtype: str, top: float = 255) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    low = -top / 2 if np.dtype(dtype).kind in "if" else 0
    return [
        rng.uniform(low, min(top, np.iinfo(dtype).max if dtype != "float32" else top), s).astype(dtype) for s in SHAPES
    ]


def addresses_of(arrays: list[np.ndarray]) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays], np.int64)


def sizes_of(arrays: list[np.ndarray]) -> np.ndarray:
    return np.array([array.size for array in arrays], np.int64)


def source(images: list[np.ndarray], layout: str) -> Any:
    return dali.fn.external_source(lambda: images, layout=layout)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gaussian(dtype: str) -> None:
    images = pictures(dtype)
    means, deviations = [0.0, 10.0, -3.5], [1.0, 60.0, 5.0]
    theirs = run_dali(
        lambda fn: fn.noise.gaussian(
            source(images, "HWC"), mean=per_sample(means), stddev=per_sample(deviations), seed=21
        ),
        3,
        batches=2,
    )
    for batch, samples in enumerate(theirs):
        ours = [np.empty_like(image) for image in images]
        add_gaussian_noise(
            open_stream(GeneratorState(21, 3 * batch), np.arange(3)), addresses_of(images), addresses_of(ours),
            sizes_of(images),
            np.array(means, np.float32), np.array(deviations, np.float32), dtype,
        )  # fmt: skip
        for a, b in zip(ours, samples, strict=True):
            if dtype == "float32":
                np.testing.assert_allclose(a, b, atol=2e-5)
            else:  # a number may lie on a half, where the last bit of a logarithm decides
                assert (a != b).sum() <= 1


@with_each("dtype", DTYPES)
@with_each("layout", ["HWC", "CHW", "HW", ""])
@with_each("per_channel", [False, True])
@with_each("values", [False, True])
def test_salt_and_pepper(dtype: str, layout: str, per_channel: bool, values: bool) -> None:
    if layout == "HW" and not per_channel:
        return  # NVIDIA DALI wants channels here
    images = pictures(dtype)
    if layout == "CHW":
        images = [np.ascontiguousarray(image.transpose(2, 0, 1)) for image in images]
    if layout == "HW":
        images = [np.ascontiguousarray(image[..., 0]) for image in images]
    given = {"salt_val": 100.7, "pepper_val": 300.0 if dtype == "uint8" else -5.5} if values else {}
    chances, shares = [0.5, 1.0, 0.2], [0.3, 0.5, 0.9]
    theirs = run_dali(
        lambda fn: fn.noise.salt_and_pepper(
            source(images, layout), prob=per_sample(chances), salt_vs_pepper=per_sample(shares),
            per_channel=per_channel, seed=21, **given,
        ),
        3,
    )[0]  # fmt: skip
    ours = [np.empty_like(image) for image in images]
    depth = np.ones(3, np.int64) if per_channel else np.full(3, 3, np.int64)
    add_salt_and_pepper(
        open_stream(GeneratorState(21), np.arange(3)), addresses_of(images), addresses_of(ours),
        sizes_of(images) // depth, depth,
        np.array(chances, np.float32), np.array(shares, np.float32),
        np.full(3, given["salt_val"], np.float32) if values else None,
        np.full(3, given["pepper_val"], np.float32) if values else None,
        dtype, channels_first=layout == "CHW",
    )  # fmt: skip
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("top", [30, 20_000])
def test_shot(dtype: str, top: float) -> None:
    images = pictures(dtype, top)
    factors = [12.0, 0.5, 3.0]
    theirs = run_dali(lambda fn: fn.noise.shot(source(images, "HWC"), factor=per_sample(factors), seed=21), 3)[0]
    ours = [np.empty_like(image) for image in images]
    add_shot_noise(
        open_stream(GeneratorState(21), np.arange(3)), addresses_of(images), addresses_of(ours),
        sizes_of(images),
        np.array(factors, np.float32), dtype,
    )  # fmt: skip
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_shot_with_factor_0() -> None:
    images = pictures("uint8")
    theirs = run_dali(lambda fn: fn.noise.shot(source(images, "HWC"), factor=0.0, seed=21), 3)[0]
    ours = [np.empty_like(image) for image in images]
    add_shot_noise(
        open_stream(GeneratorState(21), np.arange(3)), addresses_of(images), addresses_of(ours),
        sizes_of(images),
        np.zeros(3, np.float32), "uint8",
    )  # fmt: skip
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_jitter_stays_near_and_inside(degree: int) -> None:
    """There is no jitter on the CPU to compare with: this holds what its documentation promises."""
    places = np.stack(np.meshgrid(np.arange(60), np.arange(80), indexing="ij"), -1).astype(np.int32)
    images = [np.ascontiguousarray(np.repeat(places[..., axis, None], 3, -1)) for axis in (0, 1)]
    ours = [np.empty_like(image) for image in images]
    shapes = np.full((2, 3), (60, 80, 3))
    for index, (image, out) in enumerate(zip(images, ours, strict=True)):
        jitter(
            open_stream(GeneratorState(3), np.zeros(1, np.int64)), addresses_of([image]), addresses_of([out]),
            shapes[:1], degree, True, np.int32,
        )  # fmt: skip
        offsets = (out - image)[5:-5, 5:-5]
        assert sorted(set(offsets.reshape(-1).tolist())) == list(range(-(degree // 2), degree - degree // 2))
        assert out.min() >= 0
        assert out.max() < (60, 80)[index]
    jitter(
        open_stream(GeneratorState(3), np.arange(2)),
        addresses_of(images),
        addresses_of(ours),
        shapes,
        degree,
        [0, 0],
        np.int32,
    )
    assert all((a == b).all() for a, b in zip(images, ours, strict=True))
