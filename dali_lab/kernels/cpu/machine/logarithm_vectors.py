"""Logarithms of float32 in vectors, by the numbers that :func:`dali_lab.kernels.cpu.libm.log2_table` gives."""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]

from dali_lab.kernels.cpu.machine.emission import Builder, Value, called, emitted, has, load, of_integers, splat, store

LANES = 8
ENTRIES = 16
COEFFICIENTS = 2 * ENTRIES
START = 0x3F330000
"""The bits of the smallest number of the first entry."""

_i32, _i64 = ir.IntType(32), ir.IntType(64)
_floats, _words = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_i32, LANES)
_doubles, _longs = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(_i64, LANES)
_places = ir.VectorType(ir.DoubleType().as_pointer(), LANES)


def _all(kind: ir.Type, value: float) -> Value:
    return ir.Constant(kind, [value] * LANES)


def _entries(builder: Builder, table: Value, index: Value) -> Value:
    """The doubles of a table with these numbers."""
    index = builder.zext(index, _longs)
    if has("avx512f"):  # all sixteen lie in two vectors, out of which one instruction takes eight
        low, high = load(builder, table, _doubles, 8), load(builder, builder.add(table, _i64(64)), _doubles, 8)
        return called(builder, "llvm.x86.avx512.vpermi2var.pd.512", _doubles, [low, index, high])
    addresses = builder.add(splat(builder, table, LANES), builder.shl(index, _all(_longs, 3)))
    mask = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)
    values = [builder.inttoptr(addresses, _places), _i32(8), mask, ir.Constant(_doubles, ir.Undefined)]
    return called(builder, f"llvm.masked.gather.v{LANES}f64.v{LANES}p0", _doubles, values)


@emitted(of_integers())
def log2_of_eight(builder: Builder, place: Value, table: Value) -> None:
    """Put the logarithm of each of eight normal positive float32 in its place.

    `table` is the address of sixteen inverses, their logarithms, and four coefficients.
    """

    def fused(a: Value, b: Value, c: Value) -> Value:
        return called(builder, f"llvm.fma.v{LANES}f64", _doubles, [a, b, c])

    def coefficient(k: int) -> Value:
        address = builder.add(table, _i64(8 * (COEFFICIENTS + k)))
        return splat(builder, load(builder, address, ir.DoubleType(), 8), LANES)

    bits = builder.bitcast(load(builder, place, _floats, 4), _words)
    above = builder.sub(bits, _all(_words, START))
    entry = builder.and_(builder.lshr(above, _all(_words, 19)), _all(_words, ENTRIES - 1))
    exponent = builder.ashr(above, _all(_words, 23))
    part = builder.bitcast(builder.sub(bits, builder.shl(exponent, _all(_words, 23))), _floats)
    inverse = _entries(builder, table, entry)
    logarithm = _entries(builder, builder.add(table, _i64(8 * ENTRIES)), entry)
    r = fused(builder.fpext(part, _doubles), inverse, _all(_doubles, -1.0))
    square = builder.fmul(r, r)
    high = fused(coefficient(0), square, fused(coefficient(1), r, coefficient(2)))
    low = fused(coefficient(3), r, builder.fadd(logarithm, builder.sitofp(exponent, _doubles)))
    store(builder, builder.fptrunc(fused(high, square, low), _floats), place, 4)
