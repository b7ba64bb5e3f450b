"""Dilation and erosion against the highest and lowest element of windows, taken one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dali_lab.schema import samples
from tests.together import with_each
from tests.unit.operators.running import outputs, per_sample

PADDING = {"replicate": "edge", "reflect": "symmetric", "reflect_101": "reflect", "wrap": "wrap"}


def reference(image: np.ndarray, name: str, size: Any, anchor: Any, border: str) -> np.ndarray:
    width, height = size
    column, row = (n // 2 if a < 0 else a for n, a in zip(size, anchor, strict=True))
    extreme = np.max if name == "dilate" else np.min
    limits = np.finfo(image.dtype) if image.dtype.kind == "f" else np.iinfo(image.dtype)
    around = ((row, height - 1 - row), (column, width - 1 - column), (0, 0))
    if border == "constant":
        padded = np.pad(image, around, constant_values=limits.min if name == "dilate" else limits.max)
    else:
        padded = np.pad(image, around, mode=PADDING[border])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(0, 1))
    return extreme(windows, axis=(-2, -1))


CASES = [
    ((3, 3), (-1, -1)),
    ((9, 70), (8, 5)),
    ((5, 2), (-1, -1)),
    ((4, 7), (0, 6)),
    ((1, 1), (-1, -1)),
    ((2, 6), (1, 0)),
]


@with_each("name", ["dilate", "erode"])
@with_each("border", ["constant", *PADDING])
@with_each(("size", "anchor"), CASES)
def test_is_the_extreme_of_each_window(name: str, border: str, size: Any, anchor: Any) -> None:
    images = samples.pictures()[0]
    results = outputs(f"experimental.{name}", (images, "HWC"), mask_size=size, anchor=anchor, border_mode=border)
    for image, result in zip(images, results, strict=True):
        np.testing.assert_array_equal(result, reference(image, name, size, anchor, border))


@pytest.mark.parametrize(("dtype", "channels"), [*itertools.product([np.uint16, np.int16, np.float32], [1, 4, 6])])
def test_types_and_channels(dtype: Any, channels: int) -> None:
    images = samples.pictures(channels=channels, dtype=dtype)[0]
    for image, result in zip(images, outputs("experimental.dilate", (images, "HWC")), strict=True):
        np.testing.assert_array_equal(result, reference(image, "dilate", (3, 3), (-1, -1), "constant"))


def test_layouts_agree() -> None:
    images = samples.pictures()[0]
    sizes = per_sample((3, 5), (2, 2), (7, 1))
    plain = outputs("experimental.erode", (images, "HWC"), mask_size=sizes)
    planar = outputs("experimental.erode", samples.planar(), mask_size=sizes)
    frames = outputs("experimental.erode", ([np.stack([a, a]) for a in images], "FHWC"), mask_size=sizes)
    for one, other, sequence in zip(plain, planar, frames, strict=True):
        np.testing.assert_array_equal(one, other.transpose(1, 2, 0))
        np.testing.assert_array_equal(one, sequence[1])


@pytest.mark.parametrize("border", ["constant", "wrap", "reflect_101"])
def test_iterations_repeat_it(border: str) -> None:
    images = samples.pictures()[0]
    once: Any = images
    for _ in range(3):
        once = outputs("experimental.dilate", (once, "HWC"), mask_size=(3, 2), border_mode=border)
    if border == "wrap":
        thrice = outputs("experimental.dilate", (images, "HWC"), mask_size=(3, 2), border_mode=border, iterations=3)
        for left, right in zip(once, thrice, strict=True):
            np.testing.assert_array_equal(left, right)
    same = outputs("experimental.dilate", (images, "HWC"), iterations=0)
    for left, right in zip(images, same, strict=True):
        np.testing.assert_array_equal(left, right)


def test_wide_frames_of_their_own_size() -> None:
    frames, _ = samples.sequences((2, 2, 2))
    sizes = per_sample(*[((3, 3), (5, 1))] * 3, layout="F*")
    results = outputs("experimental.dilate", (frames, "FHWC"), mask_size=sizes)
    for sequence, result in zip(frames, results, strict=True):
        np.testing.assert_array_equal(result[1], reference(sequence[1], "dilate", (5, 1), (-1, -1), "constant"))
