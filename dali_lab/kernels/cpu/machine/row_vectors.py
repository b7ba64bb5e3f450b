"""Sums over a few neighbours in vectors of four: along rows of pictures, along sound, and over the bytes of a pixel.

The compiler does not find these vectors by itself: neither three interleaved channels nor a sum that may not be
reordered vectorise. Each function has one in Python beside it with the same result, for processors and versions of
LLVM that do not take the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.arrays import Integer, Real
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.arrays import array_at
from dali_lab.kernels.cpu.machine.emission import (
    Builder,
    Value,
    emitted,
    load,
    loop,
    of_integers,
    shuffle,
    splat,
    store,
)
from dali_lab.kernels.cpu.memory import inner_part, like, part

_i32, _i64, _float = ir.IntType(32), ir.IntType(64), ir.FloatType()
_real = nb_types.float32
_floats, _pair = ir.VectorType(_float, 4), ir.VectorType(_float, 2)
_shorts = ir.VectorType(ir.IntType(16), 4)
_like_floats, _like_bytes = like(np.float32), like(np.uint8)


def dot4(rows: int) -> Any:
    """Make ``out[r, 0:4] = sum_k weights[k] * lines[r, k * stride + (0..3)]`` for `rows` rows at once.

    Four lanes are read and written whatever the number of channels, so buffers have four floats to spare and pixels
    are written in ascending order. Addresses are those of float32 values, `line_pitch` and `out_pitch` the bytes
    between rows, `stride` the floats between taps.
    """

    @emitted(of_integers())
    def dot4(
        builder: Builder, lines: Value, line_pitch: Value, weights: Value, stride: Value, count: Value, out: Value,
        out_pitch: Value,
    ) -> None:  # fmt: skip
        def tap(k: Value, totals: list[Value]) -> list[Value]:
            offset = builder.shl(k, _i64(2))
            factor = splat(builder, load(builder, builder.add(weights, offset), _float, 4), 4)
            row, results = builder.add(lines, builder.mul(offset, stride)), []
            for total in totals:
                results.append(builder.fadd(total, builder.fmul(factor, load(builder, row, _floats, 4))))
                row = builder.add(row, line_pitch)
            return results

        for total in loop(builder, count, [ir.Constant(_floats, [0.0] * 4)] * rows, tap):
            store(builder, total, out, 4)
            out = builder.add(out, out_pitch)

    return dot4


def dot4_in_python(rows: int) -> Callable[..., None]:
    """:func:`dot4` in Python."""

    @part
    def dot4(
        lines: Value, line_pitch: int, weights: Value, stride: int, count: int, out: Value, out_pitch: int
    ) -> None:
        # Sums of signed and unsigned numbers, of which addresses are made, are floats.
        lines, weights, out = np.int64(lines), np.int64(weights), np.int64(out)
        factors = array_at(weights, (count,), _like_floats)
        for r in range(rows):
            line = array_at(lines + r * line_pitch, ((count - 1) * stride + 4,), _like_floats)
            target = array_at(out + r * out_pitch, (4,), _like_floats)
            for c in range(4):
                total = np.float32(0)
                for k in range(count):
                    total += factors[k] * line[k * stride + c]
                target[c] = total

    return dot4


@emitted(lambda *_: _real(*[nb_types.int64] * 3, *[_real] * 4))
def sum_in_fours(
    builder: Builder, sound: Value, turns: Value, table: Value, first: Value, position: Value, steps: Value,
    center: Value,
) -> Value:  # fmt: skip
    """The weighted sum of ``4 * turns`` elements, as four sums side by side: the order of vector instructions.

    Parameters
    ----------
    sound, table
        Addresses of the first element, and of weights and how far it is to the next one, ``float32[N, 2]``.
    first, position
        Where the first element is, a whole number, and the middle of the filter.
    steps, center
        Weights between neighbouring elements, and which of them is in the middle.
    """
    first, position, steps, center = (splat(builder, value, 4) for value in (first, position, steps, center))
    places = builder.fadd(first, ir.Constant(_floats, [0.0, 1.0, 2.0, 3.0]))

    def turn(index: Value, totals: list[Value]) -> list[Value]:
        total, place = totals
        at = builder.fadd(builder.fmul(place, steps), center)
        entries = builder.fptosi(at, ir.VectorType(_i32, 4))
        rest = builder.fsub(at, builder.sitofp(entries, _floats))
        pairs = []
        for lane in range(4):
            entry = builder.zext(builder.extract_element(entries, _i32(lane)), _i64)
            pairs.append(load(builder, builder.add(table, builder.shl(entry, _i64(3))), _pair, 4))
        halves = [shuffle(builder, pairs[k], pairs[k + 1], [0, 1, 2, 3]) for k in (0, 2)]
        low, slope = (shuffle(builder, halves[0], halves[1], [k, k + 2, k + 4, k + 6]) for k in (0, 1))
        weights = builder.fadd(low, builder.fmul(rest, slope))
        elements = load(builder, builder.add(sound, builder.shl(index, _i64(4))), _floats, 4)
        after = builder.fadd(place, ir.Constant(_floats, [4.0] * 4))
        return [builder.fadd(total, builder.fmul(elements, weights)), after]

    total, _ = loop(builder, turns, [ir.Constant(_floats, [0.0] * 4), builder.fsub(places, position)], turn)
    t0, t1, t2, t3 = (builder.extract_element(total, _i32(lane)) for lane in range(4))
    return builder.fadd(builder.fadd(t0, t2), builder.fadd(t1, t3))


@part
def sum_in_fours_in_python(
    sound: Integer, turns: int, table: Integer, first: Real, position: Real, steps: Real, center: Real
) -> Any:
    """:func:`sum_in_fours` in Python."""
    sound, table = np.int64(sound), np.int64(table)
    elements = array_at(sound, (4 * turns,), _like_floats)
    totals = np.zeros(4, np.float32)
    for lane in range(4):
        place = (first + np.float32(lane)) - position
        for k in range(turns):
            at = place * steps + center
            entry = np.int32(at)
            weight = array_at(table + 8 * np.int64(entry), (2,), _like_floats)
            totals[lane] += elements[4 * k + lane] * (weight[0] + (at - np.float32(entry)) * weight[1])
            place += np.float32(4)
    return (totals[0] + totals[2]) + (totals[1] + totals[3])


@emitted(of_integers(nb_types.int64))
def four_bytes(builder: Builder, address: Value) -> Value:
    """Four bytes in the four parts of an integer, the first in the lowest."""
    small = load(builder, address, ir.VectorType(ir.IntType(8), 4))
    return builder.bitcast(builder.zext(small, _shorts), _i64)


@inner_part
def four_bytes_in_python(address: int) -> Any:
    """:func:`four_bytes` in Python."""
    small = array_at(np.int64(address), (4,), _like_bytes)
    low, high = np.int64(small[0]) | np.int64(small[1]) << 16, np.int64(small[2]) | np.int64(small[3]) << 16
    return low | high << 32


@emitted(of_integers(nb_types.int64))
def nearest_bytes(builder: Builder, left: Value, above: Value, corner: Value) -> Value:
    """Of three bytes that next to left + above − corner, in each of four parts: the filter that PNG has from Paeth."""

    def size(value: Value) -> Value:
        return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)

    zero = ir.Constant(_shorts, [0] * 4)
    left, above, corner = (builder.bitcast(value, _shorts) for value in (left, above, corner))
    to_left, to_above = builder.sub(above, corner), builder.sub(left, corner)
    to_corner = size(builder.add(to_left, to_above))
    to_left, to_above = size(to_left), size(to_above)
    is_above = builder.icmp_signed("<=", to_above, to_corner)
    other = builder.select(is_above, above, corner)
    to_other = builder.select(is_above, to_above, to_corner)
    nearest = builder.select(builder.icmp_signed("<=", to_left, to_other), left, other)
    return builder.bitcast(nearest, _i64)


@inner_part
def nearest_bytes_in_python(left: int, above: int, corner: int) -> Any:
    """:func:`nearest_bytes` in Python."""
    result = np.int64(0)
    for shift in range(0, 64, 16):
        a, b, c = left >> shift & 255, above >> shift & 255, corner >> shift & 255
        to_left, to_above, to_corner = abs(b - c), abs(a - c), abs(a + b - 2 * c)
        nearest = a if to_left <= to_above and to_left <= to_corner else b if to_above <= to_corner else c
        result |= nearest << shift
    return result


if not uses("vectors"):
    dot4 = dot4_in_python
    sum_in_fours = sum_in_fours_in_python
    four_bytes, nearest_bytes = four_bytes_in_python, nearest_bytes_in_python
