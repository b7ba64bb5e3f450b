"""Functions of the C library, element by element: the same that NVIDIA DALI calls, so the same last bits.

NumPy has vectors of its own for most of them, which are faster and differ in the last places.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]

from dali_lab.kernels.cpu.emission import emitted
from dali_lab.kernels.cpu.memory import kernel

Array = np.ndarray[Any, Any]


def _calling(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place, *values = arguments
    kind = ir.FunctionType(values[0].type, [each.type for each in values])
    return builder.call(builder.inttoptr(place, kind.as_pointer()), values)


@emitted
def call(typingctx: Any, function: Any, value: Any) -> Any:
    """Call the C function at an address with one float, of which it makes another."""
    return value(function, value), _calling


@emitted
def _call_with_two(typingctx: Any, function: Any, one: Any, two: Any) -> Any:
    """Call the C function at an address with two floats of one type, of which it makes another."""
    return one(function, one, one), _calling


@kernel
def _apply(function: int, values: Array) -> None:
    for k in range(values.shape[0]):
        values[k] = call(function, values[k])


@kernel
def _apply_to_two(function: int, values: Array, others: Array) -> None:
    for k in range(values.shape[0]):
        values[k] = _call_with_two(function, values[k], others[k])


@cache
def address(name: str, kind: str) -> int | None:
    """Where a function of floats (``f4``) or doubles (``f8``) is; `None` if there is no such library or function."""
    try:
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        return ctypes.cast(getattr(library, f"{name}f" if kind == "f4" else name), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None


def apply(name: str, values: Array, other: Array | None = None) -> bool:
    """Put ``name(value)``, or ``name(value, other)``, in place of values; whether the library has the function.

    Parameters
    ----------
    values, other
        float32 or float64, contiguous, of one dimension.
    """
    function = address(name, values.dtype.str[1:])
    if function is None:
        return False
    if other is None:
        _apply(function, values)
    else:
        _apply_to_two(function, values, other)
    return True
