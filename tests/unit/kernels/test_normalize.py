"""Crop, mirror, normalise against NVIDIA DALI, alone and fused with a resize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.normalize import Resized, crop_mirror_normalize, normalization, resize_crop_mirror_normalize
from dali_lab.kernels.cpu.resample import CUBIC, LINEAR
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn, types  # isort: skip

MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
DTYPES = {np.uint8: types.UINT8, np.int8: types.INT8, np.float16: types.FLOAT16, np.float32: types.FLOAT}


def ours(
    images: list[Array], layout: str, out_layout: str, windows: Any, mirror: Any, dtype: Any, mean: Any = 0.0,
    std: Any = 1.0, scale: float = 1.0, shift: float = 0.0, channels: int | None = None, fill: Any = None,
) -> list[Array]:  # fmt: skip
    shapes = [dict(zip(layout, image.shape, strict=True)) for image in images]
    rows = table([(s.get("F", 1), s["H"], s["W"], s.get("C", 1)) for s in shapes])
    windows = table(windows)
    channels = channels or int(rows[0, 3])
    sizes = [
        {"F": r[0], "H": w[2], "W": w[3], "C": channels} for r, w in zip(rows.tolist(), windows.tolist(), strict=True)
    ]
    out = [np.empty([s[letter] for letter in out_layout], dtype) for s in sizes]
    centre, inverse = normalization(mean, std, scale, shift)
    crop_mirror_normalize(
        addresses(images), addresses(out), rows, windows, np.array(mirror), centre, inverse, images[0].dtype, dtype,
        out_channels=channels, planar_src=layout.endswith("CHW"), planar_dst=out_layout.endswith("CHW"), fill=fill,
    )  # fmt: skip
    return out


def pictures(dtype: Any = np.uint8, channels: int = 3) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, channels)).astype(dtype) for size in [(9, 11), (30, 21), (16, 64)]]


def centred(images: list[Array], height: int, width: int) -> list[tuple[int, int, int, int]]:
    return [((i.shape[0] - height + 1) // 2, (i.shape[1] - width + 1) // 2, height, width) for i in images]


@pytest.mark.parametrize("out_layout", ["HWC", "CHW"])
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_equal_to_dali(dtype: Any, out_layout: str) -> None:
    images = pictures()
    mirror = [0, 1, 1]
    for scale, shift in [(1.0, 0.0), (40.0, 60.5)]:
        want = dali(
            lambda d, m, s=scale, t=shift: fn.crop_mirror_normalize(
                d, crop=(7, 9), mirror=m, mean=MEAN, std=STD, scale=s, shift=t, dtype=DTYPES[dtype],
                output_layout=out_layout,
            ),
            images,
            "HWC",
            m=[np.int32(m) for m in mirror],
        )  # fmt: skip
        got = ours(images, "HWC", out_layout, centred(images, 7, 9), mirror, dtype, MEAN, STD, scale, shift)
        assert difference(got, want) == 0


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.float16, np.float32])
def test_other_inputs(dtype: Any) -> None:
    images = pictures(dtype)
    want = dali(
        lambda d: fn.crop_mirror_normalize(d, crop=(7, 9), mean=MEAN, std=STD, dtype=types.FLOAT, mirror=1),
        images,
        "HWC",
    )
    got = ours(images, "HWC", "CHW", centred(images, 7, 9), [1, 1, 1], np.float32, MEAN, STD)
    assert difference(got, want) == 0


def test_planar_input_and_sequences() -> None:
    planar = [np.ascontiguousarray(i.transpose(2, 0, 1)) for i in pictures()]
    for out_layout in ("HWC", "CHW"):
        want = dali(
            lambda d, o=out_layout: fn.crop_mirror_normalize(d, mean=MEAN, std=STD, output_layout=o, mirror=1),
            planar,
            "CHW",
        )
        windows = [(0, 0, *p.shape[1:]) for p in planar]
        assert difference(ours(planar, "CHW", out_layout, windows, [1] * 3, np.float32, MEAN, STD), want) == 0
    video = [np.random.default_rng(1).integers(0, 256, (4, 12, 10, 3)).astype(np.uint8)]
    want = dali(
        lambda d: fn.crop_mirror_normalize(d, crop=(5, 6), mean=MEAN, std=STD, mirror=1, output_layout="FCHW"),
        video,
        "FHWC",
    )
    assert difference(ours(video, "FHWC", "FCHW", [(4, 2, 5, 6)], [1], np.float32, MEAN, STD), want) == 0


@pytest.mark.parametrize("out_layout", ["HWC", "CHW"])
@pytest.mark.parametrize("mirror", [0, 1])
def test_padding_of_window_and_channels(mirror: int, out_layout: str) -> None:
    images = pictures()
    want = dali(
        lambda d: fn.crop_mirror_normalize(
            d, crop=(20, 30), crop_pos_x=0.3, mirror=mirror, mean=MEAN, std=STD, fill_values=[9, 8, 7],
            out_of_bounds_policy="pad", pad_output=True, output_layout=out_layout,
        ),
        images,
        "HWC",
    )  # fmt: skip
    windows = []
    for image in images:
        y, x = (0.5 * (image.shape[0] - 20), np.float32(0.3) * np.float32(image.shape[1] - 30))
        windows.append(
            (int(np.copysign(np.floor(abs(y) + 0.5), y)), int(np.copysign(np.floor(abs(x) + 0.5), x)), 20, 30)
        )
    got = ours(images, "HWC", out_layout, windows, [mirror] * 3, np.float32, MEAN, STD, channels=4, fill=[9, 8, 7, 0])
    assert difference(got, want) == 0


def test_one_channel_mean_for_all() -> None:
    images = pictures(channels=2)
    want = dali(lambda d: fn.crop_mirror_normalize(d, mean=[3.0], std=[2.0]), images, "HWC")
    windows = [(0, 0, *i.shape[:2]) for i in images]
    assert difference(ours(images, "HWC", "CHW", windows, [0] * 3, np.float32, 3.0, 2.0), want) == 0


@pytest.mark.parametrize("out_layout", ["HWC", "CHW"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
@pytest.mark.parametrize("rounded", [True, False])
def test_fused_is_the_two_operators(rounded: bool, dtype: Any, out_layout: str) -> None:
    from dali_lab.kernels.cpu.resample import resize

    images = pictures()
    code = CUBIC if rounded else LINEAR
    middle = np.uint8 if rounded else np.float32
    size, mirror = (20, 26), [0, 1, 1]
    shapes = table([(1, *i.shape) for i in images])
    regions = np.array([(0.5, 1.25, i.shape[0] - 1, i.shape[1] - 2) for i in images], np.float32)
    filters = np.full(3, code)
    resized = [np.empty((*size, 3), middle) for _ in images]
    resize(
        addresses(images), addresses(resized), shapes, table([(1, *size, 3)] * 3), regions, filters, filters, True,
        np.uint8, middle,
    )  # fmt: skip
    windows = [(3, 5, 13, 18)] * 3
    want = ours(resized, "HWC", out_layout, windows, mirror, dtype, MEAN, STD, 50.0, 120.0, channels=4)
    got = [np.empty_like(w) for w in want]
    mean, inverse = normalization(MEAN, STD, 50.0, 120.0)
    resize_crop_mirror_normalize(
        addresses(images), addresses(got), shapes,
        Resized(
            table([size] * 3), table(windows), regions, filters, filters, True, np.array(mirror), mean, inverse
        ),
        np.uint8, dtype, out_channels=4, planar_dst=out_layout == "CHW", rounded=rounded,
    )  # fmt: skip
    assert difference(got, want) == 0
