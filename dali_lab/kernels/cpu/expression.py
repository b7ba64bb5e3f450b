"""Expressions of float32, evaluated block by block: each step over a block that is in the cache, with its own rounding.

The steps do what :mod:`dali_lab.kernels.cpu.arithmetic` does in float32, to the bit; a cast to uint8 leaves whole
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.convert import whole_level
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, part

OPERATIONS = (
    "add", "sub", "mul", "fdiv", "min", "max", "clamp", "minus", "abs", "floor", "ceil", "sqrt", "plus", "level",
)  # fmt: skip
"""Operations of a step, by number; ``"level"`` is a cast to uint8, ``"plus"`` one to float32."""
ADD, SUB, MUL, DIV, MIN, MAX, CLAMP, MINUS, ABS, FLOOR, CEIL, SQRT, PLUS, LEVEL = range(len(OPERATIONS))
_FLOAT = 3
_BLOCK = 2048


@part
def _pair(operation: int, out: Array, a: Array, b: Array) -> None:
    """A step of two operands."""
    if operation == ADD:
        for k in range(out.shape[0]):
            out[k] = a[k] + b[k]
    elif operation == SUB:
        for k in range(out.shape[0]):
            out[k] = a[k] - b[k]
    elif operation == MUL:
        for k in range(out.shape[0]):
            out[k] = a[k] * b[k]
    elif operation == DIV:
        for k in range(out.shape[0]):
            out[k] = a[k] / b[k]
    elif operation == MIN:
        for k in range(out.shape[0]):
            out[k] = a[k] if a[k] < b[k] else b[k]
    else:
        for k in range(out.shape[0]):
            out[k] = a[k] if a[k] > b[k] else b[k]


@part
def _single(operation: int, out: Array, a: Array) -> None:
    """A step of one operand."""
    if operation == MINUS:
        for k in range(out.shape[0]):
            out[k] = -a[k]
    elif operation == ABS:
        for k in range(out.shape[0]):
            out[k] = np.abs(a[k])
    elif operation == FLOOR:
        for k in range(out.shape[0]):
            out[k] = np.floor(a[k])
    elif operation == CEIL:
        for k in range(out.shape[0]):
            out[k] = np.ceil(a[k])
    elif operation == SQRT:
        for k in range(out.shape[0]):
            out[k] = np.sqrt(a[k])
    elif operation == LEVEL:
        for k in range(out.shape[0]):
            out[k] = whole_level(a[k])
    else:
        copy_row(a, out)


@part
def _clamp(out: Array, a: Array, low: Array, high: Array) -> None:
    for k in range(out.shape[0]):
        value = low[k] if a[k] < low[k] else a[k]
        out[k] = high[k] if value > high[k] else value


@part
def _widened(out: Array, source: Array) -> None:
    for k in range(out.shape[0]):
        out[k] = np.float32(source[k])


@part
def _load(out: Array, kind: int, address: int, start: int, bytes_: Array, shorts: Array, ints: Array) -> None:
    """Read elements from `start` on."""
    count = out.shape[0]
    if kind == 0:
        _widened(out, array_at(address + start, (count,), bytes_))
    elif kind == 1:
        _widened(out, array_at(address + 2 * start, (count,), shorts))
    else:
        _widened(out, array_at(address + 4 * start, (count,), ints))


@part
def _is_read_in_place(j: int, sample: int, kinds: Array, periods: Array) -> Any:
    return j < kinds.shape[0] and kinds[j] == _FLOAT and periods[j, sample] == 0


@part
def _row(
    rows: Array, j: int, count: int, start: int, sample: int, kinds: Array, addresses: Array, periods: Array
) -> Any:
    """A row of the block: where it was put, or the operand itself."""
    if _is_read_in_place(j, sample, kinds, periods):
        return array_at(addresses[j, sample] + 4 * start, (count,), rows[0])
    return rows[j, :count]


@part
def _repeat(out: Array, address: int, period: int, start: int) -> None:
    """Fill with float32 numbers that come again after `period` elements."""
    source = array_at(address, (period,), out)
    at = start % period
    for k in range(out.shape[0]):
        out[k] = source[at]
        at += 1
        if at == period:
            at = 0


@kernel
def evaluate(
    program: Array, constants: Array, kinds: Array, addresses: Array, periods: Array, dst: Array, sizes: Array,
    whole: bool, bytes_: Array, shorts: Array, ints: Array,
) -> None:  # fmt: skip
    """Fill samples with the last step of a program over their elements.

    Rows of a block are numbered: first the operands that are read, then constants, then the steps in order.

    Parameters
    ----------
    program
        ``int64[steps, 4]``: number of the operation (`OPERATIONS`) and rows of its operands.
    constants
        ``float32[constants]``.
    kinds
        ``int64[operands]``: types of operands: 0 to 3 for uint8, int16, int32 and float32.
    addresses, periods
        ``int64[operands, N]``: where they are; 0 for one element for each of the result, else float32 numbers that
        come again after so many elements.
    dst, sizes
        ``int64[N]`` addresses and numbers of elements of the result.
    whole
        The result is uint8, else float32.
    bytes_, shorts, ints
        Arrays of uint8, int16 and int32.
    """
    operands, first = kinds.shape[0], kinds.shape[0] + constants.shape[0]
    rows = np.empty((first + program.shape[0], _BLOCK), np.float32)
    for c in range(constants.shape[0]):
        rows[operands + c, :] = constants[c]
    for i in range(dst.shape[0]):
        for start in range(0, sizes[i], _BLOCK):
            count = min(_BLOCK, sizes[i] - start)
            for j in range(operands):
                if _is_read_in_place(j, i, kinds, periods):
                    continue
                if periods[j, i] == 0:
                    _load(rows[j, :count], kinds[j], addresses[j, i], start, bytes_, shorts, ints)
                elif periods[j, i] > 1 or start == 0:
                    _repeat(rows[j, : min(_BLOCK, sizes[i])], addresses[j, i], periods[j, i], start)
            for s in range(program.shape[0]):
                operation = program[s, 0]
                out = rows[first + s, :count]
                if s == program.shape[0] - 1 and not whole:
                    out = array_at(dst[i] + 4 * start, (count,), out)
                a = _row(rows, program[s, 1], count, start, i, kinds, addresses, periods)
                if operation <= MAX:
                    _pair(operation, out, a, _row(rows, program[s, 2], count, start, i, kinds, addresses, periods))
                elif operation == CLAMP:
                    low = _row(rows, program[s, 2], count, start, i, kinds, addresses, periods)
                    _clamp(out, a, low, _row(rows, program[s, 3], count, start, i, kinds, addresses, periods))
                else:
                    _single(operation, out, a)
            if whole:
                last = rows[first + program.shape[0] - 1]
                levels = array_at(dst[i] + start, (count,), bytes_)
                for k in range(count):
                    levels[k] = np.uint8(np.int32(last[k]))
