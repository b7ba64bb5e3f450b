"""Affine warps and rotations against NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu.warp import inverted_affine, rotated_sizes, rotation_matrices, warp_affine
from tests.unit.kernels.oracle import Array, addresses, dali, difference, table

from nvidia.dali import fn, types  # isort: skip

INTERPOLATION = [types.INTERP_NN, types.INTERP_LINEAR]
SIZES = [(1, 1), (1, 7), (21, 33), (40, 300)]
MATRICES = np.array(
    [
        [1.1, 0.2, -3.3, -0.3, 0.8, 2.7],
        [0.5, -0.4, 5.0, 0.6, 0.7, -4.1],
        [-1.0, 0.0, 33.0, 0.0, 1.0, 0.0],
        [0.01, 3.0, -9.0, -0.2, 0.04, 25.0],
    ],
    np.float32,
)


def pictures(dtype: Any = np.uint8, channels: int = 3) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, channels)).astype(dtype) for size in SIZES]


def ours(images: list[Array], sizes: Any, matrices: Array, linear: int, dtype: Any, fill: Any = None) -> list[Array]:
    out = [np.empty((*size, image.shape[2]), dtype) for size, image in zip(sizes, images, strict=True)]
    warp_affine(
        addresses(images), addresses(out), table([(1, *i.shape) for i in images]), table([(1, *o.shape) for o in out]),
        matrices, np.full(len(images), linear), images[0].dtype, dtype, fill=fill,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("fill", [None, 42.7])
@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("dtypes", [(np.uint8, np.uint8), (np.uint8, np.float32), (np.float32, np.float32)])
def test_affine_is_equal(dtypes: Any, linear: int, fill: float | None) -> None:
    images = pictures(dtypes[0])
    kind = types.FLOAT if dtypes[1] is np.float32 else types.UINT8
    more = {} if fill is None else {"fill_value": fill}
    want = dali(
        lambda d, m: fn.warp_affine(d, matrix=m, size=(23, 31), interp_type=INTERPOLATION[linear], dtype=kind, **more),
        images,
        "HWC",
        m=[m.reshape(2, 3) for m in MATRICES],
    )
    got = ours(images, [(23, 31)] * 4, MATRICES, linear, dtypes[1], None if fill is None else [[fill]])
    assert difference(got, want) == 0


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_channels(channels: int) -> None:
    images = pictures(channels=channels)
    want = dali(lambda d, m: fn.warp_affine(d, matrix=m), images, "HWC", m=[m.reshape(2, 3) for m in MATRICES])
    assert difference(ours(images, SIZES, MATRICES, 1, np.uint8), want) == 0


def test_inverted_matrix() -> None:
    images = pictures()
    matrices = MATRICES.copy()
    want = dali(
        lambda d, m: fn.warp_affine(d, matrix=m, inverse_map=False, dtype=types.FLOAT),
        images,
        "HWC",
        m=[m.reshape(2, 3) for m in matrices],
    )
    got = ours(images, SIZES, inverted_affine(matrices), 1, np.float32)
    assert difference(got, want) < 0.05  # the inverse may differ in its last bits


ANGLES = np.array([17.0, -45.0, 90.0, 200.5], np.float32)


@pytest.mark.parametrize("linear", [0, 1])
def test_rotation(linear: int) -> None:
    images = pictures()
    want = dali(
        lambda d, a: fn.rotate(d, angle=a, fill_value=9, interp_type=INTERPOLATION[linear]),
        images,
        "HWC",
        a=list(ANGLES),
    )
    sizes = rotated_sizes(ANGLES, table(SIZES))
    got = ours(images, sizes, rotation_matrices(ANGLES, table(SIZES), sizes), linear, np.uint8, [[9]])
    assert difference(got, want) == 0


def test_rows_longer_than_a_span() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 900, 2)).astype(np.uint8)
    matrix = np.array([[0.83, 0.013, 3.3, 0.0031, 0.71, 0.7]], np.float32)
    want = dali(lambda d: fn.warp_affine(d, matrix=matrix[0].tolist(), dtype=types.FLOAT), [image], "HWC")
    assert difference(ours([image], [(3, 900)], matrix, 1, np.float32), want) == 0


def test_rotated_sizes_for_many_angles() -> None:
    angles = np.linspace(-360, 360, 97, dtype=np.float32)
    sizes = table([(30 + i % 7, 41 + i % 5) for i in range(len(angles))])
    images = [np.zeros((*size, 1), np.uint8) for size in sizes]
    want = dali(lambda d, a: fn.rotate(d, angle=a), images, "HWC", a=list(angles))
    np.testing.assert_array_equal(rotated_sizes(angles, sizes), [w.shape[:2] for w in want])


@pytest.mark.parametrize("linear", [0, 1])
def test_projection(linear: int) -> None:
    images = pictures()
    matrix = np.array([1.05, 0.1, -3, 0.02, 0.9, 4, 0.0007, 0.001, 1], np.float32)
    want = dali(
        lambda d: fn.experimental.warp_perspective(
            d, matrix=matrix.tolist(), pixel_origin="corner", fill_value=[9.0], interp_type=INTERPOLATION[linear]
        ),
        images,
        "HWC",
    )
    got = ours(images, SIZES, np.tile(matrix, (4, 1)), linear, np.uint8, [[9]])
    for a, b in zip(got, want, strict=True):
        assert np.mean(a != b) < 0.002  # the last bits of the division
        if linear:
            assert difference([a], [b]) <= 1
