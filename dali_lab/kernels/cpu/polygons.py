"""Polygons of COCO annotations, read from JSON: lists of lists of decimal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine.arrays import byte_at
from dali_lab.kernels.cpu.memory import inner_part, kernel, part

_MOST_DIGITS = 15
"""Digits up to which a number and a power of ten are exact as float64, so that their quotient is rounded once."""
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)


@inner_part
def _past_space(at: int) -> int:
    while byte_at(at) == 32 or 9 <= byte_at(at) <= 13:
        at += 1
    return at


@inner_part
def _number(at: int) -> Any:
    """A number and where it ends: −1 where it is written with an exponent, or with more digits."""
    negative = byte_at(at) == 45
    if negative:
        at += 1
    first, whole = at, np.int64(0)
    digit = byte_at(at) - 48
    while 0 <= digit <= 9:
        whole = whole * 10 + digit
        at += 1
        digit = byte_at(at) - 48
    digits, decimals = at - first, 0
    sound = digits == 1 or (digits > 1 and byte_at(first) != 48)
    if digit == -2:  # the point
        point = at
        at += 1
        digit = byte_at(at) - 48
        while 0 <= digit <= 9:
            whole = whole * 10 + digit
            at += 1
            digit = byte_at(at) - 48
        decimals = at - point - 1
        sound &= decimals > 0
    if not sound or digits + decimals > _MOST_DIGITS or digit == 21 or digit == 53:  # an E
        return 0.0, -1
    value = np.float64(whole) / _POWERS[decimals]
    return -value if negative else value, at


@part
def _polygons(at: int, points: Array, counts: Array, polygon: int, value: int) -> Any:
    """Read the polygons of an annotation; numbers of polygons and values after them, and where the
    next one begins; −1 for what is nothing else."""
    if byte_at(at) != 91:
        return -1, -1, -1
    at = _past_space(at + 1)
    if byte_at(at) == 93 and byte_at(at + 1) == 0:
        return polygon, value, at + 2
    while byte_at(at) == 91:
        at = _past_space(at + 1)
        first = value
        if byte_at(at) != 93:
            while True:
                number, at = _number(at)
                if at < 0:
                    return -1, -1, -1
                points[value] = number
                value += 1
                at = _past_space(at)
                if byte_at(at) != 44:
                    break
                at = _past_space(at + 1)
        if byte_at(at) != 93 or (value - first) % 2:
            return -1, -1, -1
        counts[polygon] = (value - first) // 2
        polygon += 1
        at = _past_space(at + 1)
        if byte_at(at) == 93 and byte_at(at + 1) == 0:
            return polygon, value, at + 2
        if byte_at(at) != 44:
            return -1, -1, -1
        at = _past_space(at + 1)
    return -1, -1, -1


@kernel
def read(text: int, points: Array, counts: Array, of_annotation: Array, state: Array) -> None:
    """Read the polygons of annotations up to the first that holds anything else.

    Parameters
    ----------
    text
        Address of the JSON of each annotation with a zero behind it.
    points
        ``float32``: the numbers.
    counts, of_annotation
        ``int64``: points of each polygon, polygons of each annotation.
    state
        ``int64[4]``: annotations, polygons, numbers and bytes that were read before; brought up to date.
    """
    number, polygon, value, at = state[0], state[1], state[2], text + state[3]
    while number < of_annotation.shape[0]:
        after, end, place = _polygons(at, points, counts, polygon, value)
        if after < 0:
            break
        of_annotation[number] = after - polygon
        number, polygon, value, at = number + 1, after, end, place
    state[0], state[1], state[2], state[3] = number, polygon, value, at - text
