"""Calls of C functions at addresses, from compiled code.

Numba calls C functions only where their addresses are known when it compiles, and then keeps nothing on disk. Here the
address is an argument, so that a kernel works through the files of a chunk without the GIL and without Python for each.

Arguments are 64-bit integers: pointers, sizes, and integers of C of which only the lower half is looked at. So is the
result; of a function that returns an `int` the lower half counts (:func:`whole`). Functions of the mathematical
library take and return floats of one type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.cpu.machine.emission import emitted
from dali_lab.kernels.cpu.memory import inner_part

_i64 = ir.IntType(64)


def _calling(count: int) -> Any:
    """The signature of a call with so many arguments, and what writes it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, *values = arguments
        kind = ir.FunctionType(_i64, [_i64] * len(values))
        return builder.call(builder.inttoptr(function, kind.as_pointer()), values)

    return nb_types.int64(*[nb_types.int64] * (count + 1)), codegen


@emitted
def call0(typingctx: Any, function: Any) -> Any:
    """Call the C function at an address."""
    return _calling(0)


@emitted
def call1(typingctx: Any, function: Any, one: Any) -> Any:
    """Call the C function at an address with one argument."""
    return _calling(1)


@emitted
def call2(typingctx: Any, function: Any, one: Any, two: Any) -> Any:
    """Call the C function at an address with two arguments."""
    return _calling(2)


@emitted
def call3(typingctx: Any, function: Any, one: Any, two: Any, three: Any) -> Any:
    """Call the C function at an address with three arguments."""
    return _calling(3)


@emitted
def call4(typingctx: Any, function: Any, one: Any, two: Any, three: Any, four: Any) -> Any:
    """Call the C function at an address with four arguments."""
    return _calling(4)


@emitted
def call7(
    typingctx: Any, function: Any, one: Any, two: Any, three: Any, four: Any, five: Any, six: Any, seven: Any
) -> Any:
    """Call the C function at an address with seven arguments."""
    return _calling(7)


def _calling_with_floats(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place, *values = arguments
    kind = ir.FunctionType(values[0].type, [each.type for each in values])
    return builder.call(builder.inttoptr(place, kind.as_pointer()), values)


@emitted
def call_with_float(typingctx: Any, function: Any, value: Any) -> Any:
    """Call the C function at an address with one float, of which it makes another."""
    return value(function, value), _calling_with_floats


@emitted
def call_with_two_floats(typingctx: Any, function: Any, one: Any, two: Any) -> Any:
    """Call the C function at an address with two floats of one type, of which it makes another."""
    return one(function, one, one), _calling_with_floats


@inner_part
def whole(result: Any) -> Any:
    """The `int` that a C function returned."""
    return np.int64(np.int32(result))
