"""Loops over the three planes of a picture in vectors of sixteen columns, written as LLVM code for AVX-512.

One instruction of AVX-512 VBMI takes any sixteen of 64 bytes apart into sixteen lanes, with bytes of a constant around
each; without VBMI two do it, one for the words and one for the bytes in them. Around a byte ``b``, those of ``2**23``
make the float32 ``2**23 + b``, and ``fma(w, 2**23 + b, -w * 2**23)`` is ``w * b`` rounded once: the product that all of
resampling is made of, with no conversion before it.

Addresses are integers, lengths are in pixels, pitches in bytes. Rows have at least :data:`STEP` pixels: they are worked
on so many at a time, the last ones once more where their number is no multiple of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]

from dali_lab.kernels.cpu.machine.emission import (
    Builder,
    Value,
    add,
    called,
    emitted,
    has,
    load,
    loop,
    of_integers,
    shuffle,
    splat,
    steps,
    store,
)
from dali_lab.kernels.cpu.machine.pixel_vectors import rounded

LANES = 16
"""Columns in a vector."""
STEP = 32
"""Pixels that a row has at least."""
REACH = 64
"""Neighbouring source columns that the taps of one vector may lie in."""
NEAR = 32
"""The reach with which float32 rows are resampled with two shuffles less for each tap."""
CHANNELS = 3
ROWS = 4
"""Rows that are resampled along x together."""
_AHEAD = 2048
"""Bytes by which pixels of the source are fetched ahead: the processor itself stops at each page."""

_i32, _i64, _byte = ir.IntType(32), ir.IntType(64), ir.IntType(8)
_floats, _words = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_i32, LANES)
_bytes = ir.VectorType(_byte, REACH)
_LARGE = 2.0**23
_LARGE_BYTES = ir.Constant(_bytes, [0, 0, 0, 0x4B] * LANES)
_NEAR_BYTES = "llvm.x86.avx512.pshuf.b.512"
"""The instruction that picks bytes among each sixteen by themselves."""
_OWN_WORD = ir.Constant(_words, [0, 4, 8, 12] * 4)
"""The first byte of each word among the sixteen that an instruction takes bytes from."""
_LOWEST = ir.Constant(ir.VectorType(ir.IntType(1), REACH), [1, 0, 0, 0] * LANES)


_VBMI = has("avx512vbmi")


def available() -> bool:
    """Whether this processor has the instructions."""
    return has("avx512f", "avx512bw", "avx512vl", "fma")


def _constant(value: float) -> Value:
    return ir.Constant(_floats, [value] * LANES)


def _picked(builder: Builder, source: Value, places: Value) -> Value:
    """The bytes at 64 places, without VBMI among each sixteen by themselves."""
    name = "llvm.x86.avx512.permvar.qi.512" if _VBMI else _NEAR_BYTES
    return called(builder, name, _bytes, [source, builder.bitcast(places, _bytes)])


def _moved(builder: Builder, source: Value, words: Value) -> Value:
    """Sixteen words of 64 bytes."""
    moved = called(builder, "llvm.x86.avx512.permvar.si.512", _words, [builder.bitcast(source, _words), words])
    return builder.bitcast(moved, _bytes)


def _large(builder: Builder, source: Value, places: Value) -> Value:
    """``2**23 + b`` for the bytes whose places are the lowest bytes of sixteen words, as for :func:`_picked`."""
    return builder.bitcast(builder.select(_LOWEST, _picked(builder, source, places), _LARGE_BYTES), _floats)


def _picker(builder: Builder, places: Value) -> Callable[[Value], Value]:
    """From 64 bytes to ``2**23 + b`` for those at sixteen places, 0 to 63."""
    if _VBMI:
        return lambda source: _large(builder, source, places)
    words = builder.lshr(places, ir.Constant(_words, [2] * LANES))
    own = builder.add(builder.and_(places, ir.Constant(_words, [3] * LANES)), _OWN_WORD)
    return lambda source: _large(builder, _moved(builder, source, words), own)


def _sixteen(builder: Builder, source: Value, begin: int) -> tuple[Value, list[list[int]]]:
    """Bytes to pick those of sixteen pixels from that lie in `source` from byte `begin` on, and their places."""
    if _VBMI:
        return source, [[begin + CHANNELS * pixel + c for pixel in range(LANES)] for c in range(CHANNELS)]
    words = [min(begin // 4 + CHANNELS * (word // 4) + word % 4, LANES - 1) for word in range(LANES)]
    places = [[CHANNELS * (pixel % 4) + c for pixel in range(LANES)] for c in range(CHANNELS)]
    return _moved(builder, source, ir.Constant(_words, words)), places


def _plus(builder: Builder, total: Value, factor: Value, offset: Value, large: Value) -> Value:
    """``total + factor * b``, the product rounded before it is added; `offset` is ``-2**23 * factor``."""
    return builder.fadd(total, called(builder, "llvm.fma.v16f32", _floats, [factor, large, offset]))


def _channel(builder: Builder, levels: Value, channel: int) -> Value:
    """The first lane of a channel in the levels of :func:`~dali_lab.kernels.cpu.resample_pixels.halves_away`."""
    return builder.mul(load(builder, add(builder, levels, 16), _i64, 8), _i64(channel))


def _of_channels(builder: Builder, address: Value) -> list[Value]:
    """Three float32 numbers, each in all lanes of a vector."""
    kind = ir.FloatType()
    return [splat(builder, load(builder, add(builder, address, 4 * c), kind, 4), LANES) for c in range(CHANNELS)]


def _ask_for(builder: Builder, address: Value) -> None:
    """Fetch the cache line of an address, which may be anywhere, without waiting for it."""
    pointer = builder.inttoptr(address, _byte.as_pointer())
    called(builder, "llvm.prefetch.p0", ir.VoidType(), [pointer, _i32(0), _i32(3), _i32(1)])


def _tap(builder: Builder, address: Value, tap: Value) -> Value:
    return builder.add(address, builder.shl(tap, _i64(6)))


@emitted(of_integers())
def split_bytes(builder: Builder, row: Value, out: Value, pitch: Value, pixels: Value) -> None:
    """Take the channels of a row of uint8 pixels apart: three rows of bytes, `pitch` apart."""

    def body(place: Value) -> None:
        start = builder.add(row, builder.mul(place, _i64(CHANNELS)))
        left = load(builder, start, _bytes)
        right = load(builder, add(builder, start, CHANNELS * STEP - REACH), _bytes)
        for line in range(2):
            _ask_for(builder, add(builder, start, _AHEAD + 64 * line))
        goal = builder.add(out, place)
        if _VBMI:
            taken = [[CHANNELS * pixel + channel for pixel in range(STEP)] for channel in range(CHANNELS)]
            lanes = [[at if at < REACH else at + 2 * REACH - CHANNELS * STEP for at in each] for each in taken]
        else:  # four pixels of a channel become a word, then these are put in order
            grouped = [CHANNELS * pixel + channel for channel in range(CHANNELS) for pixel in range(4)] + [0] * 4
            order = ir.Constant(_bytes, grouped * 4)
            left = _picked(builder, _sixteen(builder, left, 0)[0], order)
            right = _picked(builder, _sixteen(builder, right, REACH - CHANNELS * LANES)[0], order)
            lanes = [[16 * (p // 4) + 4 * channel + p % 4 for p in range(STEP)] for channel in range(CHANNELS)]
        for each in lanes:
            store(builder, shuffle(builder, left, right, each), goal)
            goal = builder.add(goal, pitch)

    steps(builder, pixels, STEP, body)


@emitted(of_integers())
def across_bytes(
    builder: Builder, lines: Value, line_pitch: Value, tables: Value, places: Value, weights: Value, count: Value,
    out: Value, row_pitch: Value, plane_pitch: Value, vectors: Value,
) -> None:  # fmt: skip
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

    def vector(index: Value, totals: list[Value]) -> list[Value]:
        table = builder.add(tables, builder.shl(index, _i64(3)))
        line = builder.add(lines, load(builder, table, _i64, 8))
        sources = []
        for _ in range(ROWS * CHANNELS):
            sources.append(load(builder, line, _bytes))
            line = builder.add(line, line_pitch)
        first = builder.mul(index, count)

        def tap(k: Value, totals: list[Value]) -> list[Value]:
            at = builder.add(first, k)
            factor = load(builder, _tap(builder, weights, at), _floats, 64)
            offset = builder.fmul(factor, _constant(-_LARGE))
            large = _picker(builder, load(builder, _tap(builder, places, at), _words, 64))
            return [
                _plus(builder, total, factor, offset, large(source))
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


@emitted(of_integers())
def sum_planes(
    builder: Builder, rows: Value, weights: Value, count: Value, out: Value, pitch: Value, pixels: Value
) -> None:
    """A weighted sum of rows of uint8 pixels: three float32 rows, `pitch` apart.

    Parameters
    ----------
    rows, weights
        Addresses of ``int64[count]`` addresses of rows, and of ``float32[count]``.
    """
    shift = CHANNELS * STEP - REACH

    def body(place: Value) -> None:
        offset = builder.mul(place, _i64(CHANNELS))

        def tap(k: Value, totals: list[Value]) -> list[Value]:
            row = builder.add(load(builder, builder.add(rows, builder.shl(k, _i64(3))), _i64, 8), offset)
            weight = load(builder, builder.add(weights, builder.shl(k, _i64(2))), ir.FloatType(), 4)
            factor = splat(builder, weight, LANES)
            minus = builder.fmul(factor, _constant(-_LARGE))
            results = []
            for half in range(2):
                source = load(builder, add(builder, row, shift * half), _bytes)
                _ask_for(builder, add(builder, row, shift * half + _AHEAD))
                source, places = _sixteen(builder, source, (CHANNELS * LANES - shift) * half)
                for channel in range(CHANNELS):
                    total = totals[CHANNELS * half + channel]
                    large = _large(builder, source, ir.Constant(_words, places[channel]))
                    results.append(_plus(builder, total, factor, minus, large))
            return results

        results = loop(builder, count, [_constant(0.0)] * 2 * CHANNELS, tap)
        goal = builder.add(out, builder.shl(place, _i64(2)))
        for channel in range(CHANNELS):
            for half in range(2):
                store(builder, results[CHANNELS * half + channel], add(builder, goal, 64 * half), 4)
            goal = builder.add(goal, pitch)

    steps(builder, pixels, STEP, body)


Write = Callable[[list[list[Value]], Value], None]
"""Writes levels of each channel from a column on."""
Output = Callable[[Builder, Value, Value, Value, Value], Write]
"""Takes what a function that writes is given: `mean`, `inverse`, `out` and the bytes between planes."""


def _planes(builder: Builder, mean: Value, inverse: Value, out: Value, pitch: Value) -> Write:
    """``(level - mean) * inverse`` as three rows of float32, `pitch` bytes apart."""
    centres, factors = _of_channels(builder, mean), _of_channels(builder, inverse)

    def write(levels: list[list[Value]], column: Value) -> None:
        goal = builder.add(out, builder.shl(column, _i64(2)))
        for values, centre, factor in zip(levels, centres, factors, strict=True):
            for half, value in enumerate(values):
                store(builder, builder.fmul(builder.fsub(value, centre), factor), add(builder, goal, 64 * half), 4)
            goal = builder.add(goal, pitch)

    return write


def _pixels(builder: Builder, mean: Value, inverse: Value, out: Value, pitch: Value) -> Write:
    """The levels as a row of uint8 pixels: of the arguments only `out` counts."""
    kept = [4 * pixel + channel for pixel in range(4) for channel in range(CHANNELS)]
    within = ir.Constant(_bytes, (kept + [0] * 4) * 4)
    groups = ir.Constant(_words, [word for word in range(LANES) if word % 4 < CHANNELS] + [0] * 4)

    def write(levels: list[list[Value]], column: Value) -> None:
        goal = builder.add(out, builder.mul(column, _i64(CHANNELS)))
        for values in zip(*levels, strict=True):
            word = builder.fptosi(values[0], _words)
            for channel, value in enumerate(values[1:], 1):
                shift = ir.Constant(_words, [8 * channel] * LANES)
                word = builder.or_(word, builder.shl(builder.fptosi(value, _words), shift))
            near = called(builder, _NEAR_BYTES, _bytes, [builder.bitcast(word, _bytes), within])
            pixel = _moved(builder, near, groups)
            store(builder, shuffle(builder, pixel, pixel, list(range(32))), goal)
            store(builder, shuffle(builder, pixel, pixel, list(range(32, 48))), add(builder, goal, 32))
            goal = add(builder, goal, CHANNELS * LANES)

    return write


def _across(registers: int, output: Output) -> Any:
    """Make the function for taps that lie in so many vectors of neighbouring columns, 2 or 4."""

    @emitted(of_integers())
    def across(
        builder: Builder, lines: Value, line_pitch: Value, tables: Value, places: Value, weights: Value, count: Value,
        mean: Value, inverse: Value, out: Value, plane_pitch: Value, vectors: Value, levels: Value,
    ) -> None:  # fmt: skip
        """Resample three float32 rows along x, round to levels, and write these as :data:`Output` says.

        Parameters are those of :func:`across_bytes` and :func:`finish_planes`.
        """
        write = output(builder, mean, inverse, out, plane_pitch)

        def picked(window: list[Value], place: Value) -> Value:
            name = "llvm.x86.avx512.vpermi2var.ps.512"
            near = called(builder, name, _floats, [window[0], place, window[1]])
            if registers == 2:
                return near
            far = called(builder, name, _floats, [window[2], place, window[3]])
            return builder.select(builder.icmp_unsigned("<", place, ir.Constant(_words, [NEAR] * LANES)), near, far)

        def vector(index: Value, totals: list[Value]) -> list[Value]:
            table = builder.add(tables, builder.shl(index, _i64(3)))
            line = builder.add(lines, builder.shl(load(builder, table, _i64, 8), _i64(2)))
            windows = []
            for _ in range(CHANNELS):
                windows.append([load(builder, add(builder, line, 64 * i), _floats, 4) for i in range(registers)])
                line = builder.add(line, line_pitch)
            first = builder.mul(index, count)

            def tap(k: Value, totals: list[Value]) -> list[Value]:
                at = builder.add(first, k)
                factor = load(builder, _tap(builder, weights, at), _floats, 64)
                place = load(builder, _tap(builder, places, at), _words, 64)
                return [
                    builder.fadd(total, builder.fmul(factor, picked(window, place)))
                    for total, window in zip(totals, windows, strict=True)
                ]

            results = loop(builder, count, [_constant(0.0)] * CHANNELS, tap)
            column = load(builder, builder.add(table, builder.shl(vectors, _i64(3))), _i64, 8)
            results = rounded(
                builder, results, column, LANES, levels, lambda c: builder.add(column, _channel(builder, levels, c))
            )
            write([[value] for value in results], column)
            return totals

        loop(builder, vectors, [], vector)

    return across


across_near_planes, across_far_planes = _across(2, _planes), _across(4, _planes)
across_near_pixels, across_far_pixels = _across(2, _pixels), _across(4, _pixels)


def _finish(output: Output) -> Any:
    @emitted(of_integers())
    def finish(
        builder: Builder, rows: Value, line_pitch: Value, weights: Value, count: Value, mean: Value, inverse: Value,
        out: Value, plane_pitch: Value, pixels: Value, levels: Value,
    ) -> None:  # fmt: skip
        """Add up rows of three float32 planes, round to levels, and write these as :data:`Output` says.

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
        write = output(builder, mean, inverse, out, plane_pitch)

        def body(place: Value) -> None:
            offset = builder.shl(place, _i64(2))

            def tap(k: Value, totals: list[Value]) -> list[Value]:
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
            results = rounded(
                builder, results, place, STEP, levels,
                lambda i: builder.add(add(builder, place, LANES * (i % 2)), _channel(builder, levels, i // 2)),
            )  # fmt: skip
            write([results[2 * channel : 2 * channel + 2] for channel in range(CHANNELS)], place)

        steps(builder, pixels, STEP, body)

    return finish


finish_planes, finish_pixels = _finish(_planes), _finish(_pixels)
