"""Calls of C functions at addresses, from compiled code.

Arguments are 64-bit integers: pointers, sizes, and integers of C of which only the lower half is looked at. So is the
result; of a function that returns an `int` the lower half counts (:func:`whole`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.cpu.emission import emitted
from dali_lab.kernels.cpu.memory import inner_part

_i64 = ir.IntType(64)


@emitted
def take(typingctx: Any, address: Any) -> Any:
    """The number at an address, which one is added to: no other thread gets the same.

    Threads that share the samples of a chunk take them so.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _i64.as_pointer())
        return builder.atomic_rmw("add", pointer, _i64(1), "monotonic")

    return nb_types.int64(nb_types.int64), codegen


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


@inner_part
def whole(result: Any) -> Any:
    """The `int` that a C function returned."""
    return np.int64(np.int32(result))
