"""Sums, extremes and deviations along axes, and their use to standardise samples.

Axes come folded to four levels, reduced and kept in turn: the element ``[p, o, r, k]`` of a sample belongs to the
result ``o * K + k`` (:func:`levels`). Numbers add up in as many lanes as a short row has elements, so the order of a
sum, and its last bit, depends on nothing but the shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cpu.convert import widen
from dali_lab.kernels.cpu.memory import array_at, kernel, part

Array = np.ndarray[Any, Any]

SUM, SQUARES, SPREAD, LEAST, LARGEST = range(5)
"""What :func:`accumulate` gathers; `SPREAD` is squares of distances, in float32, from a given mean."""
_ROW = 512
"""The largest number of lanes (:func:`_lanes`) that are more than the results."""
_SHORT = 512
"""Elements of a block below which rows of lanes cost more than they save."""


def levels(shapes: Array, axes: tuple[int, ...]) -> Array | None:
    """Extents ``int64[N, 4]`` of samples whose axes are folded to reduced, kept, reduced, kept; `None` if they do not.

    Parameters
    ----------
    shapes
        ``int64[N, ndim]``.
    axes
        Those that are reduced.
    """
    groups: list[tuple[bool, Array]] = []
    for axis in range(shapes.shape[1]):
        extents = shapes[:, axis]
        if (extents == 1).all():
            continue
        reduced = axis in axes
        if groups and groups[-1][0] == reduced:
            groups[-1] = (reduced, groups[-1][1] * extents)
        else:
            groups.append((reduced, extents))
    if groups and groups[-1][0]:
        groups.append((False, np.ones(len(shapes), np.int64)))
    if len(groups) > 4:
        return None
    result = np.ones((len(shapes), 4), np.int64)
    for column, (_, extents) in zip(range(4 - len(groups), 4), groups, strict=True):
        result[:, column] = extents
    return result


@part
def _add(kind: int, row: Array, about: Array, total: Array, like_src: Array) -> None:
    """Take one row into the totals, element by element."""
    if kind == SUM:
        for k in range(row.shape[0]):
            total[k] += widen(row[k], like_src)
    elif kind == SQUARES:
        for k in range(row.shape[0]):
            value = total.dtype.type(widen(row[k], like_src))
            total[k] += value * value
    else:
        for k in range(row.shape[0]):
            apart = np.float32(widen(row[k], like_src)) - about[k]
            total[k] += apart * apart


@part
def _lanes(kept: int) -> int:
    """Elements of a row: `kept` results, as many times as gives whole vectors."""
    return kept * (128 if kept <= 4 else 32 if kept <= 16 else 8 if kept <= 64 else 1)


@part
def _repeated(values: Array, row: Array) -> None:
    """Fill a row with results over and over."""
    for start in range(0, row.shape[0], values.shape[0]):
        row[start : start + values.shape[0]] = values


@part
def _add_block(
    kind: int, block: Array, about: Array, total: Array, lanes: Array, likes: Array, like_src: Array
) -> None:
    """Take a block of rows of as many elements as there are totals into them."""
    kept = total.shape[0]
    wide = _lanes(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        sums = lanes[:wide]
        sums[:] = 0
        if kind == SPREAD:
            _repeated(about, likes[:wide])
        for row in range(rows):
            _add(kind, block[row * wide : (row + 1) * wide], likes[:wide], sums, like_src)
        for start in range(0, wide, kept):
            for k in range(kept):
                total[k] += sums[start + k]
        block = block[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _add(kind, block[start : start + kept], about, total, like_src)


@part
def _term(kind: int, element: Any, about: float, zero: Any) -> Any:
    """What one element adds to a total of the type of `zero`."""
    if kind == SPREAD:
        apart = np.float32(element) - about
        return type(zero)(apart * apart)
    value = type(zero)(element)
    return value * value if kind == SQUARES else value


@part
def _run(kind: int, x: Array, start: int, size: int, about: float, zero: Any, like_src: Array) -> Any:
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
def _add_sample(
    kind: int, x: Array, extents: Array, about: Array, totals: Array, lanes: Array, likes: Array, like_src: Array
) -> None:
    kept = extents[3]
    size = extents[2] * kept
    zero = totals.dtype.type(0)
    for p in range(extents[0]):
        for o in range(extents[1]):
            start = (p * extents[1] + o) * size
            if size >= _SHORT:
                result = slice(o * kept, (o + 1) * kept)
                _add_block(kind, x[start : start + size], about[result], totals[result], lanes, likes, like_src)
            elif kept == 1:
                totals[o] += _run(kind, x, start, size, about[o], zero, like_src)
            else:
                for r in range(extents[2]):
                    for k in range(kept):
                        element = widen(x[start + r * kept + k], like_src)
                        totals[o * kept + k] += _term(kind, element, about[o * kept + k], zero)


@part
def _given(addresses: Array, steps: Array, sample: int, values: Array) -> None:
    """Fill `values` with what lies at an address, one number for all (step 0) or one for each."""
    if addresses.shape[0]:
        source = array_at(addresses[sample], (1 + (values.shape[0] - 1) * steps[sample],), values)
        for k in range(values.shape[0]):
            values[k] = source[k * steps[sample]]


@kernel
def accumulate(
    kind: int, src: Array, extents: Array, starts: Array, about: Array, steps: Array, totals: Array, like_src: Array
) -> None:
    """Add what `kind` says of each sample's elements to ``totals[starts[i]:]``.

    Parameters
    ----------
    kind
        `SUM`, `SQUARES` or `SPREAD`.
    src
        ``int64[N]`` addresses.
    extents
        ``int64[N, 4]``, see :func:`levels`.
    starts
        ``int64[N]``: where each sample's results begin; samples may share theirs.
    about, steps
        For `SPREAD`: ``int64[N]`` addresses of float32 means, and 0 where one serves all results of a sample, else 1.
    totals
        float64 or int64, in one row.
    """
    lanes = np.empty(_ROW, totals.dtype)
    likes = np.empty(_ROW, np.float32)
    for i in range(src.shape[0]):
        count = extents[i, 1] * extents[i, 3]
        if count == 0:
            continue
        x = array_at(src[i], (extents[i, 0] * extents[i, 2] * count,), like_src)
        middle = np.zeros(count, np.float32)
        _given(about, steps, i, middle)
        total = totals[starts[i] : starts[i] + count]
        _add_sample(kind, x, extents[i], middle, total, lanes, likes, like_src)


@part
def _keep_extremes(kind: int, row: Array, result: Array) -> None:
    if kind == LEAST:
        for k in range(row.shape[0]):
            result[k] = row[k] if row[k] < result[k] else result[k]
    else:
        for k in range(row.shape[0]):
            result[k] = row[k] if row[k] > result[k] else result[k]


@part
def _extremes_of_block(kind: int, block: Array, result: Array, lanes: Array, limit: Any) -> None:
    """Take a block of rows of as many elements as there are results into them."""
    kept = result.shape[0]
    wide = _lanes(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        best = lanes[:wide]
        best[:] = limit
        for row in range(rows):
            _keep_extremes(kind, block[row * wide : (row + 1) * wide], best)
        for start in range(0, wide, kept):
            _keep_extremes(kind, best[start : start + kept], result)
        block = block[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _keep_extremes(kind, block[start : start + kept], result)


@kernel
def extremes(kind: int, src: Array, dst: Array, extents: Array, limit: Any, like_src: Array) -> None:
    """The least or the largest number for each result, not beyond `limit`; NaN is passed over."""
    lanes = np.empty(_ROW, like_src.dtype)
    for i in range(src.shape[0]):
        kept = extents[i, 3]
        size = extents[i, 2] * kept
        count = extents[i, 1] * kept
        if count == 0:
            continue
        x = array_at(src[i], (extents[i, 0] * extents[i, 1] * size,), like_src)
        y = array_at(dst[i], (count,), like_src)
        y[:] = limit
        for p in range(extents[i, 0]):
            for o in range(extents[i, 1]):
                start = (p * extents[i, 1] + o) * size
                if size >= _SHORT:
                    _extremes_of_block(kind, x[start : start + size], y[o * kept : (o + 1) * kept], lanes, limit)
                    continue
                for k in range(kept):
                    best = y[o * kept + k]
                    for r in range(extents[i, 2]):
                        element = x[start + r * kept + k]
                        if (element < best) if kind == LEAST else (element > best):
                            best = element
                    y[o * kept + k] = best


@part
def _apply(row: Array, out: Array, mean: Array, factor: Array, shift: Any, like_src: Array) -> None:
    for k in range(row.shape[0]):
        out[k] = (np.float32(widen(row[k], like_src)) - mean[k]) * factor[k] + shift


@part
def _apply_one(row: Array, out: Array, mean: Any, factor: Any, shift: Any, like_src: Array) -> None:
    for k in range(row.shape[0]):
        out[k] = (np.float32(widen(row[k], like_src)) - mean) * factor + shift


@part
def _apply_block(
    block: Array, out: Array, mean: Array, factor: Array, shift: Any, row_mean: Array, row_factor: Array,
    like_src: Array,
) -> None:  # fmt: skip
    """Standardise a block of rows of as many elements as there are means."""
    kept = mean.shape[0]
    wide = _lanes(kept)
    rows = block.shape[0] // wide if wide > kept else 0
    if rows > 1:
        _repeated(mean, row_mean[:wide])
        _repeated(factor, row_factor[:wide])
        for row in range(rows):
            at = slice(row * wide, (row + 1) * wide)
            _apply(block[at], out[at], row_mean[:wide], row_factor[:wide], shift, like_src)
        block, out = block[rows * wide :], out[rows * wide :]
    for start in range(0, block.shape[0], kept):
        _apply(block[start : start + kept], out[start : start + kept], mean, factor, shift, like_src)


@kernel
def standardize(
    src: Array, dst: Array, extents: Array, means: Array, mean_steps: Array, inverses: Array, inverse_steps: Array,
    ddof: int, epsilon: float, scale: float, shift: float, like_src: Array, like_dst: Array,
) -> None:  # fmt: skip
    """``(x - mean) * (inverse * scale) + shift`` in float32, with what is not given found in each sample.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses; the results are float32.
    extents
        ``int64[N, 4]``, see :func:`levels`.
    means, mean_steps
        ``int64[N]`` addresses of float32 means, and 0 where one serves the sample, else 1; empty to find them.
    inverses, inverse_steps
        The same for reciprocals of the deviation. One that is found is 0 where the variance is.
    ddof, epsilon
        Subtracted from the number of elements, and added to the variance, where deviations are found.
    """
    lanes = np.empty(_ROW, np.float64)
    row_mean, row_factor = np.empty(_ROW, np.float32), np.empty(_ROW, np.float32)
    offset = np.float32(shift)
    for i in range(src.shape[0]):
        kept, size = extents[i, 3], extents[i, 2] * extents[i, 3]
        count = extents[i, 1] * kept
        blocks = extents[i, 0] * extents[i, 1]
        if blocks * size == 0:
            continue
        x = array_at(src[i], (blocks * size,), like_src)
        y = array_at(dst[i], (blocks * size,), like_dst)
        elements = extents[i, 0] * extents[i, 2]
        mean, factor = np.empty(count, np.float32), np.empty(count, np.float32)
        _given(means, mean_steps, i, mean)
        if not means.shape[0]:
            totals = np.zeros(count, np.float64)
            _add_sample(SUM, x, extents[i], mean, totals, lanes, row_mean, like_src)
            for k in range(count):
                mean[k] = np.float32(totals[k] / elements)
        _given(inverses, inverse_steps, i, factor)
        if not inverses.shape[0]:
            totals = np.zeros(count, np.float64)
            _add_sample(SPREAD, x, extents[i], mean, totals, lanes, row_mean, like_src)
            for k in range(count):
                variance = (totals[k] / (elements - ddof) if elements > ddof else 0.0) + epsilon
                factor[k] = np.float32(1 / np.sqrt(variance)) if variance > 0 else np.float32(0)
        for k in range(count):
            factor[k] *= np.float32(scale)
        for p in range(extents[i, 0]):
            for o in range(extents[i, 1]):
                start = (p * extents[i, 1] + o) * size
                if size >= _SHORT:
                    group, block = slice(o * kept, (o + 1) * kept), slice(start, start + size)
                    _apply_block(
                        x[block],
                        y[block],
                        mean[group],
                        factor[group],
                        np.float32(shift),
                        row_mean,
                        row_factor,
                        like_src,
                    )
                elif kept == 1:
                    _apply_one(x[start : start + size], y[start : start + size], mean[o], factor[o], offset, like_src)
                else:
                    for r in range(extents[i, 2]):
                        for k in range(kept):
                            at, which = start + r * kept + k, o * kept + k
                            apart = np.float32(widen(x[at], like_src)) - mean[which]
                            y[at] = apart * factor[which] + offset
