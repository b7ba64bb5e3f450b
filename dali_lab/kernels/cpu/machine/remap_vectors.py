"""Pixels of three channels interpolated in vector registers, written as LLVM code, as OpenCV's vector code has them.

A pixel takes four lanes, of which the last is not used: four elements are read of each pixel and written, so that there
must be something after the last one that counts, and pixels are written in ascending order.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature

from dali_lab.kernels.arrays import IntegerType
from dali_lab.kernels.cpu.machine.emission import Builder, Definition, Target, Value, applied, splat, typed_intrinsic

_float, _i32, _i64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_LANES = 4
_floats = ir.VectorType(_float, _LANES)


def _read(builder: Builder, address: Value, item: IntegerType) -> Value:
    """A pixel as float32."""
    if isinstance(item, nb_types.Float):
        return builder.load(builder.inttoptr(address, _floats.as_pointer()), align=4)
    kind = ir.VectorType(ir.IntType(item.bitwidth), _LANES)
    small = builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)
    wide = (builder.sext if item.signed else builder.zext)(small, ir.VectorType(_i32, _LANES))
    return builder.sitofp(wide, _floats)


def _write(builder: Builder, value: Value, address: Value, item: IntegerType) -> None:
    """A pixel as elements: rounded to the nearest whole numbers, halves to even, and clamped."""
    if isinstance(item, nb_types.Float):
        builder.store(value, builder.inttoptr(address, _floats.as_pointer()), align=4)
        return
    value = applied(builder, "rint", value)
    value = applied(builder, "maxnum", value, ir.Constant(_floats, [float(item.minval)] * _LANES))
    value = applied(builder, "minnum", value, ir.Constant(_floats, [float(item.maxval)] * _LANES))
    kind = ir.VectorType(ir.IntType(item.bitwidth), _LANES)
    pixel = builder.trunc(builder.fptosi(value, ir.VectorType(_i32, _LANES)), kind)
    builder.store(pixel, builder.inttoptr(address, kind.as_pointer()), align=1)


def _size(item: IntegerType) -> int:
    return int(item.bitwidth) // 8


@typed_intrinsic
def linear_pixel(
    _: Context, at: nb_types.Type, line: nb_types.Type, x: nb_types.Type, y: nb_types.Type, out: nb_types.Type,
    like: nb_types.Array,
) -> Definition:  # fmt: skip
    """Write the blend of four pixels.

    Parameters
    ----------
    at
        Address of the upper left one.
    line
        Bytes from a row to the next one.
    x, y
        ``float32`` distances from it, 0 to 1.
    out
        Address of the result.
    like
        An array of the elements' dtype.
    """
    item: Any = like.dtype

    def codegen(context: Target, builder: Builder, signature: Signature, arguments: list[Value]) -> Value:
        at, line, x, y, out, _ = arguments
        x, y = splat(builder, x, _LANES), splat(builder, y, _LANES)

        def across(address: Value) -> Value:
            left = _read(builder, address, item)
            right = _read(builder, builder.add(address, _i64(3 * _size(item))), item)
            return applied(builder, "fma", x, builder.fsub(right, left), left)

        upper, lower = across(at), across(builder.add(at, line))
        _write(builder, applied(builder, "fma", y, builder.fsub(lower, upper), upper), out, item)
        return context.get_dummy_value()

    whole, real = nb_types.int64, nb_types.float32
    return nb_types.void(whole, whole, real, real, whole, like), codegen


@typed_intrinsic
def cubic_pixel(
    _: Context, at: nb_types.Type, line: nb_types.Type, across: nb_types.Type, down: nb_types.Type, out: nb_types.Type,
    like: nb_types.Array,
) -> Definition:  # fmt: skip
    """Write the weighted sum of four times four pixels.

    Parameters
    ----------
    at
        Address of the upper left one.
    line
        Bytes from a row to the next one.
    across, down
        Addresses of the weights of columns and rows, four of ``float32`` each.
    out
        Address of the result.
    like
        An array of the elements' dtype.
    """
    item: Any = like.dtype

    def codegen(context: Target, builder: Builder, signature: Signature, arguments: list[Value]) -> Value:
        at, line, across, down, out, _ = arguments

        def weights(address: Value) -> list[Value]:
            four = builder.load(builder.inttoptr(address, _floats.as_pointer()), align=4)
            return [splat(builder, builder.extract_element(four, _i32(k)), _LANES) for k in range(_LANES)]

        columns, total = weights(across), ir.Constant(_floats, [0.0] * _LANES)
        for row in weights(down):
            pixels = [_read(builder, builder.add(at, _i64(3 * k * _size(item))), item) for k in range(_LANES)]
            value = builder.fmul(columns[0], pixels[0])
            for weight, pixel in zip(columns[1:], pixels[1:], strict=True):
                value = applied(builder, "fma", weight, pixel, value)
            total = applied(builder, "fma", row, value, total)
            at = builder.add(at, line)
        _write(builder, total, out, item)
        return context.get_dummy_value()

    return nb_types.void(*[nb_types.int64] * 5, like), codegen
