"""Moving elements without looking at them: crop, slice, pad, flip, transpose and copies, in one kernel.

Every output axis walks an axis of the input from a start, by a step, and what falls outside is filled. A crop is a
start, a flip a step of -1, padding a start below zero or an end beyond the input, a transpose another order of
axes; any of them can be had together. Only the size of an element matters, so there are four compiled variants.
"""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu import background, copy_plain
from dali_lab.kernels.cpu.memory import array_at, kernel, like_size, part, rows


@part
def _fill(target: Array, shape: Array, axis: int, fill: Array) -> None:
    """Write the fill pattern over a whole sample; value c along `axis`, or the first everywhere if `axis` is -1."""
    if axis < 0 or fill.shape[0] == 1:
        value = fill[0]
        for j in range(target.shape[0]):
            target[j] = value
        return
    inner = 1
    for d in range(axis + 1, shape.shape[0]):
        inner *= shape[d]
    values = shape[axis]
    if inner * values == 0:
        return
    for block in range(target.shape[0] // (inner * values)):
        for c in range(values):
            start = (block * values + c) * inner
            value = fill[min(c, fill.shape[0] - 1)]
            row = target[start : start + inner]
            for j in range(inner):
                row[j] = value


@part
def _plane(
    source: Array, at: int, step_a: int, step_b: int, target: Array, to: int, pitch_a: int, pitch_b: int,
    a: int, b: int,
) -> None:  # fmt: skip
    """Copy ``a`` by ``b`` elements between two strided planes."""
    if step_b == 1 and pitch_b == 1 and b >= 8:
        for i in range(a):
            one = at + i * step_a
            two = to + i * pitch_a
            line = source[one : one + b]
            goal = target[two : two + b]
            for j in range(b):
                goal[j] = line[j]
        return
    if b < a:
        a, b = b, a
        step_a, step_b = step_b, step_a
        pitch_a, pitch_b = pitch_b, pitch_a
    for i in range(a):
        one = at + i * step_a
        two = to + i * pitch_a
        if step_b == 1:
            line = source[one : one + b]
            for j in range(b):
                target[np.uintp(two + j * pitch_b)] = line[j]
        elif pitch_b == 1:
            goal = target[two : two + b]
            for j in range(b):
                goal[j] = source[np.uintp(one + j * step_b)]
        else:
            for j in range(b):
                target[np.uintp(two + j * pitch_b)] = source[np.uintp(one + j * step_b)]


@kernel
def _gather(
    src: Array, dst: Array, src_shapes: Array, dst_shapes: Array, starts: Array, steps: Array, order: Array,
    fill: Array, fill_axis: int, item: Array,
) -> None:  # fmt: skip
    ndim = dst_shapes.shape[1]
    strides = np.empty(ndim, np.int64)
    counts = np.empty(ndim + 2, np.int64)
    walks = np.empty(ndim + 2, np.int64)
    pitches = np.empty(ndim + 2, np.int64)
    index = np.empty(ndim + 2, np.int64)
    for n in range(src.shape[0]):
        total_in = 1
        for d in range(ndim - 1, -1, -1):
            strides[d] = total_in
            total_in *= src_shapes[n, d]
        total_out = 1
        for d in range(ndim):
            total_out *= dst_shapes[n, d]
        if total_out == 0:
            continue
        source = array_at(src[n], (total_in,), item)
        target = array_at(dst[n], (total_out,), item)

        # The part of each output axis that lies inside the input, and the axes merged where both sides run on.
        whole = True
        used = 0
        at = 0
        to = 0
        pitch = total_out
        for d in range(ndim):
            axis = order[d]
            size = src_shapes[n, axis]
            count = dst_shapes[n, d]
            pitch //= count
            start, step = starts[n, axis], steps[n, axis]
            first, last = 0, count
            if step > 0:
                if start < 0:
                    first = min(count, (-start + step - 1) // step)
                last = min(count, max(0, (size - start + step - 1) // step))
            elif step < 0:
                if start >= size:
                    first = min(count, (start - size) // -step + 1)
                last = min(count, max(0, start // -step + 1)) if start >= 0 else 0
            elif start < 0 or start >= size:
                last = 0
            if first > 0 or last < count:
                whole = False
            length = max(0, last - first)
            walk = step * strides[axis]
            at += (start + first * step) * strides[axis]
            to += first * pitch
            if length == 1:
                continue
            if (
                used > 0
                and counts[used - 1] != 0
                and walks[used - 1] == walk * length
                and pitches[used - 1] == pitch * length
            ):
                counts[used - 1] *= length
                walks[used - 1] = walk
                pitches[used - 1] = pitch
            else:
                counts[used] = length
                walks[used] = walk
                pitches[used] = pitch
                used += 1
        if not whole:
            _fill(target, dst_shapes[n], fill_axis, fill[min(n, fill.shape[0] - 1)])
        empty = False
        for d in range(used):
            if counts[d] == 0:
                empty = True
        if empty:
            continue
        # At least two axes, the last ones in a plane, the others by an odometer.
        while used < 2:
            for d in range(used, 0, -1):
                counts[d], walks[d], pitches[d] = counts[d - 1], walks[d - 1], pitches[d - 1]
            counts[0], walks[0], pitches[0] = 1, 0, 0
            used += 1
        outer = used - 2
        for d in range(outer):
            index[d] = 0
        while True:
            _plane(
                source, at, walks[outer], walks[outer + 1], target, to, pitches[outer], pitches[outer + 1],
                counts[outer], counts[outer + 1],
            )  # fmt: skip
            d = outer - 1
            while d >= 0:
                index[d] += 1
                at += walks[d]
                to += pitches[d]
                if index[d] < counts[d]:
                    break
                at -= walks[d] * counts[d]
                to -= pitches[d] * counts[d]
                index[d] = 0
                d -= 1
            if d < 0:
                break


def copy_window(
    src: Array, dst: Array, src_shapes: Array, starts: Array, sizes: Array, item_size: int, *,
    steps: Array | None = None, flips: Array | None = None, order: tuple[int, ...] | None = None,
    fill: Array | None = None, fill_axis: int = -1,
) -> None:  # fmt: skip
    """Copy a window of each sample: crop, slice, pad, flip, transpose, or several of these.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    src_shapes
        ``int64[N, ndim]``.
    starts, sizes
        ``int64[N, ndim]``, in the axes of the source: the first element and the number of elements. A window may
        leave the sample on any side; that part is filled.
    item_size
        Bytes of an element: 1, 2, 4 or 8.
    steps
        ``int64[N, ndim]``, elements between neighbours, 1 where not given; negative steps walk back from `starts`.
    flips
        ``bool[N, ndim]``: read the window backwards. The part outside the sample is mirrored with it.
    order
        The source axis of each output axis; the same for all samples.
    fill
        Elements as unsigned integers of `item_size` bytes (``values.view(f"u{item_size}")``): ``[K]``, or ``[N, K]``
        for values of each sample. Zeros where not given.
    fill_axis
        Output axis along which `fill` has its values; -1 if there is one value.
    """
    shapes = rows(src_shapes)
    first, extent, step, axes = window_walk(shapes, starts, sizes, steps, flips, order)
    _walk(src, dst, shapes, extent[:, axes], first, step, item_size, axes, fill, fill_axis)


def _walk(
    src: Array, dst: Array, shapes: Array, sizes: Array, first: Array, step: Array, item_size: int,
    axes: Array | None = None, fill: Array | None = None, fill_axis: int = -1,
) -> None:  # fmt: skip
    """Call the kernel on windows of `sizes`, in the axes of the result."""
    item = like_size(item_size)
    values = np.zeros((1, 1), item.dtype) if fill is None else np.atleast_2d(np.asarray(fill, item.dtype))
    order = np.arange(shapes.shape[1]) if axes is None else axes
    arguments = (
        rows(src), rows(dst), shapes, rows(sizes), rows(first), rows(step), rows(order),
        rows(values, item.dtype), fill_axis, item,
    )  # fmt: skip
    if step.all():
        background.call(_gather, *arguments, meanwhile=copy_plain.gather)
    else:
        _gather(*arguments)


def window_walk(
    shapes: Array, starts: Array, sizes: Array, steps: Array | None, flips: Array | None, order: tuple[int, ...] | None
) -> tuple[Array, Array, Array, Array]:
    """The walk of :func:`copy_window` over windows, on every device.

    Returns
    -------
    first, extent, step
        ``int64[N, ndim]``, in the axes of the source: the element that comes first, how many there are, and the step
        from one to the next, negative where the window is read backwards.
    axes
        ``int64[ndim]``, the source axis of each output axis.
    """
    count, ndim = shapes.shape
    first = np.array(starts, np.int64).reshape(count, ndim)
    extent = np.asarray(sizes, np.int64).reshape(count, ndim)
    step = np.ones((count, ndim), np.int64) if steps is None else np.array(steps, np.int64).reshape(count, ndim)
    if flips is not None:
        backwards = np.asarray(flips, bool)
        first = np.where(backwards, first + (extent - 1) * step, first)
        step = np.where(backwards, -step, step)
    return first, extent, step, np.arange(ndim) if order is None else np.asarray(order, np.int64)


def transpose(src: Array, dst: Array, src_shapes: Array, order: tuple[int, ...], item_size: int) -> None:
    """Reorder the axes of each sample: output axis d is source axis ``order[d]``. See :func:`copy_window`."""
    shapes = rows(src_shapes)
    copy_window(src, dst, shapes, np.zeros_like(shapes), shapes, item_size, order=order)


def flip(src: Array, dst: Array, src_shapes: Array, flips: Array, item_size: int) -> None:
    """Mirror each sample along the axes that ``flips[n, axis]`` says. See :func:`copy_window`."""
    shapes, backwards = rows(src_shapes), np.asarray(flips, np.int64)
    _walk(src, dst, shapes, shapes, (shapes - 1) * backwards, 1 - 2 * backwards, item_size)


def copy(src: Array, dst: Array, sizes: Array, item_size: int) -> None:
    """Copy samples of ``sizes[n]`` elements as they are."""
    shapes = rows(sizes).reshape(-1, 1)
    copy_window(src, dst, shapes, np.zeros_like(shapes), shapes, item_size)
