"""Conversion of dtypes by NumPy and of float16, equal to NVIDIA DALI's ``fn.cast``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.casting import saturated
from dali_lab.kernels.cpu.convert import cast
from tests.together import with_each
from tests.unit.kernels.oracle import Array, addresses, dali, table

from nvidia.dali import fn, types  # isort: skip

DTYPES = {
    np.dtype(bool): types.BOOL,
    np.dtype(np.uint8): types.UINT8,
    np.dtype(np.int8): types.INT8,
    np.dtype(np.uint16): types.UINT16,
    np.dtype(np.int16): types.INT16,
    np.dtype(np.uint32): types.UINT32,
    np.dtype(np.int32): types.INT32,
    np.dtype(np.uint64): types.UINT64,
    np.dtype(np.int64): types.INT64,
    np.dtype(np.float16): types.FLOAT16,
    np.dtype(np.float32): types.FLOAT,
    np.dtype(np.float64): types.FLOAT64,
}
REALS = [
    -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 254.5, 255.5, 300, -300, np.nan, np.inf, -np.inf, 0.49999997, 0.3, 1e10, -1e10,
    3e19, 1e5, -1e5, 65519.996, 65520, 65535, 1e-8, 6e-8, 3e-8, 2.98e-8, 1 + 2**-11, 1 + 3 * 2**-11, 0, -0.0, 127.5,
    -128.5, 32767.5, 2147483648.0, 9.3e18,
]  # fmt: skip
INTEGERS = [
    -1, 300, 70000, -70000, 2**31, 2**40, -(2**40), 5, 0, 127, 128, -128, -129, 2**63 - 1, -(2**63), 2**64 - 1,
    2**63 + 5,
]  # fmt: skip


def values(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(REALS).astype(dtype)
    info = np.iinfo(dtype)
    return np.array([v for v in [*INTEGERS, info.min, info.max] if info.min <= v <= info.max], dtype)


@with_each("source", list(DTYPES))
def test_numpy_converts_as_nvidia_dali(source: np.dtype[Any]) -> None:
    """The cases of `cast` are about the kernel."""
    data = values(source)
    results = dali(lambda d: [fn.cast(d, dtype=kind) for kind in DTYPES.values()], [data])
    for dtype, (want,) in zip(DTYPES, results, strict=True):
        np.testing.assert_array_equal(saturated(data, dtype), want, err_msg=f"{source} to {dtype}")


def test_every_half_survives_the_way_through_float32() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    halves = bits.view(np.float16)
    wide = np.empty(halves.shape, np.float32)
    cast(addresses([halves]), addresses([wide]), np.array([halves.size]), np.float16, np.float32)
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    back = np.empty(halves.shape, np.float16)
    cast(addresses([wide]), addresses([back]), np.array([wide.size]), np.float32, np.float16)
    np.testing.assert_array_equal(back, halves)


def test_samples_of_several_sizes() -> None:
    arrays = [np.full(n, 3.7, np.float32) for n in (0, 1, 5, 1000)]
    out = [np.empty(a.shape, np.uint8) for a in arrays]
    cast(addresses(arrays), addresses(out), table([[a.size] for a in arrays])[:, 0].copy(), np.float32, np.uint8)
    assert all((o == 4).all() for o in out)
