"""Moving elements in NumPy: the same as the kernel, for the batches before it is compiled."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.memory import array_in_memory


def _inside(start: int, step: int, count: int, size: int) -> tuple[slice, slice]:
    """The part of an output axis that has elements of the input, and these elements."""
    positions = range(start, start + count * step, step)
    if step > 0:
        first, last = -(start // step) if start < 0 else 0, -((start - size) // step)
    else:
        first, last = (start - size) // -step + 1 if start >= size else 0, start // -step + 1
    first = min(first, count)
    last = max(first, min(last, count))
    if last == first:
        return slice(0, 0), slice(0, 0)
    end = positions[last - 1] + (1 if step > 0 else -1)
    return slice(first, last), slice(positions[first], end if end >= 0 else None, step)


def gather(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, starts: Array, steps: Array, order: Array,
    fill: Array, fill_axis: int, item: Array,
) -> None:  # fmt: skip
    """The kernel of :func:`~dali_lab.kernels.cpu.copy.copy_window`, with steps that are not 0."""
    axes = order.tolist()
    for n, (shape, out_shape) in enumerate(zip(src_shapes.tolist(), dst_shapes.tolist(), strict=True)):
        if 0 in out_shape:
            continue
        source = array_in_memory(src[n], tuple(shape), item).transpose(axes)
        target = array_in_memory(dst[n], tuple(out_shape), item)
        pairs = [
            _inside(int(starts[n, axis]), int(steps[n, axis]), count, shape[axis])
            for axis, count in zip(axes, out_shape, strict=True)
        ]
        if any(goal.stop - goal.start < count for (goal, _), count in zip(pairs, out_shape, strict=True)):
            values = fill[min(n, len(fill) - 1)]
            if fill_axis < 0 or len(values) == 1:
                target[...] = values[0]
            else:
                np.moveaxis(target, fill_axis, -1)[...] = values[
                    np.minimum(np.arange(out_shape[fill_axis]), len(values) - 1)
                ]
        target[tuple(goal for goal, _ in pairs)] = source[tuple(picked for _, picked in pairs)]
