"""Records of TensorFlow in memory: where the features of each begin, and their numbers taken out.

A record is 8 bytes of length, 4 of a checksum, a message ``Example``, and 4 of another checksum. Of the message only
what leads to the wanted features is looked at. Checksums are not, as in NVIDIA DALI.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Integer
from dali_lab.kernels.cpu.memory import array_at, copy_row, kernel, part

INT64, STRING, FLOAT32 = 0, 1, 2
"""Kinds of features, as ``dali_lab.model.features`` numbers them."""

ABSENT = -1
"""Count of elements of a feature that a record does not have."""

_TOO_SHORT, _ENDS_EARLY, DAMAGED = 1, 2, 3
_BEFORE, _FRAME = 12, 16
_LONGEST_NUMBER = 10
"""Bytes of a number of 64 bits."""


@part
def _varint(data: Array, at: int, end: Integer) -> Any:
    """A number of up to 64 bits and where it ends; −1 where it does not."""
    value = np.int64(0)
    shift = np.int64(0)
    while at < end and shift < 70:
        byte = np.int64(data[at])
        at += 1
        if shift < 64:
            value |= (byte & np.int64(127)) << shift
        if byte < 128:
            return value, at
        shift += np.int64(7)
    return np.int64(0), -1


@part
def _field(data: Array, at: int, end: Integer) -> Any:
    """Number and wire type of a field, where its content begins, and where it ends: −1 if it is damaged."""
    tag, at = _varint(data, at, end)
    if at < 0:
        return 0, 0, 0, -1
    wire = tag & 7
    number = tag >> 3
    if wire == 0:
        _, stop = _varint(data, at, end)
        return number, wire, at, stop
    if wire == 2:
        length, at = _varint(data, at, end)
    else:
        length = np.int64(8) if wire == 1 else np.int64(4) if wire == 5 else np.int64(-1)
    if at < 0 or length < 0 or length > end - at:
        return 0, 0, 0, -1
    return number, wire, at, at + length


@part
def _same(data: Array, begin: int, end: int, names: Array, first: Integer, last: Integer) -> Any:
    length = end - begin
    if length != last - first:
        return False
    i = 0
    while i < length and data[begin + i] == names[first + i]:
        i += 1
    return i == length


@part
def _count(data: Array, begin: int, end: int, kind: int, place: Array) -> Any:
    """Elements of a list; fill in where the first string is, or where the list is. −2 if it is damaged."""
    count = 0
    at = begin
    place[0], place[1] = begin, end
    while at < end:
        number, wire, first, at = _field(data, at, end)
        if at < 0:
            return -2
        if number != 1:
            continue
        if kind == STRING and wire == 2:
            if count == 0:
                place[0], place[1] = first, at
            count += 1
        elif kind == FLOAT32 and wire == 2:
            count += (at - first) // 4
        elif kind == INT64 and wire == 2:
            length = 0
            for i in range(first, at):
                length += 1
                if length > _LONGEST_NUMBER:
                    return -2
                if data[i] < 128:
                    count += 1
                    length = 0
            if length > 0:
                return -2
        elif (kind == FLOAT32 and wire == 5) or (kind == INT64 and wire == 0):
            count += 1
    return count


@part
def _feature(data: Array, begin: int, end: int, kind: int, place: Array) -> Any:
    """Elements of a feature; none if it is of another kind. −2 if it is damaged."""
    wanted = 1 if kind == STRING else 2 if kind == FLOAT32 else 3
    count = 0
    place[0], place[1] = begin, begin
    at = begin
    while at < end:
        number, wire, first, at = _field(data, at, end)
        if at < 0:
            return -2
        if number == wanted and wire == 2:
            count = _count(data, first, at, kind, place)
            if count < 0:
                return count
        elif number >= 1 and number <= 3:
            # One feature has one list; the last one counts.
            count = 0
            place[0], place[1] = begin, begin
    return count


@part
def _entry(
    data: Array, at: int, end: Integer, names: Array, ends: Array, kinds: Array, found: Array, place: Array
) -> Any:
    """One feature with its name; whether it is undamaged."""
    key_begin, key_end, begin, stop = at, at, at, at
    while at < end:
        number, wire, first, at = _field(data, at, end)
        if at < 0:
            return False
        if number == 1 and wire == 2:
            key_begin, key_end = first, at
        elif number == 2 and wire == 2:
            begin, stop = first, at
    first_letter = np.int64(0)
    for f in range(ends.shape[0]):
        if _same(data, key_begin, key_end, names, first_letter, ends[f]):
            count = _feature(data, begin, stop, kinds[f], place)
            if count < 0:
                return False
            found[f, 0], found[f, 1], found[f, 2] = count, place[0], place[1] - place[0]
        first_letter = ends[f]
    return True


@part
def _example(
    data: Array, at: int, end: Integer, names: Array, ends: Array, kinds: Array, found: Array, place: Array
) -> Any:
    while at < end:
        number, wire, inner, at = _field(data, at, end)
        if at < 0:
            return False
        while number == 1 and wire == 2 and inner < at:
            second, second_wire, first, inner = _field(data, inner, at)
            if inner < 0:
                return False
            if second == 1 and second_wire == 2:
                if not _entry(data, first, inner, names, ends, kinds, found, place):
                    return False
    return True


@kernel
def scan(addresses: Array, sizes: Array, names: Array, ends: Array, kinds: Array, found: Array, wrong: Array) -> Any:
    """Find features in records.

    Parameters
    ----------
    addresses, sizes
        Where each record begins, and its bytes.
    names, ends
        Names of the features, one behind the other, and where each ends.
    kinds
        Their kinds: ``INT64``, ``STRING`` or ``FLOAT32``.
    found
        ``int64[N, F, 3]``: number of elements or ``ABSENT``; address and bytes of the list, of strings those of the
        first one.
    wrong
        Filled in where a record is damaged: 1 and its bytes, 2 and the length that it gives, or 3.

    Returns
    -------
    int
        How many records were found undamaged before the first damaged one.
    """
    like = np.empty(0, np.uint8)
    place = np.empty(2, np.int64)
    for i in range(addresses.shape[0]):
        for f in range(ends.shape[0]):
            found[i, f, 0] = ABSENT
        wrong[1] = sizes[i]
        if sizes[i] < _FRAME:
            wrong[0] = _TOO_SHORT
            return i
        data = array_at(addresses[i], (sizes[i],), like)
        length = np.int64(0)
        for b in range(8):
            length |= np.int64(data[b]) << np.int64(8 * b)
        if length < 0 or length > sizes[i] - _FRAME:
            wrong[0], wrong[1] = _ENDS_EARLY, length
            return i
        if not _example(data, _BEFORE, _BEFORE + length, names, ends, kinds, found[i], place):
            wrong[0] = DAMAGED
            return i
        for f in range(ends.shape[0]):
            found[i, f, 1] += addresses[i]
    return addresses.shape[0]


@kernel
def take_floats(lists: Array, sizes: Array, addresses: Array, counts: Array) -> None:
    """Write the numbers of each list (``FloatList``) to memory."""
    like, bits_like = np.empty(0, np.uint8), np.empty(0, np.uint8)
    for i in range(lists.shape[0]):
        if counts[i] <= 0:
            continue
        data = array_at(lists[i], (sizes[i],), like)
        out = array_at(addresses[i], (4 * counts[i],), bits_like)
        at = to = 0
        while 0 <= at < sizes[i]:
            number, wire, first, at = _field(data, at, sizes[i])
            if number == 1 and (wire == 2 or wire == 5):
                count = min((at - first) // 4 * 4, 4 * counts[i] - to)
                copy_row(data[first : first + count], out[to : to + count])
                to += count


@kernel
def take_integers(lists: Array, sizes: Array, addresses: Array, counts: Array) -> None:
    """Write the numbers of each list (``Int64List``) to memory."""
    like, out_like = np.empty(0, np.uint8), np.empty(0, np.int64)
    for i in range(lists.shape[0]):
        if counts[i] <= 0:
            continue
        data = array_at(lists[i], (sizes[i],), like)
        out = array_at(addresses[i], (counts[i],), out_like)
        at = to = 0
        while 0 <= at < sizes[i]:
            number, wire, first, at = _field(data, at, sizes[i])
            if number == 1 and (wire == 2 or wire == 0):
                while first < at and to < counts[i]:
                    value, first = _varint(data, first, at)
                    if first < 0:
                        break
                    out[to] = value
                    to += 1
