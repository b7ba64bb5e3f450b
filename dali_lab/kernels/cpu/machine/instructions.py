"""Single instructions that Python and Numba have no word for, each with a function in Python of the same result.

Rounding once where NVIDIA DALI or OpenCV does, and arithmetic of 32 bits where Numba would make it 64, decide about the
last bits of results and about whether a loop becomes vectors.
"""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core.typing.templates import Signature

from dali_lab.kernels.arrays import Real
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.emission import Builder, Value, called, emitted, of_integers
from dali_lab.kernels.cpu.memory import inner_part, part

_i64 = ir.IntType(64)
_SPLIT = 2.0**27 + 1


def _of_one_float(a: nb_types.Type, b: nb_types.Type, c: nb_types.Type) -> Signature | None:
    return a(a, a, a) if isinstance(a, nb_types.Float) and a == b == c else None


@emitted(_of_one_float)
def fused_multiply_add(builder: Builder, a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` with one rounding; all three of the same floating type."""
    return builder.fma(a, b, c)


@part
def _sum_to_odd(a: Real, b: Real) -> Any:
    """The sum of two float64, and if it is not exact its neighbour with an odd last bit.

    Rounded again to fewer bits, that is as if the exact sum had been rounded.
    """
    total = a + b
    share = total - a
    rest = (a - (total - share)) + (b - share)
    if rest == 0 or not math.isfinite(total):
        return total
    is_odd = np.float64(total).view(np.int64) & 1
    return total if is_odd else np.nextafter(total, math.copysign(math.inf, rest))


@part
def multiply_add_of_float32(a: Real, b: Real, c: Real) -> Any:
    """:func:`fused_multiply_add` of float32 in Python: the product is exact in float64."""
    return np.float32(_sum_to_odd(np.float64(a) * np.float64(b), np.float64(c)))


@part
def multiply_add_of_float64(a: Real, b: Real, c: Real) -> Any:
    """:func:`fused_multiply_add` of float64 in Python, but where a product or its halves leave the range.

    S. Boldo, G. Melquiond: Emulation of FMA and correctly rounded sums, IEEE Transactions on Computers 57 (2008).
    """
    product = a * b
    a_high, b_high = a * _SPLIT, b * _SPLIT
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    below = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    small = c + below
    share = small - c
    smaller = (c - (small - share)) + (below - share)
    total = product + small
    share = total - product
    rest = (product - (total - share)) + (small - share)
    return total + _sum_to_odd(smaller, rest) if math.isfinite(total) else total


@emitted(lambda *_: nb_types.int32(nb_types.int32, nb_types.int32))
def shift_right(builder: Builder, value: Value, bits: Value) -> Value:
    """``value >> bits`` in 32 bits: Numba's own shift is of 64, and so becomes all that it is computed from."""
    return builder.ashr(value, bits)


@inner_part
def shift_right_in_python(value: int, bits: int) -> Any:
    """:func:`shift_right` in Python."""
    return np.int32(value >> bits)


@emitted(lambda *_: nb_types.int32(*[nb_types.int32] * 3, *[nb_types.int64] * 4))
def mix_colors(
    builder: Builder, a: Value, b: Value, c: Value, of_a: Value, of_b: Value, of_c: Value, start: Value
) -> Value:
    """The sum of three colours by weights and `start`, in fixed point with 16 bits and in 32 bits altogether."""
    total = builder.trunc(start, a.type)
    for value, weight in ((a, of_a), (b, of_b), (c, of_c)):
        total = builder.add(total, builder.mul(value, builder.trunc(weight, a.type)))
    return builder.ashr(total, total.type(16))


@inner_part
def mix_colors_in_python(a: int, b: int, c: int, of_a: int, of_b: int, of_c: int, start: int) -> Any:
    """:func:`mix_colors` in Python."""
    return np.int32((a * of_a + b * of_b + c * of_c + start) >> 16)


@emitted(lambda _: nb_types.float32(nb_types.float32))
def estimated_root(builder: Builder, value: Value) -> Value:
    """About ``1 / sqrt(value)`` of a float32, to 12 bits: an instruction of x86-64, in which makes differ."""
    kind = value.type
    four, first = ir.VectorType(kind, 4), ir.IntType(32)(0)
    vector = builder.insert_element(ir.Constant(four, [0.0] * 4), value, first)
    return builder.extract_element(called(builder, "llvm.x86.sse.rsqrt.ss", four, [vector]), first)


@inner_part
def exact_root(value: Real) -> Any:
    """``1 / sqrt(value)`` of a float32: what :func:`estimated_root` is about, for other processors."""
    return np.float32(1) / np.sqrt(value)


@emitted(of_integers(nb_types.int64))
def take(builder: Builder, address: Value) -> Value:
    """The number at an address, which one is added to: no other thread gets the same.

    Threads that share the samples of a chunk take them so. Used where JPEG pictures are decoded in a kernel only.
    """
    pointer = builder.inttoptr(address, _i64.as_pointer())
    return builder.atomic_rmw("add", pointer, _i64(1), "monotonic")


@emitted(of_integers(nb_types.int64))
def cycles(builder: Builder) -> Value:
    """The processor's counter of time; used where :func:`take` is."""
    return called(builder, "llvm.readcyclecounter", _i64, [])


if not uses("instructions") or platform.machine() not in ("x86_64", "AMD64"):
    estimated_root = exact_root
if not uses("instructions"):
    from dali_lab.kernels.cpu.memory import variants

    def fused_multiply_add(a: Real, b: Real, c: Real) -> Any:
        """``a * b + c`` with one rounding; all three of the same floating type."""
        raise NotImplementedError

    @variants(fused_multiply_add)
    def _choose_multiply_add(a: nb_types.Type, b: nb_types.Type, c: nb_types.Type) -> Any:
        chosen: Any = multiply_add_of_float32 if a == nb_types.float32 else multiply_add_of_float64
        return chosen.py_func

    shift_right, mix_colors = shift_right_in_python, mix_colors_in_python
