"""Reading and writing elements: float16 as bits, and NVIDIA DALI's saturating conversion.

A kernel reads an element with ``widen(value, like_src)`` and writes one with ``saturate(value, like_dst)``.

What DALI does (measured on 2.4): a float becomes an integer by rounding half away from zero, then clamping;
integers clamp; a float becomes a bool when it does not round to zero, another number when it is not zero;
float32 becomes float16 rounding half away from zero, beyond 65504 infinite. NaN becomes 0 as an integer, and the
lowest ``int32`` or ``int64`` (2**63 for ``uint64``), as the processor's own conversion does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types as nb_types

from dali_lab.kernels.arrays import Array, Integer, IntegerType, Number, Real
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, rows, variants


@inner_part
def half_to_float(bits: Integer) -> Any:
    """The float32 value of float16 `bits`."""
    magnitude = np.int32(bits) & np.int32(0x7FFF)
    sign = (np.int32(bits) & np.int32(0x8000)) << np.int32(16)
    if magnitude >= 0x7C00:
        wide = np.int32((magnitude << 13) + 0x70000000)
    elif magnitude >= 0x400:
        wide = np.int32((magnitude << 13) + 0x38000000)
    else:
        wide = np.float32(np.float32(magnitude) * np.float32(2.0**-24)).view(np.int32)
    return np.int32(wide | sign).view(np.float32)


@inner_part
def float_to_half(value: Real) -> Any:
    """The float16 bits of a float32 `value`, rounded half away from zero."""
    bits = np.float32(value).view(np.int32)
    magnitude = bits & np.int32(0x7FFFFFFF)
    sign = (bits >> np.int32(16)) & np.int32(0x8000)
    if magnitude > 0x7F800000:
        half = np.int32(0x7E00)
    elif magnitude >= 0x47800000:
        half = np.int32(0x7C00)
    elif magnitude >= 0x38800000:
        half = np.int32((magnitude - 0x38000000 + 0x1000) >> 13)
    else:
        scaled = np.int32(magnitude).view(np.float32) * np.float32(16777216)
        whole = np.int32(scaled)
        half = np.int32(whole + 1) if scaled - np.float32(whole) >= np.float32(0.5) else whole
    return np.uint16(half | sign)


@inner_part
def round_away(value: Real) -> Any:
    """`value` rounded to the nearest whole number, halves away from zero. Exact, and without a branch."""
    whole = np.trunc(value)
    rest = value - whole
    return whole + np.trunc(rest + rest)


@inner_part
def whole_level(value: Real) -> Any:
    """A float32 `value` as it is once it was stored as uint8, still a float32."""
    low = value if value > 0 else np.float32(0)  # also of NaN
    within = low if low < 255 else np.float32(255)
    whole = np.trunc(within)
    return whole + (np.float32(1) if within - whole >= np.float32(0.5) else np.float32(0))


def widen(value: Number, like: Array) -> Any:
    """An element as a number to compute with: float16 bits as float32, a bool as an integer."""
    raise NotImplementedError


@variants(widen)
def _choose_widen(value: nb_types.Type, like: nb_types.Array) -> Any:
    if like.dtype == nb_types.uint16 and like.ndim == 2:

        def from_half(value: Integer, like: Array) -> Any:
            return half_to_float(value)

        return from_half
    if like.dtype == nb_types.boolean:

        def from_bool(value: Number, like: Array) -> Any:
            return np.uint8(value)

        return from_bool

    def unchanged(value: Number, like: Array) -> Any:
        return value

    return unchanged


def saturate(value: Number, like: Array) -> Any:
    """`value` as an element of the output, rounded and clamped."""
    raise NotImplementedError


@variants(saturate)
def _choose_saturate(value: nb_types.Type, like: nb_types.Array) -> Any:
    kind: Any = like.dtype
    source: Any = value
    from_float = isinstance(value, nb_types.Float)
    if kind == nb_types.uint16 and like.ndim == 2:

        def to_half(value: Number, like: Array) -> Any:
            return float_to_half(np.float32(value))

        return to_half
    if kind == nb_types.boolean:
        return _to_bool(from_float)
    if isinstance(kind, nb_types.Float):
        return _to_float(kind)
    if from_float:
        return _float_to_integer(kind, np.float32 if source == nb_types.float32 else np.float64)
    return _integer_to_integer(kind, source)


def _to_bool(from_float: bool) -> Any:
    if from_float:

        def float_to_bool(value: float, like: Array) -> Any:
            return not abs(value) < 0.5

        return float_to_bool

    def integer_to_bool(value: Number, like: Array) -> Any:
        return value != 0

    return integer_to_bool


def _to_float(kind: nb_types.Type) -> Any:
    cast = np.float32 if kind == nb_types.float32 else np.float64

    def to_float(value: Number, like: Array) -> Any:
        return cast(value)

    return to_float


def _numpy_integer(kind: IntegerType) -> Any:
    return getattr(np, str(kind))


def _float_to_integer(kind: IntegerType, real: type[np.floating[Any]]) -> Any:
    cast = _numpy_integer(kind)
    low, high = real(kind.minval), real(kind.maxval)
    least, most = cast(kind.minval), cast(kind.maxval)
    if kind.bitwidth < 32:
        # Through int32 and without branches, which vectorises.
        def small(value: Real, like: Array) -> Any:
            known = value if value == value else real(0)
            return cast(np.int32(round_away(min(max(known, low), high))))

        return small
    undefined = cast({"int32": -(2**31), "uint32": 0, "int64": -(2**63), "uint64": 2**63}[str(kind)])

    def large(value: Real, like: Array) -> Any:
        if value >= high:
            return most
        if value <= low:
            return least
        if value != value:
            return undefined
        return cast(round_away(value))

    return large


def _integer_to_integer(kind: IntegerType, source: IntegerType) -> Any:
    cast = _numpy_integer(kind)
    low, high = kind.minval, kind.maxval
    clamp_low = source.minval < low
    clamp_high = source.maxval > high
    wide = np.int64 if source.signed else np.uint64
    least, most = cast(low), cast(high)
    floor = wide(low if clamp_low else 0)
    ceiling = wide(high if clamp_high else 0)

    def clamp(value: Number, like: Array) -> Any:
        if clamp_low and wide(value) < floor:
            return least
        if clamp_high and wide(value) > ceiling:
            return most
        return cast(value)

    return clamp


@kernel
def _cast(src: Array, dst: Array, sizes: Array, like_src: Array, like_dst: Array) -> None:
    for i in range(src.shape[0]):
        source = array_at(src[i], (sizes[i],), like_src)
        target = array_at(dst[i], (sizes[i],), like_dst)
        for j in range(sizes[i]):
            target[j] = saturate(widen(source[j], like_src), like_dst)


def cast(src: Array, dst: Array, sizes: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike) -> None:
    """Convert samples element by element, as ``fn.cast`` does: rounded half away from zero and clamped.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    sizes
        ``int64[N]`` numbers of elements.
    src_dtype, dst_dtype
        Any of bool, the integers, float16, float32 and float64.
    """
    _cast(rows(src), rows(dst), rows(sizes), like(src_dtype), like(dst_dtype))
