"""Sums along axes: of elements, squares, and squared distances from means.

Axes come folded into groups, reduced and kept in turn: ``[R0, K0, R1, K1, ...]`` (:func:`levels`). A result belongs to
an index of the kept groups, and rows of the last of them lie together.

Floats add up in the type of the total and in NVIDIA DALI's order: what is reduced is halved, the slowest axis first,
down to :data:`FEW` elements that are added one after the other. Where every order gives the same bits (integers whose
sum fits the type), numbers add up in as many lanes as a short row has elements.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types as nb_types

from dali_lab.kernels.arrays import Array, Number
from dali_lab.kernels.cpu.convert import widen
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.sum_vectors import LANES as RUNS_AT_ONCE
from dali_lab.kernels.cpu.machine.sum_vectors import sums_of_elements, sums_of_squared_distances, sums_of_squares
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, part, variants

Workplace: TypeAlias = tuple[Array, Array, Array, Array, Array, Array]
"""See :func:`workplace`."""
SUM, SQUARES, SPREAD = range(3)
"""The sums that :func:`accumulate` knows; `SPREAD` is squares of distances, in float32, from a given mean."""
FEW = 32
"""Elements that are added one after the other."""
LANES = 512
"""The largest number of lanes (:func:`lanes_of`) that are more than the results."""
SHORT = 512
"""Elements of a block below which rows of lanes cost more than they save."""
_TILE = 256
"""Results that are found together."""
_NARROW = 8
"""Results up to which each is summed on its own, without vectors."""
_MANY_ROWS = 16
"""Rows of lanes for which it is worth to begin with them."""
_DEEP = 64
_RUNS = 64
"""Runs of at most :data:`FEW` neighbours that are summed side by side."""
_LEAST_IN_RUNS, _MOST_IN_RUNS = _RUNS * (FEW // 2 + 1), _RUNS * FEW
"""Neighbours that are halved down to so many runs."""


def levels(shapes: Array, axes: tuple[int, ...]) -> Array:
    """Extents ``int64[N, 2 * M]`` of samples whose neighbouring axes are folded to reduced and kept ones, in turn.

    Parameters
    ----------
    shapes
        ``int64[N, ndim]``.
    axes
        Those that are reduced.
    """
    groups: list[Array] = []
    for axis in range(shapes.shape[1]):
        reduced = axis in axes
        if groups and len(groups) % 2 == reduced:
            groups[-1] = groups[-1] * shapes[:, axis]
            continue
        if not groups and not reduced:
            groups.append(np.ones(len(shapes), np.int64))
        groups.append(shapes[:, axis])
    groups += [np.ones(len(shapes), np.int64)] * (len(groups) % 2 if groups else 2)
    return np.ascontiguousarray(np.stack(groups, axis=1))


def exact(kind: int, dtype: npt.DTypeLike, total: npt.DTypeLike) -> int:
    """Elements of a type that may be added in any order, as their sum fits a type of totals; at least a few.

    Parameters
    ----------
    kind
        `SUM`, `SQUARES` or `SPREAD`.
    """
    element, into = np.dtype(dtype), np.dtype(total)
    if into.kind != "f":
        return 1 << 62
    if element.kind not in "ui" or kind == SPREAD:
        return FEW
    largest = max(-int(np.iinfo(element).min), int(np.iinfo(element).max))
    whole = 1 << int(np.finfo(into).nmant + 1)
    return max(FEW, whole // (largest * largest if kind == SQUARES else largest))


@part
def _add(kind: int, row: Array, about: Array, total: Array, like_src: Array) -> None:
    """Take one row into the totals, element by element."""
    if kind == SUM:
        for k in range(row.shape[0]):
            total[k] += total.dtype.type(widen(row[k], like_src))
    elif kind == SQUARES:
        for k in range(row.shape[0]):
            value = total.dtype.type(widen(row[k], like_src))
            total[k] += value * value
    else:
        for k in range(row.shape[0]):
            apart = np.float32(widen(row[k], like_src)) - about[k]
            total[k] += apart * apart


@part
def lanes_of(kept: int) -> int:
    """Elements of a row: `kept` results, as many times as gives whole vectors."""
    return kept * (128 if kept <= 4 else 32 if kept <= 16 else 8 if kept <= 64 else 1)


@part
def _add_block(kind: int, block: Array, about: Array, total: Array, lanes: Array, like_src: Array) -> None:
    """Take a block of rows of as many elements as there are totals into them, in any order."""
    kept = total.shape[0]
    wide = lanes_of(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        sums = lanes[:wide]
        sums[:] = 0
        for row in range(rows):
            _add(kind, block[row * wide : (row + 1) * wide], about, sums, like_src)
        for start in range(0, wide, kept):
            for k in range(kept):
                total[k] += sums[start + k]
        block = block[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _add(kind, block[start : start + kept], about, total, like_src)


@part
def _term(kind: int, element: Number, about: float, zero: Number) -> Any:
    """The summand of one element, in the type of `zero`."""
    if kind == SPREAD:
        apart = np.float32(element) - about
        return type(zero)(apart * apart)
    value = type(zero)(element)
    return value * value if kind == SQUARES else value


@part
def _run(kind: int, x: Array, start: int, size: int, about: float, zero: Number, like_src: Array) -> Any:
    """The total of neighbours, in four lanes."""
    one, two, three, four = zero, zero, zero, zero
    whole = size // 4 * 4 if size >= 16 else 0
    for k in range(start, start + whole, 4):
        one += _term(kind, widen(x[k], like_src), about, zero)
        two += _term(kind, widen(x[k + 1], like_src), about, zero)
        three += _term(kind, widen(x[k + 2], like_src), about, zero)
        four += _term(kind, widen(x[k + 3], like_src), about, zero)
    for k in range(start + whole, start + size):
        one += _term(kind, widen(x[k], like_src), about, zero)
    return (one + two) + (three + four)


@part
def _chain(kind: int, x: Array, start: int, step: int, size: int, about: float, zero: Number, like_src: Array) -> Any:
    """The total of elements, one after the other."""
    total = zero
    for k in range(start, start + size * step, step):
        total += _term(kind, widen(x[np.uintp(k)], like_src), about, zero)
    return total


@part
def _four_chains(
    kind: int, x: Array, start: int, step: int, size: int, about: float, zero: Number, like_src: Array
) -> Any:
    """The total of elements that are halved twice; the quarters are walked side by side."""
    half = size >> 1
    a, b, c = half >> 1, half, half + ((size - half) >> 1)
    two, three, four = start + a * step, start + b * step, start + c * step
    first, second, third, fourth = zero, zero, zero, zero
    for k in range(0, a * step, step):  # the first quarter is the shortest, by one at most
        first += _term(kind, widen(x[np.uintp(start + k)], like_src), about, zero)
        second += _term(kind, widen(x[np.uintp(two + k)], like_src), about, zero)
        third += _term(kind, widen(x[np.uintp(three + k)], like_src), about, zero)
        fourth += _term(kind, widen(x[np.uintp(four + k)], like_src), about, zero)
    if b - a > a:
        second += _term(kind, widen(x[np.uintp(two + a * step)], like_src), about, zero)
    if c - b > a:
        third += _term(kind, widen(x[np.uintp(three + a * step)], like_src), about, zero)
    if size - c > a:
        fourth += _term(kind, widen(x[np.uintp(four + a * step)], like_src), about, zero)
    return (first + second) + (third + fourth)


@part
def _add_rows(
    kind: int, x: Array, start: int, size: int, step: int, few: int, about: Array, sums: Array, work: Workplace,
    like_src: Array,
) -> None:  # fmt: skip
    """Totals of `size` rows with `step` elements from one to the next."""
    count = sums.shape[0]
    if few > FEW and step == count and size * step >= _MANY_ROWS * lanes_of(count):
        sums[:] = 0
        _add_block(kind, x[start : start + size * step], about, sums, work[4], like_src)
    elif few > FEW and step == 1:
        sums[0] = _run(kind, x, start, size, about[0], sums.dtype.type(0), like_src)
    elif count < _NARROW:
        zero = sums.dtype.type(0)
        for k in range(count):
            if size > FEW:
                sums[k] = _four_chains(kind, x, start + k, step, size, about[k], zero, like_src)
            else:
                sums[k] = _chain(kind, x, start + k, step, size, about[k], zero, like_src)
    else:
        sums[:] = 0
        for row in range(start, start + size * step, step):
            _add(kind, x[row : row + count], about, sums, like_src)


@part
def _add_nested(
    kind: int, x: Array, plan: Array, level: int, start: int, size: int, few: int, about: Array, sums: Array,
    work: Workplace, like_src: Array,
) -> None:  # fmt: skip
    """Totals over `size` indices of a level and all of the levels below: each level's sum is of sums of the next."""
    nested, counts = work[2], work[3]
    last, width = plan.shape[1] - 1, sums.shape[0]
    for each in range(level, last):
        nested[each, :width] = 0
        counts[each] = 0
    at = start
    left = size * plan[2, level]
    while left:
        left -= plan[0, last]
        row = nested[last, :width]
        _add_rows(kind, x, at, plan[0, last], plan[1, last], few, about, row, work, like_src)
        each = last
        while each > level:
            each -= 1
            for k in range(width):
                nested[each, k] += nested[each + 1, k]
                nested[each + 1, k] = 0
            counts[each] += 1
            at += plan[1, each]
            if each == level or counts[each] < plan[0, each]:
                break
            at -= counts[each] * plan[1, each]
            counts[each] = 0
    copy_row(nested[level], sums)


def sum_in_runs(kind: int, x: Array, start: int, size: int, about: Array, sums: Array, work: Workplace) -> bool:
    """The total of neighbours that are halved six times, if they are float32; whether it was found."""
    return False


@variants(sum_in_runs)
def _choose_sum_in_runs(kind: Any, x: Any, start: Any, size: Any, about: Any, sums: Any, work: Any) -> Any:
    if not uses("vectors") or x.dtype != nb_types.float32 or sums.dtype != nb_types.float32:
        return sum_in_runs

    def in_vectors(kind: int, x: Array, start: int, size: int, about: Array, sums: Array, work: Workplace) -> bool:
        lanes, starts, sizes = work[4], work[5][0], work[5][1]
        starts[0], sizes[0] = start, size
        count = 1
        while count < _RUNS:
            for k in range(count - 1, -1, -1):
                half = sizes[k] >> 1
                starts[2 * k + 1], sizes[2 * k + 1] = starts[k] + half, sizes[k] - half
                starts[2 * k], sizes[2 * k] = starts[k], half
            count *= 2
        shortest = size // _RUNS
        for k in range(0, _RUNS, RUNS_AT_ONCE):
            places = x.ctypes.data, starts.ctypes.data + 8 * k, shortest, about[0], lanes.ctypes.data + 4 * k
            if kind == SUM:
                sums_of_elements(*places)
            elif kind == SQUARES:
                sums_of_squares(*places)
            else:
                sums_of_squared_distances(*places)
        for k in range(_RUNS):
            if sizes[k] > shortest:
                lanes[k] += _term(kind, x[np.uintp(starts[k] + shortest)], about[0], np.float32(0))
        while count > 1:
            count //= 2
            for k in range(count):
                lanes[k] = lanes[2 * k] + lanes[2 * k + 1]
        sums[0] = lanes[0]
        return True

    return in_vectors


@part
def _add_tree(
    kind: int, x: Array, plan: Array, start: int, few: int, about: Array, total: Array, work: Workplace, like_src: Array
) -> None:
    """Totals of neighbouring results: halves of what is reduced are summed apart, if they are more than `few`.

    Parameters
    ----------
    plan
        ``int64[3, M]``: the extent of each level, the step along it, and the elements of the levels below.
    few
        More than :data:`FEW` where the order makes no difference.
    work
        See :func:`workplace`.
    """
    nodes, pending = work[0], work[1]
    last, width = plan.shape[1] - 1, total.shape[0]
    nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3] = 0, start, plan[0, 0], 0
    top, waiting = 1, 0
    while top:
        top -= 1
        level, at, size, depth = nodes[top, 0], nodes[top, 1], nodes[top, 2], nodes[top, 3]
        while level < last and size == 1:
            level += 1
            size = plan[0, level]
        row = few == FEW and level == last and width == 1 and plan[1, last] == 1
        if row and _LEAST_IN_RUNS <= size <= _MOST_IN_RUNS:
            done = sum_in_runs(kind, x, at, size, about, pending[waiting], work)
        else:
            done = False
        quarters = few == FEW and level == last and width < _NARROW and 2 * FEW + 1 < size <= 4 * FEW
        if not done and not quarters and size * plan[2, level] > few:
            half = size >> 1
            nodes[top, 0], nodes[top, 1] = level, at + half * plan[1, level]
            nodes[top, 2], nodes[top, 3] = size - half, depth + 1
            top += 1
            nodes[top, 0], nodes[top, 1], nodes[top, 2], nodes[top, 3] = level, at, half, depth + 1
            top += 1
            continue
        if done:
            pass
        elif quarters:
            zero = total.dtype.type(0)
            for k in range(width):
                pending[waiting, k] = _four_chains(kind, x, at + k, plan[1, last], size, about[k], zero, like_src)
        elif level == last:
            _add_rows(kind, x, at, size, plan[1, last], few, about, pending[waiting, :width], work, like_src)
        else:
            _add_nested(kind, x, plan, level, at, size, few, about, pending[waiting, :width], work, like_src)
        nodes[waiting, 4] = depth
        waiting += 1
        while waiting > 1 and nodes[waiting - 1, 4] == nodes[waiting - 2, 4]:  # both halves are there
            waiting -= 1
            nodes[waiting - 1, 4] -= 1
            for k in range(width):
                pending[waiting - 1, k] += pending[waiting, k]
    copy_row(pending[0], total)


@part
def workplace(levels: int, like_total: Array) -> Any:
    """Memory to work in: nodes, sums that wait for another half, those of levels, counters, lanes, places of runs."""
    return (
        np.empty((2 * _DEEP, 5), np.int64),
        np.empty((_DEEP, _TILE), like_total.dtype),
        np.empty((levels, _TILE), like_total.dtype),
        np.empty(levels, np.int64),
        np.empty(LANES, like_total.dtype),
        np.empty((2, _RUNS), np.int64),
    )


@part
def results_of(extents: Array) -> int:
    """The number of results of a sample."""
    count = 1
    for group in range(1, extents.shape[0], 2):
        count *= extents[group]
    return count


@part
def add_sample(
    kind: int, x: Array, extents: Array, few: int, about: Array, totals: Array, plan: Array, work: Workplace,
    like_src: Array,
) -> None:  # fmt: skip
    """Totals of one sample; `plan` is memory for :func:`_add_tree`."""
    step, below = 1, 1
    for level in range(plan.shape[1] - 1, -1, -1):
        step *= extents[2 * level + 1]
        plan[0, level], plan[1, level], plan[2, level] = extents[2 * level], step, below
        step *= extents[2 * level]
        below *= extents[2 * level]
    kept = extents[extents.shape[0] - 1]
    size = extents[extents.shape[0] - 2]
    if plan.shape[1] == 2 and extents[0] == 1 and kept == 1 and size <= FEW:
        for first in range(totals.shape[0]):
            zero = totals.dtype.type(0)
            totals[first] = _chain(kind, x, first * size, 1, size, about[first], zero, like_src)
        return
    for first in range(0, totals.shape[0], kept):
        start, rest = 0, first // kept
        for level in range(plan.shape[1] - 2, -1, -1):
            start += rest % extents[2 * level + 1] * (plan[1, level + 1] * plan[0, level + 1])
            rest //= extents[2 * level + 1]
        for k in range(0, kept, _TILE):
            tile = slice(first + k, first + min(k + _TILE, kept))
            _add_tree(kind, x, plan, start + k, few, about[tile], totals[tile], work, like_src)


@part
def read_given(addresses: Array, steps: Array, sample: int, values: Array) -> None:
    """Fill `values` with what lies at an address, one number for all (step 0) or one for each."""
    if addresses.shape[0]:
        source = array_at(addresses[sample], (1 + (values.shape[0] - 1) * steps[sample],), values)
        for k in range(values.shape[0]):
            values[k] = source[k * steps[sample]]


@kernel
def accumulate(
    kind: int, src: Array, extents: Array, few: int, about: Array, steps: Array, totals: Array, like_src: Array
) -> None:
    """Sums of each sample's elements, in one row of totals.

    Parameters
    ----------
    kind
        `SUM`, `SQUARES` or `SPREAD`.
    src
        ``int64[N]`` addresses.
    extents
        ``int64[N, 2 * M]``, see :func:`levels`.
    few
        Elements that may be added in any order: :func:`exact`.
    about, steps
        For `SPREAD`: ``int64[N]`` addresses of float32 means, and 0 where one serves all results of a sample, else 1.
    totals
        float32, float64 or int64, in one row.
    """
    plan = np.empty((3, extents.shape[1] // 2), np.int64)
    work = workplace(plan.shape[1], totals)
    first = 0
    for i in range(src.shape[0]):
        count = results_of(extents[i])
        if count == 0:
            continue
        x = array_at(src[i], (extents[i].prod(),), like_src)
        middle = np.zeros(count, np.float32)
        read_given(about, steps, i, middle)
        add_sample(kind, x, extents[i], few, middle, totals[first : first + count], plan, work, like_src)
        first += count


@part
def group_of(extents: Array, block: int) -> int:
    """The outer kept index that a block of the last two groups belongs to."""
    result, weight = 0, 1
    for group in range(extents.shape[0] - 3, -1, -1):
        if group % 2:
            result += block % extents[group] * weight
            weight *= extents[group]
        block //= extents[group]
    return int(result)
