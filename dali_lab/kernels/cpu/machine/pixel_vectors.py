"""Loops over three-channel pixels in vector registers, written as LLVM code, since compilers do not find them.

Three interleaved channels, and sums that may not be reordered, do not vectorise. So a pixel takes four lanes here (the
fourth is not used), and a vector holds four rows of one column, or eight columns of one row. Products are rounded
before they are added, in the order of the taps, as everywhere in resampling.

Addresses are integers, lengths are in pixels. Rows are worked on eight pixels at a time, the last eight once more where
their number is no multiple of it: a row has at least :data:`STEP` pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.cpu.machine.emission import (
    Builder,
    Value,
    add,
    applied,
    emitted,
    load,
    loop,
    of_integers,
    shuffle,
    splat,
    steps,
    store,
)

STEP = 8
"""Pixels that are worked on together."""
ROW_STEP = 16
"""Pixels of a row that are normalised together."""
BLOCK = 64
"""Elements of a row of float32 that are worked on together."""

_i64 = ir.IntType(64)
_byte = ir.IntType(8)
_float = ir.FloatType()


def _vector(value: float, lanes: int = STEP) -> Value:
    return ir.Constant(ir.VectorType(_float, lanes), [value] * lanes)


def _weighted(
    builder: Builder, rows: Value, weights: Value, count: Value, vectors: int, read: Callable[[Value], list[Value]],
    lanes: int = STEP, begin: float = 0.0,
) -> list[Value]:  # fmt: skip
    """Emit ``begin + sum_k weights[k] * read(rows[k])``, where `read` loads some vectors at a row's address."""

    def turn(index: Value, totals: list[Value]) -> list[Value]:
        row = load(builder, builder.add(rows, builder.shl(index, _i64(3))), _i64, 8)
        weight = load(builder, builder.add(weights, builder.shl(index, _i64(2))), _float, 4)
        factor = splat(builder, weight, lanes)
        return [builder.fadd(t, builder.fmul(factor, v)) for t, v in zip(totals, read(row), strict=True)]

    return loop(builder, count, [_vector(begin, lanes)] * vectors, turn)


_PAIRS = (
    (0, [0, 1, 2, 2, 3, 4, 5, 5]),
    (0, [6, 7, 8, 8, 9, 10, 11, 11]),
    (1, [4, 5, 6, 6, 7, 8, 9, 9]),
    (1, [10, 11, 12, 12, 13, 14, 15, 15]),
)
"""Places of two pixels of four lanes among the 24 values of three vectors: the left one of two vectors, and lanes."""


def _read_bytes(builder: Builder, address: Value) -> list[Value]:
    """Eight uint8 pixels of three channels as three float32 vectors."""
    wide = ir.VectorType(ir.IntType(32), STEP)
    small = [load(builder, add(builder, address, STEP * i), ir.VectorType(_byte, STEP)) for i in range(3)]
    return [builder.sitofp(builder.zext(value, wide), ir.VectorType(_float, STEP)) for value in small]


def _columns(builder: Builder, rows: list[list[Value]], goal: Value) -> None:
    """Store eight pixels of four rows, each three vectors of 24 values, as eight columns of 64 bytes."""
    for pair, (left, lanes) in enumerate(_PAIRS):
        p, q, r, s = (shuffle(builder, values[left], values[left + 1], lanes) for values in rows)
        for half in range(2):
            picked = [4 * half + lane for lane in range(4)]
            picked += [STEP + lane for lane in picked]
            column = shuffle(builder, shuffle(builder, p, q, picked), shuffle(builder, r, s, picked), list(range(16)))
            store(builder, column, add(builder, goal, 64 * (2 * pair + half)), 64)


def _byte_columns(builder: Builder, rows: list[Value], goal: Value) -> None:
    """Store eight uint8 pixels at each of four addresses as eight float32 columns of 64 bytes."""
    small, wide = ir.VectorType(_byte, 16), ir.VectorType(ir.IntType(32), 16)
    for half in range(2):
        # The second four pixels are read from eight bytes on, so that nothing after the eighth pixel is.
        lanes = [4 * half + 3 * pixel + min(lane, 2) for pixel in range(4) for lane in range(4)]
        values = [load(builder, add(builder, row, STEP * half), small) for row in rows]
        words = [
            builder.bitcast(shuffle(builder, value, value, lanes), ir.VectorType(ir.IntType(32), 4)) for value in values
        ]
        for pair in range(2):
            order = [2 * pair, 2 * pair + 4, 2 * pair + 1, 2 * pair + 5]
            upper = shuffle(builder, words[0], words[1], order)
            lower = shuffle(builder, words[2], words[3], order)
            for pixel in range(2):
                column = shuffle(builder, upper, lower, [2 * pixel, 2 * pixel + 1, 2 * pixel + 4, 2 * pixel + 5])
                column = builder.zext(builder.bitcast(column, small), wide)
                place = 64 * (4 * half + 2 * pair + pixel)
                store(builder, builder.sitofp(column, ir.VectorType(_float, 16)), add(builder, goal, place), 64)


@emitted(of_integers())
def sum_bytes(builder: Builder, rows: Value, weights: Value, count: Value, out: Value, pixels: Value) -> None:
    """Four weighted sums of rows of uint8 pixels, written side by side as :func:`across` takes them.

    Parameters
    ----------
    rows, weights
        Addresses of ``int64[4, count]`` addresses of rows, and of ``float32[4, count]``.
    out
        Columns of 64 bytes: a float32 pixel of four lanes of each of the four sums.
    """

    def body(place: Value) -> None:
        offset = builder.mul(place, _i64(3))

        def read(row: Value) -> list[Value]:
            return _read_bytes(builder, builder.add(row, offset))

        sums = []
        for index in range(4):
            first = builder.mul(count, _i64(index))
            sums.append(
                _weighted(
                    builder,
                    builder.add(rows, builder.shl(first, _i64(3))),
                    builder.add(weights, builder.shl(first, _i64(2))),
                    count,
                    3,
                    read,
                )
            )
        _columns(builder, sums, builder.add(out, builder.mul(place, _i64(64))))

    steps(builder, pixels, STEP, body)


@emitted(of_integers())
def sum_floats(builder: Builder, rows: Value, weights: Value, count: Value, out: Value, elements: Value) -> None:
    """A weighted sum of rows of float32, of which there are at least :data:`BLOCK`.

    Parameters
    ----------
    rows, weights
        Addresses of ``int64[count]`` addresses of rows, and of ``float32[count]``.
    """
    kind = ir.VectorType(_float, 16)

    def body(place: Value) -> None:
        offset = builder.shl(place, _i64(2))

        def read(row: Value) -> list[Value]:
            start = builder.add(row, offset)
            return [load(builder, add(builder, start, 4 * lane), kind, 4) for lane in range(0, BLOCK, 16)]

        # Beginning with -0 makes the first sum the first product, whatever its sign.
        sums = _weighted(builder, rows, weights, count, BLOCK // 16, read, 16, -0.0)
        goal = builder.add(out, offset)
        for index, value in enumerate(sums):
            store(builder, value, add(builder, goal, 64 * index), 4)

    steps(builder, elements, BLOCK, body)


@emitted(of_integers())
def widen_bytes(builder: Builder, rows: Value, out: Value, pixels: Value) -> None:
    """Four rows of uint8 pixels side by side, as :func:`sum_bytes` writes their sums.

    Parameters
    ----------
    rows
        Address of ``int64[4]`` addresses of rows.
    out
        As for :func:`sum_bytes`.
    """
    starts = [load(builder, add(builder, rows, 8 * index), _i64, 8) for index in range(4)]

    def body(place: Value) -> None:
        offset = builder.mul(place, _i64(3))
        rows_here = [builder.add(start, offset) for start in starts]
        _byte_columns(builder, rows_here, builder.add(out, builder.mul(place, _i64(64))))

    steps(builder, pixels, STEP, body)


@emitted(of_integers())
def across(
    builder: Builder, lines: Value, offsets: Value, weights: Value, count: Value, out: Value, pitch: Value,
    pixels: Value,
) -> None:  # fmt: skip
    """Resample four rows side by side along x.

    Parameters
    ----------
    lines
        Columns of 64 bytes: a float32 pixel of each of four rows.
    offsets, weights
        Addresses of ``int64[pixels]``, where the taps of each output begin in bytes, and ``float32[pixels, count]``.
    out, pitch
        Four rows of float32 pixels of four lanes, `pitch` bytes apart.
    """
    lanes = ir.VectorType(_float, 16)
    size = builder.shl(count, _i64(2))
    last = builder.sub(pixels, _i64(2))

    def pair(index: Value, totals: list[Value]) -> list[Value]:
        place = builder.shl(index, _i64(1))
        x = builder.select(builder.icmp_unsigned("<", place, last), place, last)
        columns = builder.add(offsets, builder.shl(x, _i64(3)))
        sources = [builder.add(lines, load(builder, add(builder, columns, 8 * i), _i64, 8)) for i in range(2)]
        first = builder.add(weights, builder.mul(size, x))
        taps = [first, builder.add(first, size)]

        def tap(index: Value, totals: list[Value]) -> list[Value]:
            results = []
            for source, at, total in zip(sources, taps, totals, strict=True):
                weight = load(builder, builder.add(at, builder.shl(index, _i64(2))), _float, 4)
                value = load(builder, builder.add(source, builder.shl(index, _i64(6))), lanes, 64)
                results.append(builder.fadd(total, builder.fmul(splat(builder, weight, 16), value)))
            return results

        one, two = loop(builder, count, [ir.Constant(lanes, [0.0] * 16)] * 2, tap)
        goal = builder.add(out, builder.shl(x, _i64(4)))
        for row in range(4):
            picked = [4 * row + lane for lane in range(4)]
            store(builder, shuffle(builder, one, two, picked + [16 + lane for lane in picked]), goal, 16)
            goal = builder.add(goal, pitch)
        return totals

    loop(builder, builder.lshr(add(builder, pixels, 1), _i64(1)), [], pair)


def rounded(
    builder: Builder, values: list[Value], place: Value, step: int, levels: Value, lanes_of: Callable[[int], Value]
) -> list[Value]:
    """Round and clamp float32 vectors to whole levels of 0 to 255.

    Halves go to the even neighbour, and away from zero where `levels` says so: in few pixels of a row, so that has a
    branch of its own.

    Parameters
    ----------
    place, step
        The first pixel that the vectors hold, and how many they do.
    levels
        Address of what :func:`~dali_lab.kernels.cpu.resample_pixels.halves_away` made.
    lanes_of
        The number of the first lane in there of each vector.
    """
    kind = values[0].type
    low, high = _vector(0.0, kind.count), _vector(255.0, kind.count)
    clamped, nearest = [], []
    for value in values:
        value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
        value = builder.select(builder.fcmp_ordered("<", value, high), value, high)
        clamped.append(value)
        nearest.append(applied(builder, "rint", value))
    first, after = (load(builder, add(builder, levels, 8 * i), _i64, 8) for i in range(2))
    inside = builder.and_(
        builder.icmp_signed(">=", place, first), builder.icmp_signed("<=", add(builder, place, step), after)
    )
    before = builder.block
    ends, done = builder.append_basic_block("ends"), builder.append_basic_block("done")
    builder.cbranch(inside, done, ends)
    builder.position_at_end(ends)
    mended = []
    for index, (value, level) in enumerate(zip(clamped, nearest, strict=True)):
        lanes = builder.add(levels, builder.shl(lanes_of(index), _i64(2)))
        rest = builder.fsub(value, level)
        halves = builder.and_(
            builder.fcmp_ordered("==", rest, _vector(0.5, kind.count)),
            builder.fcmp_ordered("==", rest, load(builder, add(builder, lanes, 24), kind, 4)),
        )
        mended.append(builder.fadd(level, builder.select(halves, _vector(1.0, kind.count), low)))
    builder.branch(done)
    builder.position_at_end(done)
    results = []
    for level, other in zip(nearest, mended, strict=True):
        results.append(builder.phi(kind))
        results[-1].add_incoming(level, before)
        results[-1].add_incoming(other, ends)
    return results


def _sum_pixels(
    builder: Builder, rows: Value, weights: Value, count: Value, place: Value, levels: Value
) -> list[Value]:
    """The weighted sum of rows of float32 pixels as whole levels of 0 to 255: two vectors of four pixels."""
    offset = builder.mul(place, _i64(16))
    kind = ir.VectorType(_float, 16)

    def read(row: Value) -> list[Value]:
        start = builder.add(row, offset)
        return [load(builder, add(builder, start, 64 * i), kind, 16) for i in range(2)]

    sums = _weighted(builder, rows, weights, count, 2, read, 16)
    lanes = builder.shl(place, _i64(2))
    return rounded(builder, sums, place, STEP, levels, lambda index: add(builder, lanes, 16 * index))


@emitted(of_integers())
def finish_bytes(
    builder: Builder, rows: Value, weights: Value, count: Value, out: Value, pixels: Value, levels: Value
) -> None:
    """Add up `count` rows of float32 pixels of four lanes, and write a row of uint8 pixels of three channels.

    `levels` is the address of what :func:`~dali_lab.kernels.cpu.resample_pixels.halves_away` made.
    """

    def body(place: Value) -> None:
        values = _sum_pixels(builder, rows, weights, count, place, levels)
        whole = [builder.fptosi(value, ir.VectorType(ir.IntType(32), 16)) for value in values]
        left, right = (builder.trunc(value, ir.VectorType(_byte, 16)) for value in whole)
        goal = builder.add(out, builder.mul(place, _i64(3)))
        order = [4 * pixel + lane for pixel in range(STEP) for lane in range(3)]
        store(builder, shuffle(builder, left, right, order[:16]), goal)
        store(builder, shuffle(builder, right, right, [lane - 16 for lane in order[16:]]), add(builder, goal, 16))

    steps(builder, pixels, STEP, body)


@emitted(of_integers())
def finish_normalized(
    builder: Builder, rows: Value, weights: Value, count: Value, mean: Value, inverse: Value, out: Value, pitch: Value,
    pixels: Value, levels: Value,
) -> None:  # fmt: skip
    """Add up rows as :func:`finish_bytes`, then write ``(value - mean) * inverse`` in float32, each channel by itself.

    Parameters
    ----------
    mean, inverse
        Addresses of ``float32[8]``: the values of two pixels of four lanes.
    out, pitch
        Where the row of the first channel is, and the bytes from one channel to the next.
    levels
        As for :func:`finish_bytes`.
    """
    kind = ir.VectorType(_float, STEP)
    twice = [lane % STEP for lane in range(16)]
    centre, factor = (
        shuffle(builder, value, value, twice)
        for value in (load(builder, mean, kind, 4), load(builder, inverse, kind, 4))
    )

    def body(place: Value) -> None:
        values = _sum_pixels(builder, rows, weights, count, place, levels)
        left, right = (builder.fmul(builder.fsub(value, centre), factor) for value in values)
        goal = builder.add(out, builder.mul(place, _i64(4)))
        for channel in range(3):
            store(builder, shuffle(builder, left, right, [channel + 4 * x for x in range(STEP)]), goal)
            goal = builder.add(goal, pitch)

    steps(builder, pixels, STEP, body)


def _normalize_row(backwards: bool) -> Any:
    @emitted(of_integers())
    def normalize_row(
        builder: Builder, row: Value, mean: Value, inverse: Value, out: Value, pitch: Value, pixels: Value
    ) -> None:
        """Write ``(value - mean) * inverse`` of a row of uint8 pixels in float32, each channel by itself.

        Parameters
        ----------
        mean, inverse, out, pitch
            As for :func:`finish_normalized`.
        """
        small, wide = ir.VectorType(_byte, ROW_STEP), ir.VectorType(ir.IntType(32), ROW_STEP)

        def of_channel(address: Value, channel: int) -> Value:
            return splat(builder, load(builder, add(builder, address, 4 * channel), _float, 4), ROW_STEP)

        factors = [(of_channel(mean, channel), of_channel(inverse, channel)) for channel in range(3)]

        def body(place: Value) -> None:
            first = builder.sub(builder.sub(pixels, place), _i64(ROW_STEP)) if backwards else place
            start = builder.add(row, builder.mul(first, _i64(3)))
            a, b, c = (load(builder, add(builder, start, ROW_STEP * i), small) for i in range(3))
            goal = builder.add(out, builder.shl(place, _i64(2)))
            for channel, (centre, factor) in enumerate(factors):
                lanes = [channel + 3 * pixel for pixel in range(ROW_STEP)]
                lanes = lanes[::-1] if backwards else lanes
                taken = shuffle(builder, a, b, [min(lane, 2 * ROW_STEP - 1) for lane in lanes])
                merged = [k if lane < 2 * ROW_STEP else lane - ROW_STEP for k, lane in enumerate(lanes)]
                value = builder.sitofp(builder.zext(shuffle(builder, taken, c, merged), wide), centre.type)
                store(builder, builder.fmul(builder.fsub(value, centre), factor), goal)
                goal = builder.add(goal, pitch)

        steps(builder, pixels, ROW_STEP, body)

    return normalize_row


normalize_row = _normalize_row(False)
normalize_mirrored_row = _normalize_row(True)


@emitted(lambda *_: nb_types.void(nb_types.int64, nb_types.int64, nb_types.float32, nb_types.float32, nb_types.int64))
def blend_pixel(builder: Builder, upper: Value, lower: Value, qx: Value, qy: Value, out: Value) -> None:
    """Blend two neighbours of a row with those of the row below, and write a uint8 pixel.

    Along x first, as ``a * (1 - qx) + b * qx``, then along y as ``upper + (lower - upper) * qy``; the sum is rounded
    half away from zero. Eight bytes are read of each row and four are written: there must be something after the six
    and the three that count, and pixels are written in ascending order.

    Parameters
    ----------
    upper, lower
        Addresses of the left one of each two pixels.
    qx, qy
        ``float32`` distances from it, 0 to 1.
    """
    four = ir.VectorType(_float, 4)
    right = splat(builder, qx, 4)
    left = builder.fsub(ir.Constant(four, [1.0] * 4), right)

    def across(address: Value) -> Value:
        small = load(builder, address, ir.VectorType(_byte, STEP))
        small = shuffle(builder, small, small, [0, 1, 2, 2, 3, 4, 5, 5])
        wide = builder.zext(small, ir.VectorType(ir.IntType(32), STEP))
        values = builder.sitofp(wide, ir.VectorType(_float, STEP))
        a, b = (shuffle(builder, values, values, [4 * half + i for i in range(4)]) for half in range(2))
        return builder.fadd(builder.fmul(a, left), builder.fmul(b, right))

    top, bottom = across(upper), across(lower)
    value = builder.fadd(top, builder.fmul(builder.fsub(bottom, top), splat(builder, qy, 4)))
    floor = applied(builder, "trunc", value)
    rest = builder.fsub(value, floor)
    value = builder.fadd(floor, applied(builder, "trunc", builder.fadd(rest, rest)))
    # A blend of bytes is never negative, and rounds to 255 at most.
    pixel = builder.trunc(builder.fptosi(value, ir.VectorType(ir.IntType(32), 4)), ir.VectorType(_byte, 4))
    store(builder, pixel, out)
