"""Arithmetic over arrays with NVIDIA DALI's rules: C's wrap-around, truncation, remainders and comparisons.

Each function takes the array to fill and the operands, of any dtypes, already of shapes that numpy stretches over
each other. NumPy's loops convert as they go and run without the GIL; only the functions of the C library are called
from compiled code, as their last bits are not NumPy's.

What DALI does (measured on 2.4): operands are first converted to the type of the result; small integers wrap; ``//``
and ``%`` of integers are C's, of floats a plain quotient and ``fmod``; an integer to a negative power is 0; shift
counts are taken modulo 32 (64 for 64-bit integers); beside a float, a negative integer is below every float; ``min``,
``max`` and ``clamp`` are comparisons, so what they make of NaN depends on the order of the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[..., None]


class ZeroDivision(ValueError):
    """An integer was divided by zero."""


def _ufunc(function: np.ufunc) -> Function:
    """Compute in the dtype of the result."""

    def apply(out: Array, *operands: Array) -> None:
        function(*operands, out=out, dtype=out.dtype, casting="unsafe")

    return apply


def _library(name: str, function: np.ufunc) -> Function:
    """A function of the C library; of float16, or where there is no such library, NumPy's."""

    def apply(out: Array, *operands: Array) -> None:
        from dali_lab.kernels.cpu import libm

        kind = out.dtype
        values = [np.ascontiguousarray(np.broadcast_to(each, out.shape), kind).reshape(-1) for each in operands[1:]]
        target = out if out.flags.c_contiguous else np.empty(out.shape, kind)
        np.copyto(target, operands[0], casting="unsafe")
        if kind not in (np.float32, np.float64) or not libm.apply(name, target.reshape(-1), *values):
            function(*operands, out=out, dtype=kind, casting="unsafe")
        elif target is not out:
            np.copyto(out, target)

    return apply


def multiply(out: Array, left: Array, right: Array) -> None:
    """Product; of two bools, whether both are true."""
    function = np.logical_and if out.dtype == np.bool_ else np.multiply
    function(left, right, out=out, dtype=out.dtype, casting="unsafe")


def quotient(out: Array, left: Array, right: Array) -> None:
    """``//``: truncated toward zero for integers, a plain quotient for floats.

    Raises
    ------
    ZeroDivision
        If an integer divisor is zero.
    """
    if out.dtype.kind == "f":
        np.true_divide(left, right, out=out, dtype=out.dtype, casting="unsafe")
        return
    divisor = _nonzero(right, out.dtype)
    if out.dtype.kind == "u":
        np.floor_divide(left, divisor, out=out, dtype=out.dtype, casting="unsafe")
        return
    rest = np.fmod(left, divisor, dtype=out.dtype, casting="unsafe")
    np.subtract(left, rest, out=rest, dtype=out.dtype, casting="unsafe")
    np.floor_divide(rest, divisor, out=out, dtype=out.dtype, casting="unsafe")


def remainder(out: Array, left: Array, right: Array) -> None:
    """``%``: the remainder with the sign of the dividend; of an integer and a float it is found in float64.

    Raises
    ------
    ZeroDivision
        If an integer divisor is zero.
    """
    if out.dtype.kind != "f":
        np.fmod(left, _nonzero(right, out.dtype), out=out, dtype=out.dtype, casting="unsafe")
        return
    mixed = any(np.asarray(operand).dtype.kind != "f" for operand in (left, right))
    np.fmod(left, right, out=out, dtype=np.float64 if mixed else out.dtype, casting="unsafe")


def _nonzero(divisor: Array, dtype: np.dtype[Any]) -> Array:
    converted = np.asarray(divisor).astype(dtype, copy=False)
    if not converted.all():
        raise ZeroDivision("integer division by zero")
    return converted


def power(out: Array, base: Array, exponent: Array) -> None:
    """``**``; an integer to a negative power is 0."""
    if out.dtype.kind == "f":
        FUNCTIONS["fpow"](out, base, exponent)
        return
    if out.dtype.kind == "u":
        np.power(base, exponent, out=out, dtype=out.dtype, casting="unsafe")
        return
    exponents = np.asarray(exponent).astype(out.dtype, copy=False)
    negative = exponents < 0
    np.power(base, np.where(negative, 0, exponents), out=out, dtype=out.dtype, casting="unsafe")
    np.copyto(out, 0, where=negative)


def _bitwise(function: np.ufunc) -> Function:
    def apply(out: Array, *operands: Array) -> None:
        if out.dtype == np.bool_:
            operands = tuple(np.asarray(operand).astype(np.bool_, copy=False) for operand in operands)
            function(*operands, out=out)
        else:
            function(*operands, out=out, dtype=out.dtype, casting="unsafe")

    return apply


def _shift(function: np.ufunc) -> Function:
    """Shift in the type that C would use, by as many places as its processor would take."""

    def apply(out: Array, left: Array, right: Array) -> None:
        wide = out.dtype if out.dtype.itemsize >= 4 else np.dtype(np.int32)
        places = np.bitwise_and(np.asarray(right).astype(wide, copy=False), wide.type(8 * wide.itemsize - 1))
        # The left operand goes through the type of the result, whose sign it must keep.
        value = np.asarray(left).astype(out.dtype, copy=False)
        function(value, places, out=out, dtype=wide, casting="unsafe")

    return apply


def _comparison(function: np.ufunc) -> Function:
    """Integers are compared as numbers, whatever their types; beside a float, in the type of both together.

    As in NVIDIA DALI a negative integer is below every float, whatever the float is: ``-5.0 < -2`` is false.
    """
    left_below, right_below = bool(function(-1, 0)), bool(function(0, -1))

    def apply(out: Array, left: Array, right: Array) -> None:
        left, right = np.asarray(left), np.asarray(right)
        if left.dtype.kind == "f" or right.dtype.kind == "f":
            floats = [operand.dtype for operand in (left, right) if operand.dtype.kind == "f"]
            together = max(floats, key=lambda dtype: dtype.itemsize)
            function(left, right, out=out, signature=(together, together, np.dtype(np.bool_)), casting="unsafe")
            for operand, answer in ((left, left_below), (right, right_below)):
                if operand.dtype.kind == "i":
                    np.copyto(out, answer, where=operand < 0)
        else:
            function(left, right, out=out)

    return apply


def _extreme(keeps_left: np.ufunc, of_integers: np.ufunc) -> Function:
    """The left operand where the comparison holds, else the right one."""

    def apply(out: Array, left: Array, right: Array) -> None:
        if out.dtype.kind != "f":
            of_integers(left, right, out=out, dtype=out.dtype, casting="unsafe")
            return
        first = np.asarray(left).astype(out.dtype, copy=False)
        np.copyto(out, right, casting="unsafe")
        np.copyto(out, first, where=keeps_left(first, out))

    return apply


def clamp(out: Array, value: Array, low: Array, high: Array) -> None:
    """The value, not below `low`, and then not above `high`."""
    if out.dtype.kind != "f":
        np.maximum(value, low, out=out, dtype=out.dtype, casting="unsafe")
        np.minimum(out, high, out=out, dtype=out.dtype, casting="unsafe")
        return
    np.copyto(out, value, casting="unsafe")
    for bound, beyond in ((low, np.less), (high, np.greater)):
        limit = np.asarray(bound).astype(out.dtype, copy=False)
        np.copyto(out, limit, where=beyond(out, limit))


def absolute(out: Array, value: Array) -> None:
    """Absolute value; the lowest signed integer stays as it is."""
    np.absolute(value, out=out, dtype=out.dtype, casting="unsafe")


def reciprocal_root(out: Array, value: Array) -> None:
    """One over the square root; NaN for a float32 that is 0 or infinite, which DALI's refinement step makes of them."""
    if out.dtype == np.float32:
        from dali_lab.kernels.cpu.reciprocal_root import reciprocal_roots

        values = np.array(value, np.float32)
        reciprocal_roots(values.reshape(-1))
        np.copyto(out, values)
    else:
        np.sqrt(value, out=out, dtype=out.dtype, casting="unsafe")
        np.divide(out.dtype.type(1), out, out=out)


def convert(out: Array, value: Array) -> None:
    """The value in the type of the result."""
    np.copyto(out, value, casting="unsafe")


FUNCTIONS: dict[str, Function] = {
    "plus": convert,
    "minus": _ufunc(np.negative),
    "bitnot": _bitwise(np.invert),
    "abs": absolute,
    "fabs": absolute,
    "floor": _ufunc(np.floor),
    "ceil": _ufunc(np.ceil),
    "rsqrt": reciprocal_root,
    **{
        name: _library(name, getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
                                          "acosh": "arccosh", "atanh": "arctanh"}.get(name, name)))
        for name in ("cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
                     "tanh", "asinh", "acosh", "atanh")
    },
    "sqrt": _ufunc(np.sqrt),
    "add": _ufunc(np.add),
    "sub": _ufunc(np.subtract),
    "mul": multiply,
    "div": quotient,
    "fdiv": _ufunc(np.true_divide),
    "mod": remainder,
    "pow": power,
    "fpow": _library("pow", np.power),
    "atan2": _library("atan2", np.arctan2),
    "min": _extreme(np.less, np.minimum),
    "max": _extreme(np.greater, np.maximum),
    "bitand": _bitwise(np.bitwise_and),
    "bitor": _bitwise(np.bitwise_or),
    "bitxor": _bitwise(np.bitwise_xor),
    "lshift": _shift(np.left_shift),
    "rshift": _shift(np.right_shift),
    "eq": _comparison(np.equal),
    "neq": _comparison(np.not_equal),
    "lt": _comparison(np.less),
    "leq": _comparison(np.less_equal),
    "gt": _comparison(np.greater),
    "geq": _comparison(np.greater_equal),
    "clamp": clamp,
}  # fmt: skip


def function(name: str, values: Array) -> Array:
    """One of the functions of one operand, of floats."""
    result = np.empty(values.shape, values.dtype)
    FUNCTIONS[name](result, values)
    return result
