"""Writing LLVM code for kernels: intrinsics, memory at addresses, lanes of vectors, loops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

Builder: TypeAlias = ir.IRBuilder
"""Appends instructions to a function."""
Value: TypeAlias = ir.Value
"""The result of an instruction, or an argument."""
Kind: TypeAlias = ir.Type
"""The type of a value."""

_i32, _i64 = ir.IntType(32), ir.IntType(64)


class Target(Protocol):
    """The target of lowering: ``numba.core.base.BaseContext``, which is not typed."""

    def get_dummy_value(self) -> Value: ...
    def get_value_type(self, kind: nb_types.Type) -> Kind: ...
    def get_data_type(self, kind: nb_types.Type) -> Kind: ...
    def get_abi_sizeof(self, kind: Kind) -> int: ...
    def cast(self, builder: Builder, value: Value, source: nb_types.Type, target: nb_types.Type) -> Value: ...
    def make_array(self, kind: nb_types.Type) -> Callable[..., Any]: ...


Definition = tuple[Signature, Callable[[Target, Builder, Signature, list[Value]], Value]]
"""The two parts of an intrinsic function: the signature of a call, and the function that writes its code."""
Typing = Callable[..., Signature | None]
"""From the types of a call's arguments to its signature; `None` if they do not fit."""


def emitted(typing: Typing) -> Callable[[Callable[..., Value | None]], Any]:
    """Make a function that writes LLVM code callable from kernels: it takes the builder and the arguments' values."""

    def intrinsic_of(write: Callable[..., Value | None]) -> Any:
        @functools.wraps(write)
        def definition(_: Context, *kinds: nb_types.Type) -> Definition | None:
            def codegen(target: Target, builder: Builder, signature: Signature, values: list[Value]) -> Value:
                result = write(builder, *values)
                return target.get_dummy_value() if result is None else result

            signature = typing(*kinds)
            return None if signature is None else (signature, codegen)

        return intrinsic(definition)

    return intrinsic_of


def typed_intrinsic(function: Callable[..., Definition]) -> Any:
    """Numba's own way, for code that depends on the types of the arguments; a typing context comes before these."""
    return intrinsic(function)


def of_integers(result: nb_types.Type = nb_types.void) -> Typing:
    """The signature of any number of 64-bit integers."""
    return lambda *kinds: cast(Any, result)(*[nb_types.int64] * len(kinds))


def load(builder: Builder, address: Value, kind: Kind, align: int = 1) -> Value:
    """The value in memory at an address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def store(builder: Builder, value: Value, address: Value, align: int = 1) -> None:
    """Write a value to an address."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=align)


def add(builder: Builder, address: Value, offset: int) -> Value:
    """The sum of a 64-bit integer and a constant."""
    return builder.add(address, _i64(offset))


def shuffle(builder: Builder, one: Value, two: Value, lanes: list[int]) -> Value:
    """A vector of some lanes of two vectors; those of the second are counted on from the first."""
    return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(_i32, len(lanes)), lanes))


def splat(builder: Builder, value: Value, lanes: int) -> Value:
    """A vector whose lanes are all the same."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return shuffle(builder, builder.insert_element(undefined, value, _i32(0)), undefined, [0] * lanes)


def transposed(builder: Builder, lines: Sequence[Value]) -> list[Value]:
    """Vectors of as many lanes, a power of two, as there are vectors: each has one lane of all that are given."""
    lines, count = list(lines), len(lines)
    apart = count // 2
    while apart:  # blocks of so many lines and lanes change places
        low = [lane if not lane & apart else lane - apart + count for lane in range(count)]
        high = [lane + apart if not lane & apart else lane + count for lane in range(count)]
        for row in range(count):
            if not row & apart:
                pair = lines[row], lines[row + apart]
                lines[row], lines[row + apart] = shuffle(builder, *pair, low), shuffle(builder, *pair, high)
        apart //= 2
    return lines


def function_of(module: ir.Module, name: str, result: Kind, kinds: Sequence[Kind]) -> Value:
    """A function outside, by its name."""
    return cast(Any, cgutils).get_or_insert_function(module, ir.FunctionType(result, kinds), name)


def called(builder: Builder, name: str, result: Kind, values: Sequence[Value]) -> Value:
    """The result of a function outside."""
    return builder.call(function_of(builder.module, name, result, [value.type for value in values]), values)


def applied(builder: Builder, name: str, *vectors: Value) -> Value:
    """The result of a function of LLVM's own for float32 vectors."""
    kind = vectors[0].type
    return called(builder, f"llvm.{name}.v{kind.count}f32", kind, vectors)


def has(*names: str) -> bool:
    """Whether the processor has all of these groups of instructions, by LLVM's names."""
    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in names)


Turn = Callable[[Value, list[Value]], list[Value]]
"""The body of a loop: from the index and the totals so far to the next totals."""


def loop(builder: Builder, count: Value, totals: list[Value], body: Turn) -> list[Value]:
    """Write a loop of at least one turn: ``body(index, totals)`` returns the totals of the next turn.

    It is not unrolled: turns are few, and their number is known only when it runs.
    """
    entry = builder.block
    turn = builder.append_basic_block("turn")
    builder.branch(turn)
    builder.position_at_end(turn)
    index = builder.phi(_i64)
    index.add_incoming(_i64(0), entry)
    running = []
    for total in totals:
        phi = builder.phi(total.type)
        phi.add_incoming(total, entry)
        running.append(phi)
    results = body(index, running)
    following = builder.add(index, _i64(1))
    last = builder.block
    index.add_incoming(following, last)
    for phi, result in zip(running, results, strict=True):
        phi.add_incoming(result, last)
    after = builder.append_basic_block("after")
    branch = builder.cbranch(builder.icmp_unsigned("<", following, count), turn, after)
    as_it_is = builder.module.add_metadata([ir.MetaDataString(builder.module, "llvm.loop.unroll.disable")])
    branch.set_metadata("llvm.loop", builder.module.add_metadata([as_it_is]))
    builder.position_at_end(after)
    return results


def steps(builder: Builder, pixels: Value, step: int, body: Callable[[Value], None]) -> None:
    """Write ``body(first pixel)`` for every step of a row; the last one ends where the row does."""
    last = builder.sub(pixels, _i64(step))

    def turn(index: Value, totals: list[Value]) -> list[Value]:
        place = builder.mul(index, _i64(step))
        body(builder.select(builder.icmp_unsigned("<", place, last), place, last))
        return totals

    loop(builder, builder.udiv(add(builder, pixels, step - 1), _i64(step)), [], turn)
