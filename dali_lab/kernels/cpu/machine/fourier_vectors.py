"""Steps of the fast Fourier transform for sixteen rows at once: a lane of each vector belongs to one row.

An element of the work is a real and an imaginary vector, :data:`ELEMENT` bytes in all. Addresses are integers; factors
are complex numbers of two float32, by which whole vectors are multiplied. Products and sums are rounded one by one, so
that results do not depend on the processor.
"""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]

from dali_lab.kernels.cpu.machine.emission import (
    Builder,
    Value,
    add,
    emitted,
    load,
    of_integers,
    splat,
    store,
    transposed,
)

LANES = 16
ELEMENT = 128

_i32, _i64, _float = ir.IntType(32), ir.IntType(64), ir.FloatType()
_floats = ir.VectorType(_float, LANES)
_VECTOR = ELEMENT // 2
_Complex = tuple[Value, Value]


def _loaded(builder: Builder, address: Value) -> _Complex:
    return load(builder, address, _floats, _VECTOR), load(builder, add(builder, address, _VECTOR), _floats, _VECTOR)


def _stored(builder: Builder, value: _Complex, address: Value) -> None:
    store(builder, value[0], address, _VECTOR)
    store(builder, value[1], add(builder, address, _VECTOR), _VECTOR)


def _sum(builder: Builder, a: _Complex, b: _Complex) -> _Complex:
    return builder.fadd(a[0], b[0]), builder.fadd(a[1], b[1])


def _difference(builder: Builder, a: _Complex, b: _Complex) -> _Complex:
    return builder.fsub(a[0], b[0]), builder.fsub(a[1], b[1])


def _product(builder: Builder, a: _Complex, factor: Value) -> _Complex:
    """A number times the factor at an address."""
    real = splat(builder, load(builder, factor, _float, 4), LANES)
    imaginary = splat(builder, load(builder, add(builder, factor, 4), _float, 4), LANES)
    return (
        builder.fsub(builder.fmul(a[0], real), builder.fmul(a[1], imaginary)),
        builder.fadd(builder.fmul(a[0], imaginary), builder.fmul(a[1], real)),
    )


def _power(builder: Builder, a: _Complex) -> Value:
    return builder.fadd(builder.fmul(a[0], a[0]), builder.fmul(a[1], a[1]))


@emitted(of_integers())
def transpose(builder: Builder, source: Value, out: Value, pitch: Value) -> None:
    """Write sixteen vectors of sixteen lanes as the columns of rows that are `pitch` bytes apart."""
    lines = [load(builder, add(builder, source, _VECTOR * row), _floats, _VECTOR) for row in range(LANES)]
    for line in transposed(builder, lines):
        store(builder, line, out, 4)
        out = builder.add(out, pitch)


@emitted(of_integers())
def weigh(builder: Builder, rows: Value, weights: Value, start: Value, size: Value, places: Value, work: Value) -> None:
    """Put sixteen elements of each row, weighted, where the transform begins: those from `size` on are 0.

    Parameters
    ----------
    rows, weights
        Addresses of the sixteen addresses of rows, and of the weights, float32 both.
    start, size
        The first of the elements, and the length of the rows.
    places
        Address of ``int64``: where in the work each element of a row goes, in bytes.
    """
    offset = builder.shl(start, _i64(2))
    weight = load(builder, builder.add(weights, offset), _floats, 4)
    lanes = ir.Constant(ir.VectorType(_i64, LANES), list(range(LANES)))
    inside = builder.icmp_signed("<", lanes, splat(builder, builder.sub(size, start), LANES))
    zero = ir.Constant(_floats, [0.0] * LANES)
    lines = []
    for row in range(LANES):
        address = builder.add(load(builder, add(builder, rows, 8 * row), _i64, 8), offset)
        lines.append(builder.select(inside, builder.fmul(load(builder, address, _floats, 4), weight), zero))
    table = builder.add(places, builder.shl(start, _i64(3)))
    for k, line in enumerate(transposed(builder, lines)):
        store(builder, line, builder.add(work, load(builder, add(builder, table, 8 * k), _i64, 8)), _VECTOR)


@emitted(of_integers())
def join_two(builder: Builder, element: Value, step: Value) -> None:
    """Two transforms of one element each become one of two elements; `step` is that to the second, in bytes."""
    other = builder.add(element, step)
    a, b = _loaded(builder, element), _loaded(builder, other)
    _stored(builder, _sum(builder, a, b), element)
    _stored(builder, _difference(builder, a, b), other)


def _join(builder: Builder, element: Value, step: Value, factors: list[Value]) -> None:
    places = [element]
    for _ in range(3):
        places.append(builder.add(places[-1], step))
    parts = [_loaded(builder, place) for place in places]
    for k, factor in enumerate(factors, 1):
        parts[k] = _product(builder, parts[k], factor)
    even, odd = _sum(builder, parts[0], parts[1]), _difference(builder, parts[0], parts[1])
    more, (real, imaginary) = _sum(builder, parts[2], parts[3]), _difference(builder, parts[2], parts[3])
    _stored(builder, _sum(builder, even, more), places[0])
    _stored(builder, (builder.fadd(odd[0], imaginary), builder.fsub(odd[1], real)), places[1])
    _stored(builder, _difference(builder, even, more), places[2])
    _stored(builder, (builder.fsub(odd[0], imaginary), builder.fadd(odd[1], real)), places[3])


@emitted(of_integers())
def join_four(builder: Builder, element: Value, step: Value) -> None:
    """Four transforms become one, by one element of each, where all factors are 1."""
    _join(builder, element, step, [])


@emitted(of_integers())
def join_four_by(builder: Builder, element: Value, step: Value, two: Value, one: Value, three: Value) -> None:
    """Four transforms become one, by one element of each: the second, third and fourth times a factor."""
    _join(builder, element, step, [two, one, three])


@emitted(of_integers())
def end_powers(builder: Builder, element: Value, first: Value, last: Value) -> None:
    """The powers of the first and of the last frequency, from the first element of the transform of half the length."""
    real, imaginary = _loaded(builder, element)
    low, high = builder.fadd(real, imaginary), builder.fsub(real, imaginary)
    store(builder, builder.fmul(low, low), first, 4)
    store(builder, builder.fmul(high, high), last, 4)


@emitted(of_integers())
def pair_powers(builder: Builder, element: Value, other: Value, factor: Value, near: Value, far: Value) -> None:
    """The powers of two frequencies, from the elements of the transform of half the length that both depend on.

    Even and odd elements of a row were transformed as real and imaginary parts of one.
    """
    half = ir.Constant(_floats, [0.5] * LANES)
    (a, b), (c, d) = _loaded(builder, element), _loaded(builder, other)
    even = builder.fmul(builder.fadd(a, c), half), builder.fmul(builder.fsub(b, d), half)
    odd = builder.fmul(builder.fadd(b, d), half), builder.fmul(builder.fsub(c, a), half)
    turned = _product(builder, odd, factor)
    store(builder, _power(builder, _sum(builder, even, turned)), near, 4)
    store(builder, _power(builder, _difference(builder, even, turned)), far, 4)
