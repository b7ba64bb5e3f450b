"""Applies a function of arrays to whole chunks, with operands broadcast in every sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered, is_contiguous, is_small, stacked
from dali_lab.model.promotion import widened

Array = npt.NDArray[Any]
_SHORT = 256
"""Elements below which an inner loop costs more to begin than to run."""
_SMALL = 1024
"""Elements of a result below which a NumPy call costs more than writing out broadcast operands."""
Operand = Batch | Array
"""A batch, or a constant that is the same in all samples."""


def apply(function: Callable[..., None], out: Batch, operands: Sequence[Operand]) -> None:
    """Fill `out` with ``function(out, *operands)``.

    One call serves the whole chunk where the samples have one shape, or differ but lie one after the other with
    operands of the same shapes or of one element; also where samples are small, whose operands a kernel stretches.
    Else there is one call for each sample.

    Parameters
    ----------
    function
        Takes the array to fill and arrays whose shapes numpy stretches over it.
    out
        Allocated, in the shapes that the operands have together.
    operands
        Batches of as many samples, and constants without dimensions.
    """
    if not int(out.sizes.sum()):
        return
    batches = [operand for operand in operands if isinstance(operand, Batch)]
    with np.errstate(all="ignore"):
        arrays = _together(out, operands, batches)
        if arrays is not None:
            _call(function, arrays)
            return
        if is_contiguous(out) and int(out.sizes.sum()) <= _SMALL * len(out):
            stretched = [_stretched(operand, out) for operand in operands]
            if all(array is not None for array in stretched):
                function(flat(out), *stretched)
                return
        for index in range(len(out)):
            _call(function, [out.array(index), *(_sample(operand, index) for operand in operands)])


def _stretched(operand: Operand, out: Batch) -> Array | None:
    """All elements of an operand, broadcast to the shapes of the result; `None` while the kernel is being compiled."""
    if not isinstance(operand, Batch):
        return operand
    shapes = widened(operand.shapes, out.ndim)
    if np.array_equal(shapes, out.shapes):
        return flat(gathered(operand))
    from dali_lab.kernels.cpu.stretch import ready, stretch

    if not ready(operand.itemsize):
        return None
    result = Batch.allocate(out.shapes, operand.dtype)
    stretch(operand.addresses, result.addresses, shapes, out.shapes, operand.itemsize)
    return flat(result)


def _call(function: Callable[..., None], arrays: Sequence[Array]) -> None:
    target, *sources = arrays
    function(target, *(_with_long_rows(source, target.shape) for source in sources))


def _with_long_rows(source: Array, shape: tuple[int, ...]) -> Array:
    """The operand, repeated along a few axes if it is a short vector to be stretched over a large array.

    NumPy's inner loop runs over the last axes that all operands walk in one go: with a vector of 3 channels that
    would be 3 elements a turn.
    """
    ndim = len(shape)
    if source.size < 2 or source.size * _SHORT > math.prod(shape) or source.shape[-1] == 1:
        return source
    extents = [1] * (ndim - source.ndim) + list(source.shape)
    run = 1
    for axis in range(ndim - 1, -1, -1):
        if extents[axis] != shape[axis]:
            if run * shape[axis] * 4 > math.prod(shape):
                break
            extents[axis] = shape[axis]
        run *= shape[axis]
        if run >= _SHORT:
            break
    if math.prod(extents) == source.size:
        return source
    return np.ascontiguousarray(np.broadcast_to(source, extents))


def _sample(operand: Operand, index: int) -> Array:
    return operand.array(index) if isinstance(operand, Batch) else operand


def _together(out: Batch, operands: Sequence[Operand], batches: Sequence[Batch]) -> list[Array] | None:
    """Arrays over the whole chunk, the one to fill first; `None` where samples must be treated one by one."""
    found = (each.whole() if isinstance(each, Batch) else each for each in (out, *operands))
    wholes = [array for array in found if array is not None]
    if len(wholes) == 1 + len(operands):
        return [_aligned(array, each, out.ndim) for array, each in zip(wholes, (out, *operands), strict=True)]
    if not all(is_contiguous(batch) or is_small(batch) for batch in batches) or not is_contiguous(out):
        return None
    if out.is_uniform() and all(batch.is_uniform() for batch in batches):
        return [
            _aligned(stacked(each) if isinstance(each, Batch) else each, each, out.ndim) for each in (out, *operands)
        ]
    arrays = [flat(out)]
    for operand in operands:
        if not isinstance(operand, Batch):
            arrays.append(operand)
        elif np.array_equal(widened(operand.shapes, out.ndim), out.shapes):
            arrays.append(flat(gathered(operand)))
        elif bool((operand.sizes == 1).all()):
            arrays.append(np.repeat(flat(gathered(operand)), out.sizes))
        else:
            return None
    return arrays


def _aligned(array: Array, operand: Operand, ndim: int) -> Array:
    """The samples of a batch as one array, with axes of one element in front where there are fewer than `ndim`."""
    if not isinstance(operand, Batch) or operand.ndim == ndim:
        return array
    return array.reshape(array.shape[0], *[1] * (ndim - operand.ndim), *array.shape[1:])
