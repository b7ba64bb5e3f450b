"""Sums of sixteen runs of float32 at once, each one element after the other: a lane of a vector belongs to one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.cpu.machine.emission import Builder, Value, add, emitted, load, splat, store, transposed

LANES = 16
LONGEST = 2 * LANES
"""Most elements of a run; it has at least :data:`LANES`."""

_i64 = ir.IntType(64)
_floats, _longs = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_i64, LANES)
_arguments = nb_types.void(nb_types.int64, nb_types.int64, nb_types.int64, nb_types.float32, nb_types.int64)


def sums_of_runs(term: Callable[[Builder, Value, Value], Value]) -> Any:
    """Make the function for what is summed: `term` writes it for a vector of elements and one of means."""

    @emitted(lambda *_: _arguments)
    def sums_of_runs(builder: Builder, x: Value, starts: Value, count: Value, about: Value, out: Value) -> None:
        """Write sixteen sums of `count` elements each.

        Parameters
        ----------
        x, starts
            Address of the elements, and that of ``int64[16]``, where in them the runs begin.
        """
        means = splat(builder, about, LANES)

        def terms(first: Value) -> list[Value]:
            found = []
            for run in range(LANES):
                start = builder.add(load(builder, add(builder, starts, 8 * run), _i64, 8), first)
                elements = load(builder, builder.add(x, builder.shl(start, _i64(2))), _floats, 4)
                found.append(term(builder, elements, means))
            return transposed(builder, found)

        total = ir.Constant(_floats, [0.0] * LANES)
        for value in terms(_i64(0)):
            total = builder.fadd(total, value)
        # The last sixteen elements: those that were among the first are left out.
        known = builder.sub(_i64(LONGEST), count)
        for k, value in enumerate(terms(add(builder, count, -LANES))):
            is_new = builder.icmp_signed(">=", _i64(k), known)
            total = builder.select(is_new, builder.fadd(total, value), total)
        store(builder, total, out, 4)

    return sums_of_runs


def _element(builder: Builder, value: Value, mean: Value) -> Value:
    return value


def _square(builder: Builder, value: Value, mean: Value) -> Value:
    return builder.fmul(value, value)


def _squared_distance(builder: Builder, value: Value, mean: Value) -> Value:
    apart = builder.fsub(value, mean)
    return builder.fmul(apart, apart)


sums_of_elements, sums_of_squares = sums_of_runs(_element), sums_of_runs(_square)
sums_of_squared_distances = sums_of_runs(_squared_distance)
