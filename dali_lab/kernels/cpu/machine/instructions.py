"""Single instructions that Python and Numba have no word for, each with a function in Python of the same result.

Rounding once where NVIDIA DALI or OpenCV does, and arithmetic of 32 bits where Numba would make it 64, decide about the
last bits of results and about whether a loop becomes vectors.
"""

from __future__ import annotations

import math
import platform
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils

from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.emission import emitted
from dali_lab.kernels.cpu.memory import inner_part, part

_i64 = ir.IntType(64)
_SPLIT = 2.0**27 + 1


@emitted
def fused_multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` with one rounding; all three of the same floating type."""
    if not (isinstance(a, nb_types.Float) and a == b == c):
        return None
    return a(a, a, a), lambda context, builder, signature, arguments: builder.fma(*arguments)


@part
def _sum_to_odd(a: Any, b: Any) -> Any:
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
def multiply_add_of_float32(a: Any, b: Any, c: Any) -> Any:
    """What :func:`fused_multiply_add` is of float32: their product is exact in float64."""
    return np.float32(_sum_to_odd(np.float64(a) * np.float64(b), np.float64(c)))


@part
def multiply_add_of_float64(a: Any, b: Any, c: Any) -> Any:
    """What :func:`fused_multiply_add` is of float64, but where a product or its halves leave the range.

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


@emitted
def shift_right(typingctx: Any, value: Any, bits: Any) -> Any:
    """``value >> bits`` in 32 bits: Numba's own shift is of 64, and so becomes all that it is computed from."""
    return nb_types.int32(nb_types.int32, nb_types.int32), lambda _, builder, signature, both: builder.ashr(*both)


@inner_part
def shift_right_in_python(value: Any, bits: Any) -> Any:
    """What :func:`shift_right` is."""
    return np.int32(value >> bits)


@emitted
def mix_colors(typingctx: Any, a: Any, b: Any, c: Any, of_a: Any, of_b: Any, of_c: Any, start: Any) -> Any:
    """The sum of three colours by weights and `start`, in fixed point with 16 bits and in 32 bits altogether."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, weights = arguments[:3], arguments[3:]
        narrow = [builder.trunc(weight, values[0].type) for weight in weights]
        total = narrow[3]
        for value, weight in zip(values, narrow[:3], strict=True):
            total = builder.add(total, builder.mul(value, weight))
        return builder.ashr(total, total.type(16))

    return nb_types.int32(*[nb_types.int32] * 3, *[nb_types.int64] * 4), codegen


@inner_part
def mix_colors_in_python(a: Any, b: Any, c: Any, of_a: Any, of_b: Any, of_c: Any, start: Any) -> Any:
    """What :func:`mix_colors` is."""
    return np.int32((a * of_a + b * of_b + c * of_c + start) >> 16)


@emitted
def estimated_root(typingctx: Any, value: Any) -> Any:
    """About ``1 / sqrt(value)`` of a float32, to 12 bits: an instruction of x86-64, in which makes differ."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        four, first = ir.VectorType(kind, 4), ir.IntType(32)(0)
        name = "llvm.x86.sse.rsqrt.ss"
        estimate = cast(Any, cgutils).get_or_insert_function(builder.module, ir.FunctionType(four, [four]), name)
        vector = builder.insert_element(ir.Constant(four, [0.0] * 4), arguments[0], first)
        return builder.extract_element(builder.call(estimate, [vector]), first)

    return nb_types.float32(nb_types.float32), codegen


@inner_part
def exact_root(value: Any) -> Any:
    """``1 / sqrt(value)`` of a float32: what :func:`estimated_root` is about, for other processors."""
    return np.float32(1) / np.sqrt(value)


@emitted
def take(typingctx: Any, address: Any) -> Any:
    """The number at an address, which one is added to: no other thread gets the same.

    Threads that share the samples of a chunk take them so. Used where JPEG pictures are decoded in a kernel only.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _i64.as_pointer())
        return builder.atomic_rmw("add", pointer, _i64(1), "monotonic")

    return nb_types.int64(nb_types.int64), codegen


@emitted
def cycles(typingctx: Any) -> Any:
    """The processor's counter of time; used where :func:`take` is."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function: Any = cgutils.get_or_insert_function
        count = function(builder.module, ir.FunctionType(_i64, []), "llvm.readcyclecounter")
        return builder.call(count, [])

    return nb_types.int64(), codegen


if not uses("instructions") or platform.machine() not in ("x86_64", "AMD64"):
    estimated_root = exact_root
if not uses("instructions"):
    from dali_lab.kernels.cpu.memory import variants

    def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
        """``a * b + c`` with one rounding; all three of the same floating type."""
        raise NotImplementedError

    @variants(fused_multiply_add)
    def _choose_multiply_add(a: Any, b: Any, c: Any) -> Any:
        chosen: Any = multiply_add_of_float32 if a == nb_types.float32 else multiply_add_of_float64
        return chosen.py_func

    shift_right, mix_colors = shift_right_in_python, mix_colors_in_python
