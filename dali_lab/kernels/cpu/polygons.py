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
_KEY = np.frombuffer(b'"segmentation"', np.uint8)
_STEPS = np.full(256, len(_KEY), np.int64)
"""How far the key cannot begin nearer, for each byte where its last one would be; 0 for that byte."""
for _place, _byte in enumerate(_KEY):
    _STEPS[_byte] = len(_KEY) - 1 - _place


@inner_part
def _past_space(at: int) -> int:
    while byte_at(at) == 32 or byte_at(at) == 10 or byte_at(at) == 13 or byte_at(at) == 9:
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
    """Read the polygons of an annotation; numbers of polygons and coordinates after them, and what is behind it;
    −1 for what is anything else."""
    if byte_at(at) != 91:
        return -1, -1, -1
    at = _past_space(at + 1)
    if byte_at(at) == 93:
        return polygon, value, at + 1
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
        if byte_at(at) == 93:
            return polygon, value, at + 1
        if byte_at(at) != 44:
            return -1, -1, -1
        at = _past_space(at + 1)
    return -1, -1, -1


@inner_part
def _behind_key(at: int, end: int) -> int:
    """Where the next key "segmentation" ends, or `end`."""
    last = len(_KEY) - 1
    while at + last < end:
        step = _STEPS[byte_at(at + last)]
        if step == 0:
            same = last - 1
            while same >= 0 and byte_at(at + same) == _KEY[same]:
                same -= 1
            if same < 0:
                return at + last + 1
            step = last
        at += step
    return end


@kernel
def cut(
    text: int, size: int, mark: int, rest: Array, points: Array, counts: Array, of_value: Array, state: Array
) -> None:
    """Read the polygons under the keys "segmentation" of a JSON text, and write the text with numbers in their place.

    Values that are anything else than lists of lists of pairs of decimal numbers stay in the text. A number stands
    where a value stood, so the rest is valid where the text is.

    Parameters
    ----------
    text, size
        Address and length of the text, which has a zero behind it.
    mark
        The number that stands for the first value, of 18 digits; the next one is greater by 1.
    rest
        ``uint8``: the text without polygons.
    points
        ``float32``: the coordinates.
    counts, of_value
        ``int64``: points of each polygon, polygons of each value.
    state
        ``int64[4]``, set to the numbers of values, polygons and coordinates, and to the length of `rest`.
    """
    at, copied, end = text, text, text + size
    length, values, polygon, value = 0, 0, 0, 0
    while True:
        at = _behind_key(at, end)
        upto, behind, found = at, at, False
        if at < end:
            place = _past_space(at)
            if byte_at(place) == 58:
                upto = _past_space(place + 1)
                polygons_after, values_after, behind = _polygons(upto, points, counts, polygon, value)
                found = polygons_after >= 0
        if found or at == end:
            for place in range(copied, upto):
                rest[length + place - copied] = byte_at(place)
            length += upto - copied
        if at == end:
            break
        if found:
            number = mark + values
            for digit in range(18):
                rest[length + 17 - digit] = 48 + number % 10
                number //= 10
            rest[length + 18] = 32
            length += 19
            of_value[values] = polygons_after - polygon
            values, polygon, value, at, copied = values + 1, polygons_after, values_after, behind, behind
    state[0], state[1], state[2], state[3] = values, polygon, value, length
