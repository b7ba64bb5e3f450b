"""Loops over the three planes of a picture in vectors of sixteen columns, written as LLVM code for AVX-512 with VBMI.

One instruction of VBMI takes any sixteen of 64 bytes apart into sixteen lanes, with bytes of a constant around each.
Around a byte ``b``, those of ``2**23`` make the float32 ``2**23 + b``, and ``fma(w, 2**23 + b, -w * 2**23)`` is
``w * b`` rounded once: the product that all of resampling is made of, with no conversion before it.

Addresses are integers, lengths are in pixels, pitches in bytes. Rows have at least :data:`STEP` pixels: they are worked
on so many at a time, the last ones once more where their number is no multiple of it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba.core import cgutils

from dali_lab.kernels.cpu.machine.emission import add, emitted, load, loop, splat, steps, store, void
from dali_lab.kernels.cpu.machine.pixel_vectors import rounded

LANES = 16
"""Columns in a vector."""
STEP = 32
"""Pixels that a row has at least."""
REACH = 64
"""Neighbouring source columns that the taps of one vector may lie in."""
NEAR = 32
"""The same where float32 rows are resampled with two shuffles less for each tap."""
CHANNELS = 3
ROWS = 4
"""Rows that are resampled along x together."""
_AHEAD = 2048
"""How many bytes before they are used pixels of the source are asked for: the processor itself stops at each page."""

_i32, _i64, _byte = ir.IntType(32), ir.IntType(64), ir.IntType(8)
_floats, _words = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_i32, LANES)
_bytes = ir.VectorType(_byte, REACH)
_LARGE = 2.0**23
_LARGE_BYTES = ir.Constant(_bytes, [0, 0, 0, 0x4B] * LANES)
_LOWEST = ir.Constant(ir.VectorType(ir.IntType(1), REACH), [1, 0, 0, 0] * LANES)


def available() -> bool:
    """Whether this processor has the instructions."""
    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in ("avx512f", "avx512bw", "avx512vl", "avx512vbmi", "fma"))


def _constant(value: float) -> Any:
    return ir.Constant(_floats, [value] * LANES)


def _call(builder: Any, name: str, kind: Any, arguments: list[Any]) -> Any:
    function: Any = cgutils.get_or_insert_function
    declared = function(builder.module, ir.FunctionType(kind, [value.type for value in arguments]), name)
    return builder.call(declared, arguments)


def _large(builder: Any, source: Any, places: Any) -> Any:
    """``2**23 + b`` for the bytes of `source` whose places are the lowest bytes of sixteen words."""
    picked = _call(builder, "llvm.x86.avx512.permvar.qi.512", _bytes, [source, builder.bitcast(places, _bytes)])
    return builder.bitcast(builder.select(_LOWEST, picked, _LARGE_BYTES), _floats)


def _plus(builder: Any, total: Any, factor: Any, offset: Any, large: Any) -> Any:
    """``total + factor * b``, the product rounded before it is added; `offset` is ``-2**23 * factor``."""
    return builder.fadd(total, _call(builder, "llvm.fma.v16f32", _floats, [factor, large, offset]))


def _channel(builder: Any, levels: Any, channel: int) -> Any:
    """Where the lanes of a channel begin in what :func:`~dali_lab.kernels.cpu.resample_pixels.halves_away` made."""
    return builder.mul(load(builder, add(builder, levels, 16), _i64, 8), _i64(channel))


def _of_channels(builder: Any, address: Any) -> list[Any]:
    """Three float32 numbers, each in all lanes of a vector."""
    kind = ir.FloatType()
    return [splat(builder, load(builder, add(builder, address, 4 * c), kind, 4), LANES) for c in range(CHANNELS)]


def _ask_for(builder: Any, address: Any) -> None:
    """Fetch the cache line of an address, which may be anywhere, without waiting for it."""
    pointer = _byte.as_pointer()
    function: Any = cgutils.get_or_insert_function
    kind = ir.FunctionType(ir.VoidType(), [pointer, _i32, _i32, _i32])
    ask = function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(ask, [builder.inttoptr(address, pointer), _i32(0), _i32(3), _i32(1)])


def _tap(builder: Any, address: Any, tap: Any) -> Any:
    return builder.add(address, builder.shl(tap, _i64(6)))


@emitted
def split_bytes(typingctx: Any, row: Any, out: Any, pitch: Any, pixels: Any) -> Any:
    """Take the channels of a row of uint8 pixels apart: three rows of bytes, `pitch` apart."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, out, pitch, pixels = arguments

        def body(place: Any) -> None:
            start = builder.add(row, builder.mul(place, _i64(CHANNELS)))
            left = load(builder, start, _bytes)
            right = load(builder, add(builder, start, CHANNELS * STEP - REACH), _bytes)
            for line in range(2):
                _ask_for(builder, add(builder, start, _AHEAD + 64 * line))
            goal = builder.add(out, place)
            for channel in range(CHANNELS):
                taken = [CHANNELS * pixel + channel for pixel in range(STEP)]
                lanes = [at if at < REACH else at + 2 * REACH - CHANNELS * STEP for at in taken]
                mask = ir.Constant(ir.VectorType(_i32, STEP), lanes)
                store(builder, builder.shuffle_vector(left, right, mask), goal)
                goal = builder.add(goal, pitch)

        steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return void(4), codegen


@emitted
def across_bytes(
    typingctx: Any, lines: Any, line_pitch: Any, tables: Any, places: Any, weights: Any, count: Any, out: Any,
    row_pitch: Any, plane_pitch: Any, vectors: Any,
) -> Any:  # fmt: skip
    """Resample four rows along x, each three planes of bytes: from twelve lines of bytes to twelve of float32.

    Parameters
    ----------
    lines, line_pitch
        The planes of the first row, then those of the next; :data:`REACH` bytes are read from where a vector begins.
    tables
        Address of ``int64[2, vectors]``: the source column where each vector begins, and its first output column.
    places, weights
        Addresses of ``int32[vectors, count, 16]``, columns from where the vector begins, and of ``float32`` likewise.
    out, row_pitch, plane_pitch
        Where the first plane of the first row goes, and the bytes to that of the next row, and to the next plane.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines, line_pitch, tables, places, weights, count, out, row_pitch, plane_pitch, vectors = arguments

        def vector(index: Any, totals: list[Any]) -> list[Any]:
            table = builder.add(tables, builder.shl(index, _i64(3)))
            line = builder.add(lines, load(builder, table, _i64, 8))
            sources = []
            for _ in range(ROWS * CHANNELS):
                sources.append(load(builder, line, _bytes))
                line = builder.add(line, line_pitch)
            first = builder.mul(index, count)

            def tap(k: Any, totals: list[Any]) -> list[Any]:
                at = builder.add(first, k)
                factor = load(builder, _tap(builder, weights, at), _floats, 64)
                offset = builder.fmul(factor, _constant(-_LARGE))
                picked = load(builder, _tap(builder, places, at), _words, 64)
                return [
                    _plus(builder, total, factor, offset, _large(builder, source, picked))
                    for total, source in zip(totals, sources, strict=True)
                ]

            results = loop(builder, count, [_constant(0.0)] * len(sources), tap)
            column = load(builder, builder.add(table, builder.shl(vectors, _i64(3))), _i64, 8)
            goal = builder.add(out, builder.shl(column, _i64(2)))
            for row in range(ROWS):
                plane = goal
                for channel in range(CHANNELS):
                    store(builder, results[CHANNELS * row + channel], plane, 4)
                    plane = builder.add(plane, plane_pitch)
                goal = builder.add(goal, row_pitch)
            return totals

        loop(builder, vectors, [], vector)
        return context.get_dummy_value()

    return void(10), codegen


@emitted
def sum_planes(typingctx: Any, rows: Any, weights: Any, count: Any, out: Any, pitch: Any, pixels: Any) -> Any:
    """A weighted sum of rows of uint8 pixels: three float32 rows, `pitch` apart.

    Parameters
    ----------
    rows, weights
        Addresses of ``int64[count]`` addresses of rows, and of ``float32[count]``.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, weights, count, out, pitch, pixels = arguments
        shift = CHANNELS * STEP - REACH
        places = []
        for half in range(2):
            begin = CHANNELS * LANES * half - shift * half
            lanes = [[begin + CHANNELS * pixel + c for pixel in range(LANES)] for c in range(CHANNELS)]
            places.append([ir.Constant(_words, values) for values in lanes])

        def body(place: Any) -> None:
            offset = builder.mul(place, _i64(CHANNELS))

            def tap(k: Any, totals: list[Any]) -> list[Any]:
                row = builder.add(load(builder, builder.add(rows, builder.shl(k, _i64(3))), _i64, 8), offset)
                weight = load(builder, builder.add(weights, builder.shl(k, _i64(2))), ir.FloatType(), 4)
                factor = splat(builder, weight, LANES)
                minus = builder.fmul(factor, _constant(-_LARGE))
                results = []
                for half in range(2):
                    source = load(builder, add(builder, row, shift * half), _bytes)
                    _ask_for(builder, add(builder, row, shift * half + _AHEAD))
                    for channel in range(CHANNELS):
                        total = totals[CHANNELS * half + channel]
                        large = _large(builder, source, places[half][channel])
                        results.append(_plus(builder, total, factor, minus, large))
                return results

            results = loop(builder, count, [_constant(0.0)] * 2 * CHANNELS, tap)
            goal = builder.add(out, builder.shl(place, _i64(2)))
            for channel in range(CHANNELS):
                for half in range(2):
                    store(builder, results[CHANNELS * half + channel], add(builder, goal, 64 * half), 4)
                goal = builder.add(goal, pitch)

        steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return void(6), codegen


def _across_planes(registers: int) -> Any:
    """Make the function for taps that lie in so many vectors of neighbouring columns, 2 or 4."""

    @emitted
    def across_planes(
        typingctx: Any, lines: Any, line_pitch: Any, tables: Any, places: Any, weights: Any, count: Any, mean: Any,
        inverse: Any, out: Any, plane_pitch: Any, vectors: Any, levels: Any,
    ) -> Any:  # fmt: skip
        """Resample three float32 rows along x, round to levels, and write ``(level - mean) * inverse`` in float32.

        Parameters are those of :func:`across_bytes` and :func:`finish_planes`.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lines, line_pitch, tables, places, weights, count, mean, inverse, out, plane_pitch, vectors, levels = (
                arguments
            )
            centres, factors = _of_channels(builder, mean), _of_channels(builder, inverse)

            def picked(window: list[Any], place: Any) -> Any:
                name = "llvm.x86.avx512.vpermi2var.ps.512"
                near = _call(builder, name, _floats, [window[0], place, window[1]])
                if registers == 2:
                    return near
                far = _call(builder, name, _floats, [window[2], place, window[3]])
                return builder.select(builder.icmp_unsigned("<", place, ir.Constant(_words, [NEAR] * LANES)), near, far)

            def vector(index: Any, totals: list[Any]) -> list[Any]:
                table = builder.add(tables, builder.shl(index, _i64(3)))
                line = builder.add(lines, builder.shl(load(builder, table, _i64, 8), _i64(2)))
                windows = []
                for _ in range(CHANNELS):
                    windows.append([load(builder, add(builder, line, 64 * i), _floats, 4) for i in range(registers)])
                    line = builder.add(line, line_pitch)
                first = builder.mul(index, count)

                def tap(k: Any, totals: list[Any]) -> list[Any]:
                    at = builder.add(first, k)
                    factor = load(builder, _tap(builder, weights, at), _floats, 64)
                    place = load(builder, _tap(builder, places, at), _words, 64)
                    return [
                        builder.fadd(total, builder.fmul(factor, picked(window, place)))
                        for total, window in zip(totals, windows, strict=True)
                    ]

                results = loop(builder, count, [_constant(0.0)] * CHANNELS, tap)
                column = load(builder, builder.add(table, builder.shl(vectors, _i64(3))), _i64, 8)
                goal = builder.add(out, builder.shl(column, _i64(2)))
                results = rounded(
                    builder, results, column, LANES, levels, lambda c: builder.add(column, _channel(builder, levels, c))
                )
                for value, centre, factor in zip(results, centres, factors, strict=True):
                    store(builder, builder.fmul(builder.fsub(value, centre), factor), goal, 4)
                    goal = builder.add(goal, plane_pitch)
                return totals

            loop(builder, vectors, [], vector)
            return context.get_dummy_value()

        return void(12), codegen

    return across_planes


across_near_planes = _across_planes(2)
across_far_planes = _across_planes(4)


@emitted
def finish_planes(
    typingctx: Any, rows: Any, line_pitch: Any, weights: Any, count: Any, mean: Any, inverse: Any, out: Any,
    plane_pitch: Any, pixels: Any, levels: Any,
) -> Any:  # fmt: skip
    """Add up rows of three float32 planes, round to levels, and write ``(level - mean) * inverse`` in float32.

    Parameters
    ----------
    rows, line_pitch
        Address of ``int64[count]`` addresses of first planes, and the bytes from one plane to the next.
    weights
        Address of ``float32[count]``.
    mean, inverse
        Addresses of ``float32[3]``.
    out, plane_pitch
        Where the row of the first channel goes, and the bytes from one channel to the next.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, line_pitch, weights, count, mean, inverse, out, plane_pitch, pixels, levels = arguments
        centres, factors = _of_channels(builder, mean), _of_channels(builder, inverse)

        def body(place: Any) -> None:
            offset = builder.shl(place, _i64(2))

            def tap(k: Any, totals: list[Any]) -> list[Any]:
                line = builder.add(load(builder, builder.add(rows, builder.shl(k, _i64(3))), _i64, 8), offset)
                weight = load(builder, builder.add(weights, builder.shl(k, _i64(2))), ir.FloatType(), 4)
                factor = splat(builder, weight, LANES)
                results = []
                for channel in range(CHANNELS):
                    for half in range(2):
                        value = load(builder, add(builder, line, 64 * half), _floats, 4)
                        results.append(builder.fadd(totals[2 * channel + half], builder.fmul(factor, value)))
                    line = builder.add(line, line_pitch)
                return results

            results = loop(builder, count, [_constant(0.0)] * 2 * CHANNELS, tap)
            goal = builder.add(out, offset)
            results = rounded(
                builder, results, place, STEP, levels,
                lambda i: builder.add(add(builder, place, LANES * (i % 2)), _channel(builder, levels, i // 2)),
            )  # fmt: skip
            for channel in range(CHANNELS):
                for half in range(2):
                    value = builder.fsub(results[2 * channel + half], centres[channel])
                    store(builder, builder.fmul(value, factors[channel]), add(builder, goal, 64 * half), 4)
                goal = builder.add(goal, plane_pitch)

        steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return void(10), codegen
