"""Saturating conversion of whole arrays: NumPy where it has the rule, a kernel for the pairs that are common.

The rules are those of :mod:`dali_lab.kernels.cpu.convert`, whose kernels are compiled for each pair of types; most of
the 144 pairs are rare and are put together from NumPy's loops instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_COMPILED = {
    ("float32", "uint8"),
    ("float32", "int32"),
    ("float32", "int64"),
    ("float32", "float16"),
}
"""Pairs that are worth a kernel of their own."""


def saturated(values: Array, dtype: npt.DTypeLike) -> Array:
    """`values` in another type, rounded half away from zero and clamped.

    Parameters
    ----------
    values
        Any shape, any of bool, integers and floats.
    dtype
        Any of the same.
    """
    result = np.empty(np.shape(values), dtype)
    saturate_into(result, np.asarray(values))
    return result


def saturate_into(out: Array, values: Array) -> None:
    """Fill `out`, which has the shape of `values` or one that they stretch over, with :func:`saturated` values."""
    source, target = values.dtype, out.dtype
    if (source.name, target.name) in _COMPILED and _as_one(values, out):
        from dali_lab.kernels.cpu.convert import cast

        sizes = np.array([out.size], np.int64)
        cast(_address(values), _address(out), sizes, source, target)
        return
    if source == np.float16:
        values = values.astype(np.float32)
        source = values.dtype
    with np.errstate(all="ignore"):
        if target.kind == "b":
            _to_bool(out, values)
        elif target == np.float16 and source.kind != "b":
            _to_half(out, values)
        elif target.kind == "f" or source.kind == "b":
            np.copyto(out, values, casting="unsafe")
        elif source.kind == "f":
            _float_to_integer(out, values)
        else:
            _integer_to_integer(out, values)


def _as_one(values: Array, out: Array) -> bool:
    return values.shape == out.shape and values.flags.c_contiguous and out.flags.c_contiguous and out.size > 0


def _address(array: Array) -> npt.NDArray[np.int64]:
    return np.array([array.ctypes.data], np.int64)


def _to_bool(out: Array, values: Array) -> None:
    if values.dtype.kind == "f":
        np.copyto(out, ~(np.abs(values) < 0.5))
    else:
        np.not_equal(values, 0, out=out)


def _rounded(values: Array) -> Array:
    """Half away from zero."""
    whole = np.trunc(values)
    away = np.abs(values - whole) >= 0.5
    result: Array = whole + np.where(away, np.copysign(values.dtype.type(1), values), values.dtype.type(0))
    return result


def _to_half(out: Array, values: Array) -> None:
    """Through float32, half away from zero: nearest-even differs only where a float32 lies halfway between two."""
    single = values.astype(np.float32)
    even = single.astype(np.float16)
    back = even.astype(np.float32)
    short = np.abs(back) < np.abs(single)
    outward = (even.view(np.uint16) + np.uint16(1)).view(np.float16)
    halfway = short & (np.abs(single - back) == np.abs(outward.astype(np.float32) - single))
    np.copyto(out, np.where(halfway & np.isfinite(back), outward, even))


def _float_to_integer(out: Array, values: Array) -> None:
    limits = np.iinfo(out.dtype)
    rounded = _rounded(values)
    low, high = values.dtype.type(limits.min), values.dtype.type(limits.max)
    inside = (rounded > low) & (rounded < high)
    result = np.where(inside, rounded, 0).astype(out.dtype)
    result[rounded >= high] = limits.max
    result[rounded <= low] = limits.min
    undefined = {"int32": limits.min, "int64": limits.min, "uint64": 2**63}.get(out.dtype.name, 0)
    if undefined:
        result[np.isnan(rounded)] = undefined
    np.copyto(out, result)


def _integer_to_integer(out: Array, values: Array) -> None:
    have, want = np.iinfo(values.dtype), np.iinfo(out.dtype)
    if have.min < want.min:
        values = np.maximum(values, values.dtype.type(want.min))
    if have.max > want.max:
        values = np.minimum(values, values.dtype.type(want.max))
    np.copyto(out, values, casting="unsafe")
