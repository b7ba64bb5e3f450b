"""Calls of C functions at addresses, from compiled code, and of compiled code from C functions.

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

from dali_lab.kernels.cpu.machine.emission import (
    Builder,
    Definition,
    Value,
    emitted,
    of_integers,
    typed_intrinsic,
)
from dali_lab.kernels.cpu.memory import inner_part

_i64 = ir.IntType(64)


def _call(builder: Builder, function: Value, *values: Value) -> Value:
    kind = ir.FunctionType(values[0].type if values else _i64, [value.type for value in values])
    return builder.call(builder.inttoptr(function, kind.as_pointer()), values)


@emitted(of_integers(nb_types.int64))
def call0(builder: Builder, function: Value) -> Value:
    """Call the C function at an address."""
    return _call(builder, function)


@emitted(of_integers(nb_types.int64))
def call1(builder: Builder, function: Value, one: Value) -> Value:
    """Call the C function at an address with one argument."""
    return _call(builder, function, one)


@emitted(of_integers(nb_types.int64))
def call2(builder: Builder, function: Value, one: Value, two: Value) -> Value:
    """Call the C function at an address with two arguments."""
    return _call(builder, function, one, two)


@emitted(of_integers(nb_types.int64))
def call3(builder: Builder, function: Value, one: Value, two: Value, three: Value) -> Value:
    """Call the C function at an address with three arguments."""
    return _call(builder, function, one, two, three)


@emitted(of_integers(nb_types.int64))
def call4(builder: Builder, function: Value, one: Value, two: Value, three: Value, four: Value) -> Value:
    """Call the C function at an address with four arguments."""
    return _call(builder, function, one, two, three, four)


@emitted(of_integers(nb_types.int64))
def call7(
    builder: Builder, function: Value, one: Value, two: Value, three: Value, four: Value, five: Value, six: Value,
    seven: Value,
) -> Value:  # fmt: skip
    """Call the C function at an address with seven arguments."""
    return _call(builder, function, one, two, three, four, five, six, seven)


@emitted(lambda function, value: value(function, value))
def call_with_float(builder: Builder, function: Value, value: Value) -> Value:
    """Call the C function at an address with one float, of which it makes another."""
    return _call(builder, function, value)


@emitted(lambda function, one, _: one(function, one, one))
def call_with_two_floats(builder: Builder, function: Value, one: Value, two: Value) -> Value:
    """Call the C function at an address with two floats of one type, of which it makes another."""
    return _call(builder, function, one, two)


def address_of(function: Any, name: str) -> Any:
    """An intrinsic that gives the address of a part as a C function of two 64-bit integers or pointers.

    The part returns an integer. It may not raise, nor own memory at calls of the C functions that call it.
    """

    @typed_intrinsic
    def address(typing: Any) -> Definition:
        callee = typing.resolve_value_type(function)
        kind = callee.get_call_type(typing, (nb_types.int64, nb_types.int64), {})

        def codegen(target: Any, builder: Builder, signature: Any, values: list[Value]) -> Value:
            compiled = function.overloads[kind.args]
            target.active_code_library.add_linking_library(compiled.library)
            made = ir.Function(builder.module, ir.FunctionType(_i64, [_i64, _i64]), name)
            made.linkage = "internal"
            inner = ir.IRBuilder(made.append_basic_block())
            inside = target.declare_function(builder.module, compiled.fndesc)
            inner.ret(target.call_conv.call_function(inner, inside, kind.return_type, kind.args, made.args)[1])
            return builder.ptrtoint(made, _i64)

        return nb_types.int64(), codegen

    return address


@inner_part
def whole(result: int) -> Any:
    """The `int` that a C function returned."""
    return np.int64(np.int32(result))
