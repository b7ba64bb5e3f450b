"""Functions of the C library, element by element: the same that NVIDIA DALI calls, so the same last bits.

NumPy has vectors of its own for most of them, which are faster and differ in the last places.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.foreign import call_with_float, call_with_two_floats
from dali_lab.kernels.cpu.memory import kernel


@kernel
def _apply(function: int, values: Array) -> None:
    for k in range(values.shape[0]):
        values[k] = call_with_float(function, values[k])


@kernel
def _apply_to_two(function: int, values: Array, others: Array) -> None:
    for k in range(values.shape[0]):
        values[k] = call_with_two_floats(function, values[k], others[k])


@cache
def _function(name: str, kind: str) -> Any:
    """A function of floats (``f4``) or doubles (``f8``) for Python; `None` if there is no such library or function."""
    try:
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        function: Any = getattr(library, f"{name}f" if kind == "f4" else name)
    except (AttributeError, OSError):
        return None
    real = ctypes.c_float if kind == "f4" else ctypes.c_double
    function.restype, function.argtypes = real, None
    return function, real


@cache
def address(name: str, kind: str) -> int | None:
    """The address of a function of floats (``f4``) or doubles (``f8``), for kernels; `None` if they cannot call it."""
    function = _function(name, kind)
    if function is None or not uses("libraries"):
        return None
    return ctypes.cast(function[0], ctypes.c_void_p).value


def apply(name: str, values: Array, other: Array | None = None) -> bool:
    """Put ``name(value)``, or ``name(value, other)``, in place of values; whether the library has the function.

    Parameters
    ----------
    values, other
        float32 or float64, contiguous, of one dimension.
    """
    function, place = _function(name, values.dtype.str[1:]), address(name, values.dtype.str[1:])
    if function is None:
        return False
    operands = (values,) if other is None else (values, other)
    if place is None:
        call, real = function
        values[:] = [call(*map(real, each)) for each in zip(*(operand.tolist() for operand in operands), strict=True)]
    elif other is None:
        _apply(place, values)
    else:
        _apply_to_two(place, values, other)
    return True
