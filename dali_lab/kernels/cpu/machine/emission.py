"""What functions have in common that write LLVM code for kernels: memory at addresses, lanes of vectors, loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils
from numba.extending import intrinsic

_i32, _i64 = ir.IntType(32), ir.IntType(64)


def emitted(function: Callable[..., Any]) -> Any:
    """Make a function that writes LLVM code callable from kernels, without its first parameter."""
    return intrinsic(function)


def void(arguments: int) -> Any:
    """The signature of a function of so many 64-bit integers without a result."""
    return nb_types.void(*[nb_types.int64] * arguments)


def load(builder: Any, address: Any, kind: Any, align: int = 1) -> Any:
    """What is in memory at an address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def store(builder: Any, value: Any, address: Any, align: int = 1) -> None:
    """Write a value to an address."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=align)


def add(builder: Any, address: Any, offset: int) -> Any:
    """A number of 64 bits and a constant."""
    return builder.add(address, _i64(offset))


def shuffle(builder: Any, one: Any, two: Any, lanes: list[int]) -> Any:
    """A vector of these lanes of two vectors, those of the second counted on from the first."""
    return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(_i32, len(lanes)), lanes))


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """A vector whose lanes are all the same."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return shuffle(builder, builder.insert_element(undefined, value, _i32(0)), undefined, [0] * lanes)


def applied(builder: Any, name: str, *vectors: Any) -> Any:
    """What one of LLVM's own functions gives for float32 vectors."""
    kind = vectors[0].type
    function = cast(Any, cgutils).get_or_insert_function
    of_vectors = ir.FunctionType(kind, [kind] * len(vectors))
    return builder.call(function(builder.module, of_vectors, f"llvm.{name}.v{kind.count}f32"), vectors)


def loop(builder: Any, count: Any, totals: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
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


def steps(builder: Any, pixels: Any, step: int, body: Callable[[Any], None]) -> None:
    """Write ``body(first pixel)`` for every step of a row; the last one ends where the row does."""
    last = builder.sub(pixels, _i64(step))

    def turn(index: Any, totals: list[Any]) -> list[Any]:
        place = builder.mul(index, _i64(step))
        body(builder.select(builder.icmp_unsigned("<", place, last), place, last))
        return totals

    loop(builder, builder.udiv(add(builder, pixels, step - 1), _i64(step)), [], turn)
