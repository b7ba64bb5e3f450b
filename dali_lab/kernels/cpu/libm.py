"""Functions of the C library, element by element: the same that NVIDIA DALI calls, so the same last bits.

NumPy has vectors of its own for most of them, which are faster and differ in the last places.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.emission import has
from dali_lab.kernels.cpu.machine.foreign import call_with_float, call_with_two_floats
from dali_lab.kernels.cpu.machine.logarithm_vectors import COEFFICIENTS, ENTRIES, START
from dali_lab.kernels.cpu.memory import kernel

_LOG2 = np.array((
    1.398907162146528, 1.3403141896637998, 1.286432210124115, 1.2367150214269895, 1.1906977166711752,
    1.1479821020556429, 1.1082251448272158, 1.0711297413057381, 1.036437278977283, 1.0,
    0.9492859795739057, 0.8951049428609004, 0.8476821620351103, 0.8050314851692001, 0.7664671008843108,
    0.731428603316328,
    -0.48430022186289673, -0.42257122959194704, -0.3633754347673556, -0.30651309567405577, -0.25180720160537634,
    -0.19910014943794563, -0.14825100623281615, -0.09913323807318392, -0.051632812977629436, 0.0,
    0.07508531937943004, 0.15987125980713107, 0.2384046664317681, 0.31288288605863257, 0.38370422656453185,
    0.451211048935815,
    -0.36051725506874704, 0.4811247078767291, -0.7213476299867769, 1.4426950186867042,
))  # fmt: skip
"""Sixteen inverses, the logarithms of their reciprocals, and four coefficients of a polynomial for the rest.

They are those of ``log2f`` in Arm's optimized routines, which glibc and musl have.
"""


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
    """The numbers from which the C library computes ``log2f``; none where it has another way.

    A positive number is ``2**k * z``, where ``z`` belongs to one of sixteen entries.

    Returns
    -------
    Array
        ``float64``: the inverses, the logarithms and the coefficients.
    """
    function = _function("log2", "f4")
    if function is not None and uses("libraries") and uses("vectors") and has("fma"):
        values = np.arange(1 << 23, 255 << 23, 1040001).astype(np.int32).view(np.float32)
        expected = np.array([function[0](ctypes.c_float(value)) for value in values.tolist()], np.float32)
        if np.array_equal(_log2(values, _LOG2), expected):
            return _LOG2
    return np.empty(0)


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
