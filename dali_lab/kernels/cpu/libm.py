"""Functions of the C library, element by element: the same that NVIDIA DALI calls, so the same last bits.

NumPy has vectors of its own for most of them, which are faster and differ in the last places.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.emission import has
from dali_lab.kernels.cpu.machine.foreign import call_with_float, call_with_two_floats
from dali_lab.kernels.cpu.machine.logarithm_vectors import COEFFICIENTS, ENTRIES, SIZE, START
from dali_lab.kernels.cpu.memory import kernel

_ONE = 9
"""The entry of the library's table for numbers about 1."""


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


@cache
def log2_table() -> Array:
    """The numbers in the C library from which its ``log2f`` is computed; none where the library has another way.

    glibc and musl have the way of Arm's optimized routines. A positive number is ``2**k * z``, where ``z`` belongs to
    one of sixteen entries: an inverse, and the logarithm of what it is the inverse of. Four coefficients of a
    polynomial for the rest come after these. They are looked for in the library's file, and tried.

    Returns
    -------
    Array
        ``float64``: the inverses, the logarithms and the coefficients.
    """
    none = np.empty(0)
    function = _function("log2", "f4")
    if function is None or not (uses("libraries") and uses("vectors") and has("fma")):
        return none
    values = np.arange(1 << 23, 255 << 23, 1040001).astype(np.int32).view(np.float32)
    expected = np.array([function[0](ctypes.c_float(value)) for value in values.tolist()], np.float32)
    with contextlib.suppress(OSError, ValueError):
        doubles = np.frombuffer(_file_of(address("log2", "f4") or 0), np.float64)
        for place in np.flatnonzero((doubles[:-1] == 1) & (doubles[1:] == 0)).tolist():
            found = doubles[max(0, place - 2 * _ONE) :][:SIZE]
            if len(found) < SIZE:
                continue
            table = np.concatenate([found[0:COEFFICIENTS:2], found[1:COEFFICIENTS:2], found[COEFFICIENTS:]])
            if np.array_equal(_log2(values, table), expected):
                return table
    return none


def _log2(values: Array, table: Array) -> Array:
    """Logarithms without fused products, which hardly ever makes a difference in float32."""
    bits = values.view(np.int32).astype(np.int64)
    above = bits - START
    entry, exponent = above >> 19 & ENTRIES - 1, above >> 23
    a, b, c, d = table[COEFFICIENTS:]
    with np.errstate(all="ignore"):
        r = (bits - (exponent << 23)).astype(np.int32).view(np.float32) * table[entry] - 1
        low = d * r + (table[ENTRIES + entry] + exponent)
        return np.asarray(((a * (r * r) + (b * r + c)) * (r * r) + low).astype(np.float32))


def _file_of(place: int) -> bytes:
    """The content of the file that is mapped at an address, in whole words of 64 bits."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, *_, name = line.split(maxsplit=5)
            begin, _, end = span.partition("-")
            if int(begin, 16) <= place < int(end, 16):
                with open(name.strip(), "rb") as file:
                    content = file.read()
                return content[: len(content) // 8 * 8]
    return b""
