"""Windows, flips, padding and transposes against numpy, and against NVIDIA DALI where there is an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dali_lab.kernels.cpu.copy import copy, copy_window, flip, transpose
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn  # isort: skip


def reference(source: Array, start: Any, size: Any, step: Any, order: Any, fill: Any, fill_axis: int) -> Array:
    """The definition, element by element."""
    out = np.empty(size, source.dtype)
    for index in np.ndindex(*size):
        at = [s + i * d for s, i, d in zip(start, index, step, strict=True)]
        inside = all(0 <= p < n for p, n in zip(at, source.shape, strict=True))
        out_index = [index[axis] for axis in order]
        value = fill[out_index[fill_axis]] if fill_axis >= 0 else fill[0]
        out[index] = source[tuple(at)] if inside else value
    return out.transpose(order)


@st.composite
def windows(draw: Any) -> Any:
    ndim = draw(st.integers(1, 4))
    shape = [draw(st.integers(1, 5)) for _ in range(ndim)]
    start = [draw(st.integers(-3, 6)) for _ in range(ndim)]
    size = [draw(st.integers(0, 6)) for _ in range(ndim)]
    step = [draw(st.sampled_from([1, 1, 1, -1, 2, -2, 3])) for _ in range(ndim)]
    order = draw(st.permutations(range(ndim)))
    dtype = draw(st.sampled_from(["u1", "u2", "u4", "u8"]))
    fill_axis = draw(st.integers(-1, ndim - 1))
    return shape, start, size, step, list(order), dtype, fill_axis


@settings(max_examples=300, deadline=None)
@given(windows())
def test_any_window(case: Any) -> None:
    shape, start, size, step, order, dtype, fill_axis = case
    source = (np.arange(int(np.prod(shape))) % 200 + 1).reshape(shape).astype(dtype)
    extent = [size[axis] for axis in order]
    fill = np.arange(201, 201 + (extent[fill_axis] if fill_axis >= 0 and extent[fill_axis] else 1)).astype(dtype)
    want = reference(source, start, size, step, order, fill, fill_axis)
    out = np.zeros(extent, dtype)
    copy_window(
        addresses([source]), addresses([out]), table([shape]), table([start]), table([size]), source.itemsize,
        steps=table([step]), order=tuple(order), fill=fill, fill_axis=fill_axis,
    )  # fmt: skip
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_crop_that_leaves_the_image(dtype: Any) -> None:
    images = [np.arange(h * w * 3).reshape(h, w, 3).astype(dtype) for h, w in [(1, 1), (5, 9), (30, 20)]]
    out = [np.empty((7, 11, 3), dtype) for _ in images]
    starts = table([(0, 0, 0), (-2, -1, 0), (20, 15, 0)])
    fill = np.array([9, 8, 7], dtype).view(f"u{np.dtype(dtype).itemsize}")
    copy_window(
        addresses(images), addresses(out), table([i.shape for i in images]), starts, table([(7, 11, 3)] * 3),
        images[0].itemsize, fill=fill, fill_axis=2,
    )  # fmt: skip
    want = dali(
        lambda d, start: fn.slice(
            d, start=start, shape=[7, 11], axes=[0, 1], out_of_bounds_policy="pad", fill_values=[9, 8, 7]
        ),
        images,
        "HWC",
        start=[np.array(s[:2], np.int32) for s in starts],
    )
    assert difference(out, want) == 0


def test_flip() -> None:
    images = [np.random.default_rng(0).integers(0, 255, (*s, 3), np.uint8) for s in [(1, 1), (5, 9), (30, 21)]]
    flips = [(False, True, False), (True, False, False), (True, True, False)]
    out = [np.empty_like(i) for i in images]
    flip(addresses(images), addresses(out), table([i.shape for i in images]), np.array(flips), 1)
    want = dali(
        lambda d, h, v: fn.flip(d, horizontal=h, vertical=v),
        images,
        "HWC",
        h=[np.int32(f[1]) for f in flips],
        v=[np.int32(f[0]) for f in flips],
    )
    assert difference(out, want) == 0


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (0, 1, 2), (2, 1, 0)])
def test_transpose(order: tuple[int, ...]) -> None:
    images = [np.random.default_rng(0).random((*s, 3)).astype(np.float32) for s in [(1, 1), (5, 9), (30, 21)]]
    out = [np.empty([i.shape[axis] for axis in order], np.float32) for i in images]
    transpose(addresses(images), addresses(out), table([i.shape for i in images]), order, 4)
    want = dali(lambda d: fn.transpose(d, perm=list(order)), images)
    assert difference(out, want) == 0


def test_copy() -> None:
    arrays = [np.arange(n, dtype=np.int16) for n in (0, 1, 7, 1000)]
    out = [np.zeros_like(a) for a in arrays]
    copy(addresses(arrays), addresses(out), np.array([a.size for a in arrays]), 2)
    assert difference(out, arrays) == 0
