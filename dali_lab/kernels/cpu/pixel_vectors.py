"""Loops over three-channel pixels in vector registers, written as LLVM code: what the compiler does not find by itself.

Three interleaved channels, and sums that may not be reordered, do not vectorise. So a pixel takes four lanes here (the
fourth is not used), and a vector holds four rows of one column, or eight columns of one row. Products are rounded
before they are added, in the order of the taps, as everywhere in resampling.

Addresses are integers, lengths are in pixels. Rows are worked on eight pixels at a time, the last eight once more where
their number is no multiple of it: a row has at least :data:`STEP` pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils
from numba.extending import intrinsic

STEP = 8
"""Pixels that are worked on together."""

_i64 = ir.IntType(64)
_byte = ir.IntType(8)
_float = ir.FloatType()


def _emitted(function: Callable[..., Any]) -> Any:
    """Make a function that writes LLVM code callable from kernels, without its first parameter."""
    return intrinsic(function)


def _at(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _load(builder: Any, address: Any, kind: Any, align: int = 1) -> Any:
    return builder.load(_at(builder, address, kind), align=align)


def _store(builder: Any, value: Any, address: Any, align: int = 1) -> None:
    builder.store(value, _at(builder, address, value.type), align=align)


def _add(builder: Any, address: Any, offset: int) -> Any:
    return builder.add(address, _i64(offset))


def _intrinsic(builder: Any, name: str, kind: Any) -> Any:
    """One of LLVM's functions of a float32 vector."""
    function = cast(Any, cgutils).get_or_insert_function
    return function(builder.module, ir.FunctionType(kind, [kind]), f"llvm.{name}.v{kind.count}f32")


def _shuffle(builder: Any, one: Any, two: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(one, two, mask)


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(undefined, value, ir.IntType(32)(0))
    return _shuffle(builder, one, undefined, [0] * lanes)


def _vector(value: float, lanes: int = STEP) -> Any:
    return ir.Constant(ir.VectorType(_float, lanes), [value] * lanes)


def _loop(builder: Any, count: Any, totals: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """Emit a loop of at least one turn: ``body(index, totals)`` returns the totals of the next turn.

    It is not unrolled: the taps are few, and their number is known only when it runs.
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


def _steps(builder: Any, pixels: Any, step: int, body: Callable[[Any], None]) -> None:
    """Emit ``body(first pixel)`` for every step of a row; the last one ends where the row does."""
    last = builder.sub(pixels, _i64(step))

    def turn(index: Any, totals: list[Any]) -> list[Any]:
        place = builder.mul(index, _i64(step))
        body(builder.select(builder.icmp_unsigned("<", place, last), place, last))
        return totals

    _loop(builder, builder.udiv(_add(builder, pixels, step - 1), _i64(step)), [], turn)


def _weighted(
    builder: Any, rows: Any, weights: Any, count: Any, vectors: int, read: Callable[[Any], list[Any]], lanes: int = STEP
) -> list[Any]:
    """Emit ``sum_k weights[k] * read(rows[k])``, where `read` loads some vectors at a row's address."""

    def turn(index: Any, totals: list[Any]) -> list[Any]:
        row = _load(builder, builder.add(rows, builder.shl(index, _i64(3))), _i64, 8)
        weight = _load(builder, builder.add(weights, builder.shl(index, _i64(2))), _float, 4)
        factor = _splat(builder, weight, lanes)
        return [builder.fadd(t, builder.fmul(factor, v)) for t, v in zip(totals, read(row), strict=True)]

    return _loop(builder, count, [_vector(0.0, lanes)] * vectors, turn)


_PAIRS = (
    (0, [0, 1, 2, 2, 3, 4, 5, 5]),
    (0, [6, 7, 8, 8, 9, 10, 11, 11]),
    (1, [4, 5, 6, 6, 7, 8, 9, 9]),
    (1, [10, 11, 12, 12, 13, 14, 15, 15]),
)
"""Where two pixels of four lanes are among the 24 values of three vectors: the left one of two, and the lanes."""


def _read_bytes(builder: Any, address: Any) -> list[Any]:
    """Eight uint8 pixels of three channels as three float32 vectors."""
    wide = ir.VectorType(ir.IntType(32), STEP)
    small = [_load(builder, _add(builder, address, STEP * i), ir.VectorType(_byte, STEP)) for i in range(3)]
    return [builder.sitofp(builder.zext(value, wide), ir.VectorType(_float, STEP)) for value in small]


def _columns(builder: Any, rows: list[list[Any]], goal: Any) -> None:
    """Store eight pixels of four rows, each three vectors of 24 values, as eight columns of 64 bytes."""
    for pair, (left, lanes) in enumerate(_PAIRS):
        p, q, r, s = (_shuffle(builder, values[left], values[left + 1], lanes) for values in rows)
        for half in range(2):
            picked = [4 * half + lane for lane in range(4)]
            picked += [STEP + lane for lane in picked]
            column = _shuffle(
                builder, _shuffle(builder, p, q, picked), _shuffle(builder, r, s, picked), list(range(16))
            )
            _store(builder, column, _add(builder, goal, 64 * (2 * pair + half)), 64)


def _byte_columns(builder: Any, rows: list[Any], goal: Any) -> None:
    """Store eight uint8 pixels at each of four addresses as eight float32 columns of 64 bytes."""
    small, wide = ir.VectorType(_byte, 16), ir.VectorType(ir.IntType(32), 16)
    for half in range(2):
        # The second four pixels are read from eight bytes on, so that nothing after the eighth pixel is.
        lanes = [4 * half + 3 * pixel + min(lane, 2) for pixel in range(4) for lane in range(4)]
        values = [_load(builder, _add(builder, row, STEP * half), small) for row in rows]
        words = [
            builder.bitcast(_shuffle(builder, value, value, lanes), ir.VectorType(ir.IntType(32), 4))
            for value in values
        ]
        for pair in range(2):
            order = [2 * pair, 2 * pair + 4, 2 * pair + 1, 2 * pair + 5]
            upper = _shuffle(builder, words[0], words[1], order)
            lower = _shuffle(builder, words[2], words[3], order)
            for pixel in range(2):
                column = _shuffle(builder, upper, lower, [2 * pixel, 2 * pixel + 1, 2 * pixel + 4, 2 * pixel + 5])
                column = builder.zext(builder.bitcast(column, small), wide)
                place = 64 * (4 * half + 2 * pair + pixel)
                _store(builder, builder.sitofp(column, ir.VectorType(_float, 16)), _add(builder, goal, place), 64)


def _void(arguments: int) -> Any:
    return nb_types.void(*[nb_types.int64] * arguments)


@_emitted
def sum_bytes(typingctx: Any, rows: Any, weights: Any, count: Any, out: Any, pixels: Any) -> Any:
    """Four weighted sums of rows of uint8 pixels, written side by side as :func:`across` takes them.

    Parameters
    ----------
    rows, weights
        Addresses of ``int64[4, count]`` addresses of rows, and of ``float32[4, count]``.
    out
        Columns of 64 bytes: a float32 pixel of four lanes of each of the four sums.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, weights, count, out, pixels = arguments

        def body(place: Any) -> None:
            offset = builder.mul(place, _i64(3))

            def read(row: Any) -> list[Any]:
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

        _steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return _void(5), codegen


@_emitted
def widen_bytes(typingctx: Any, rows: Any, out: Any, pixels: Any) -> Any:
    """Four rows of uint8 pixels side by side, as :func:`sum_bytes` writes their sums.

    Parameters
    ----------
    rows
        Address of ``int64[4]`` addresses of rows.
    out
        As for :func:`sum_bytes`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, out, pixels = arguments
        starts = [_load(builder, _add(builder, rows, 8 * index), _i64, 8) for index in range(4)]

        def body(place: Any) -> None:
            offset = builder.mul(place, _i64(3))
            rows_here = [builder.add(start, offset) for start in starts]
            _byte_columns(builder, rows_here, builder.add(out, builder.mul(place, _i64(64))))

        _steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return _void(3), codegen


@_emitted
def across(
    typingctx: Any, lines: Any, offsets: Any, weights: Any, count: Any, out: Any, pitch: Any, pixels: Any
) -> Any:
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

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines, offsets, weights, count, out, pitch, pixels = arguments
        lanes = ir.VectorType(_float, 16)
        size = builder.shl(count, _i64(2))
        last = builder.sub(pixels, _i64(2))

        def pair(index: Any, totals: list[Any]) -> list[Any]:
            place = builder.shl(index, _i64(1))
            x = builder.select(builder.icmp_unsigned("<", place, last), place, last)
            columns = builder.add(offsets, builder.shl(x, _i64(3)))
            sources = [builder.add(lines, _load(builder, _add(builder, columns, 8 * i), _i64, 8)) for i in range(2)]
            first = builder.add(weights, builder.mul(size, x))
            taps = [first, builder.add(first, size)]

            def tap(index: Any, totals: list[Any]) -> list[Any]:
                results = []
                for source, at, total in zip(sources, taps, totals, strict=True):
                    weight = _load(builder, builder.add(at, builder.shl(index, _i64(2))), _float, 4)
                    value = _load(builder, builder.add(source, builder.shl(index, _i64(6))), lanes, 64)
                    results.append(builder.fadd(total, builder.fmul(_splat(builder, weight, 16), value)))
                return results

            one, two = _loop(builder, count, [ir.Constant(lanes, [0.0] * 16)] * 2, tap)
            goal = builder.add(out, builder.shl(x, _i64(4)))
            for row in range(4):
                picked = [4 * row + lane for lane in range(4)]
                _store(builder, _shuffle(builder, one, two, picked + [16 + lane for lane in picked]), goal, 16)
                goal = builder.add(goal, pitch)
            return totals

        _loop(builder, builder.lshr(_add(builder, pixels, 1), _i64(1)), [], pair)
        return context.get_dummy_value()

    return _void(7), codegen


def _round(
    builder: Any, values: list[Any], place: Any, step: int, levels: Any, lanes_of: Callable[[int], Any]
) -> list[Any]:
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
    rint = _intrinsic(builder, "rint", kind)
    clamped, nearest = [], []
    for value in values:
        value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
        value = builder.select(builder.fcmp_ordered("<", value, high), value, high)
        clamped.append(value)
        nearest.append(builder.call(rint, [value]))
    first, after = (_load(builder, _add(builder, levels, 8 * i), _i64, 8) for i in range(2))
    inside = builder.and_(
        builder.icmp_signed(">=", place, first), builder.icmp_signed("<=", _add(builder, place, step), after)
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
            builder.fcmp_ordered("==", rest, _load(builder, _add(builder, lanes, 24), kind, 4)),
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


def _sum_pixels(builder: Any, rows: Any, weights: Any, count: Any, place: Any, levels: Any) -> list[Any]:
    """The weighted sum of rows of float32 pixels as whole levels of 0 to 255: two vectors of four pixels."""
    offset = builder.mul(place, _i64(16))
    kind = ir.VectorType(_float, 16)

    def read(row: Any) -> list[Any]:
        start = builder.add(row, offset)
        return [_load(builder, _add(builder, start, 64 * i), kind, 16) for i in range(2)]

    sums = _weighted(builder, rows, weights, count, 2, read, 16)
    lanes = builder.shl(place, _i64(2))
    return _round(builder, sums, place, STEP, levels, lambda index: _add(builder, lanes, 16 * index))


@_emitted
def finish_bytes(typingctx: Any, rows: Any, weights: Any, count: Any, out: Any, pixels: Any, levels: Any) -> Any:
    """Add up `count` rows of float32 pixels of four lanes, and write a row of uint8 pixels of three channels.

    `levels` is the address of what :func:`~dali_lab.kernels.cpu.resample_pixels.halves_away` made.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, weights, count, out, pixels, levels = arguments

        def body(place: Any) -> None:
            values = _sum_pixels(builder, rows, weights, count, place, levels)
            whole = [builder.fptosi(value, ir.VectorType(ir.IntType(32), 16)) for value in values]
            left, right = (builder.trunc(value, ir.VectorType(_byte, 16)) for value in whole)
            goal = builder.add(out, builder.mul(place, _i64(3)))
            order = [4 * pixel + lane for pixel in range(STEP) for lane in range(3)]
            _store(builder, _shuffle(builder, left, right, order[:16]), goal)
            _store(
                builder, _shuffle(builder, right, right, [lane - 16 for lane in order[16:]]), _add(builder, goal, 16)
            )

        _steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return _void(6), codegen


@_emitted
def finish_normalized(
    typingctx: Any, rows: Any, weights: Any, count: Any, mean: Any, inverse: Any, out: Any, pitch: Any, pixels: Any,
    levels: Any,
) -> Any:  # fmt: skip
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

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, weights, count, mean, inverse, out, pitch, pixels, levels = arguments
        kind = ir.VectorType(_float, STEP)
        twice = [lane % STEP for lane in range(16)]
        centre, factor = (
            _shuffle(builder, value, value, twice)
            for value in (_load(builder, mean, kind, 4), _load(builder, inverse, kind, 4))
        )

        def body(place: Any) -> None:
            values = _sum_pixels(builder, rows, weights, count, place, levels)
            left, right = (builder.fmul(builder.fsub(value, centre), factor) for value in values)
            goal = builder.add(out, builder.mul(place, _i64(4)))
            for channel in range(3):
                _store(builder, _shuffle(builder, left, right, [channel + 4 * x for x in range(STEP)]), goal)
                goal = builder.add(goal, pitch)

        _steps(builder, pixels, STEP, body)
        return context.get_dummy_value()

    return _void(9), codegen


def _planes(builder: Any, pairs: list[Any], goal: Any, pitch: Any, backwards: bool) -> None:
    """Store eight pixels, given as vectors of two pixels of four lanes, into a row of each of three planes."""
    a, b, c, d = pairs
    for channel in range(3):
        lanes = [channel + 4 * i for i in range(4)]
        order = list(range(STEP))
        left, right = _shuffle(builder, a, b, lanes), _shuffle(builder, c, d, lanes)
        _store(builder, _shuffle(builder, left, right, order[::-1] if backwards else order), goal)
        goal = builder.add(goal, pitch)


def _normalize_row(backwards: bool) -> Any:
    @_emitted
    def normalize_row(typingctx: Any, row: Any, mean: Any, inverse: Any, out: Any, pitch: Any, pixels: Any) -> Any:
        """Write ``(value - mean) * inverse`` of a row of uint8 pixels in float32, each channel by itself.

        Parameters
        ----------
        mean, inverse, out, pitch
            As for :func:`finish_normalized`.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, mean, inverse, out, pitch, pixels = arguments
            kind = ir.VectorType(_float, STEP)
            centre, factor = _load(builder, mean, kind, 4), _load(builder, inverse, kind, 4)

            def body(place: Any) -> None:
                a, b, c = _read_bytes(builder, builder.add(row, builder.mul(place, _i64(3))))
                pairs = [_shuffle(builder, *((a, b), (b, c))[left], lanes) for left, lanes in _PAIRS]
                pairs = [builder.fmul(builder.fsub(pair, centre), factor) for pair in pairs]
                first = builder.sub(builder.sub(pixels, place), _i64(STEP)) if backwards else place
                _planes(builder, pairs, builder.add(out, builder.mul(first, _i64(4))), pitch, backwards)

            _steps(builder, pixels, STEP, body)
            return context.get_dummy_value()

        return _void(6), codegen

    return normalize_row


normalize_row = _normalize_row(False)
normalize_mirrored_row = _normalize_row(True)


@_emitted
def blend_pixel(typingctx: Any, upper: Any, lower: Any, qx: Any, qy: Any, out: Any) -> Any:
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

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        upper, lower, qx, qy, out = arguments
        four = ir.VectorType(_float, 4)
        whole = _intrinsic(builder, "trunc", four)
        right = _splat(builder, qx, 4)
        left = builder.fsub(ir.Constant(four, [1.0] * 4), right)

        def across(address: Any) -> Any:
            small = _load(builder, address, ir.VectorType(_byte, STEP))
            small = _shuffle(builder, small, small, [0, 1, 2, 2, 3, 4, 5, 5])
            wide = builder.zext(small, ir.VectorType(ir.IntType(32), STEP))
            values = builder.sitofp(wide, ir.VectorType(_float, STEP))
            a, b = (_shuffle(builder, values, values, [4 * half + i for i in range(4)]) for half in range(2))
            return builder.fadd(builder.fmul(a, left), builder.fmul(b, right))

        top, bottom = across(upper), across(lower)
        value = builder.fadd(top, builder.fmul(builder.fsub(bottom, top), _splat(builder, qy, 4)))
        floor = builder.call(whole, [value])
        rest = builder.fsub(value, floor)
        value = builder.fadd(floor, builder.call(whole, [builder.fadd(rest, rest)]))
        # A blend of bytes is never negative, and rounds to 255 at most.
        pixel = builder.trunc(builder.fptosi(value, ir.VectorType(ir.IntType(32), 4)), ir.VectorType(_byte, 4))
        _store(builder, pixel, out)
        return context.get_dummy_value()

    return nb_types.void(nb_types.int64, nb_types.int64, nb_types.float32, nb_types.float32, nb_types.int64), codegen
