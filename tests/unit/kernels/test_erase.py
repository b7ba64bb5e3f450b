"""Erased regions against NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.erase import erase, erase_regions
from tests.together import with_each
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn  # isort: skip

SHAPES = [(1, 1, 3), (9, 14, 3), (30, 21, 3)]


def pictures(dtype: Any) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(1, 100, shape).astype(dtype) for shape in SHAPES]


def ours(images: list[Array], anchor: Any, shape: Any, axes: tuple[int, ...], fill: Any, **how: Any) -> list[Array]:
    count = len(images)
    anchors = np.broadcast_to(np.reshape(anchor, (-1, len(axes))), (count, len(anchor) // len(axes), len(axes)))
    extents = np.broadcast_to(np.reshape(shape, (-1, len(axes))), anchors.shape)
    shapes = table([i.shape for i in images])
    starts, stops = erase_regions(anchors, extents, axes, shapes, **how)
    out = [np.empty_like(i) for i in images]
    erase(
        addresses(images), addresses(out), shapes, starts, stops, fill, images[0].dtype,
        fill_axis=2 if len(fill) > 1 else -1,
    )  # fmt: skip
    return out


CASES: list[tuple[list[float], list[float], tuple[int, ...]]] = [
    ([2.0, 3.0], [4.0, 5.0], (0, 1)),
    ([3.4, -1.6], [4.7, 5.5], (1, 0)),
    ([1.0, 1.0, 5.5, 7.5], [2.0, 3.0, 30.0, 2.5], (0, 1)),
    ([4.0], [2.0], (1,)),
    ([1.0], [1.0], (2,)),
    ([50.0, 1.0], [5.0, 5.0], (0, 1)),
    ([3.0, 3.0], [-2.0, 4.0], (0, 1)),
]


@with_each(("anchor", "shape", "axes"), CASES)
@with_each("dtype", [np.uint8, np.int16, np.float32])
@with_each("fill", [[7.6], [7.6, 8.0, 9.5]])
def test_erase_is_equal(fill: list[float], dtype: Any, anchor: Any, shape: Any, axes: Any) -> None:
    images = pictures(dtype)
    want = dali(lambda d: fn.erase(d, anchor=anchor, shape=shape, axes=list(axes), fill_value=fill), images, "HWC")
    assert difference(ours(images, anchor, shape, axes, fill), want) == 0


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("share", [(True, False), (False, True), (True, True)])
def test_relative_regions(share: tuple[bool, bool], centered: bool) -> None:
    images = pictures(np.uint8)
    anchor = [0.2, 0.35] if share[0] else [3.2, 5.0]
    shape = [0.3, 0.41] if share[1] else [4.5, 3.0]
    want = dali(
        lambda d: fn.erase(
            d, anchor=anchor, shape=shape, axes=[0, 1], normalized_anchor=share[0], normalized_shape=share[1],
            centered_anchor=centered,
        ),
        images,
        "HWC",
    )  # fmt: skip
    how = {"normalized_anchor": share[0], "normalized_shape": share[1], "centered": centered}
    assert difference(ours(images, anchor, shape, (0, 1), [0.0], **how), want) == 0


def test_fill_values_that_do_not_fit_wrap_around() -> None:
    image = np.ones((1, 4, 1), np.uint8)
    for value, stored in [(300.0, 44), (-8.0, 248)]:
        (out,) = ours([image], [1.0], [2.0], (1,), [value])
        assert out[0, :, 0].tolist() == [1, stored, stored, 1]


def test_erase_in_place() -> None:
    image = np.ones((4, 4, 1), np.float64)
    where = addresses([image])
    starts, stops = table([[[1, 1, 0]]]), table([[[2, 3, 1]]])
    erase(where, where, table([image.shape]), starts, stops, np.array([5.0]), np.float64)
    assert image.sum() == 14 + 10
