"""Huffman codes of baseline JPEG, read in the place of libjpeg-turbo's own reader, which is half of decoding.

The library reads the coefficients of a unit (MCU) by a function that its structure refers to. :func:`_install` puts
:func:`_read_unit` there: one look into a table gives two codes with their values, where the library looks for a code
and then reads its value, and eight bytes are taken at a time. All that follows (inverse transform, colours) remains the
library's. Pictures that are progressive or have restart markers are left to the library.

Nothing is repaired or reported here. At whatever is not plain (a code that does not exist, data that end or go on where
they should not) the reader refuses this and all further units, which to the library looks like data that are still to
come; the picture is then decoded again with the library's reader, which knows what to do and to say. That is left out
where codes go on behind the data or a marker (:func:`ran_out`): the library would warn, which is a refusal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine.emission import Builder, Value, emitted, load
from dali_lab.kernels.cpu.machine.foreign import address_of
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part

# Offsets in jpeg_decompress_struct, in bytes. From the number of components on, those of version 62.
_SOURCE, _COMPONENT_COUNT, _DC_TABLES, _AC_TABLES, _PRECISION = 40, 56, 232, 264, 296
_PROGRESSIVE, _ARITHMETIC, _RESTART = 312, 316, 368
_IN_SCAN, _COMPONENTS, _UNITS, _UNIT_ROWS, _BLOCKS, _MEMBERS, _LAST_COEFFICIENT = 432, 440, 472, 476, 480, 484, 528
_ENTROPY = 592
_LATER, _LATER_ENTROPY = 4, 24
"""By how much version 80 has the flags later, and the pointer to the reader; twice as much what describes the scan."""
_COMPONENT_DC, _COMPONENT_AC = 20, 24
_READ_UNIT = 8
"""Offset of the function in the reader's structure."""

_INDEX_BITS = 10
_CODES = 1 << _INDEX_BITS

# A table: pairs and single symbols by the next bits, limits of longer codes, the library's table that it was made of.
_SINGLES, _LIMITS, _SYMBOLS, _TABLE = _CODES * 8, _CODES * 12, _CODES * 12 + 160, _CODES * 12 + 448
# A single symbol, from the lowest bit: bits of code and value, of the code, 63 less those of the value, run (8 each).
# The sign stands for the end of a block, and 0 for a longer code.
_CODE, _SPARE, _RUN, _IS_END = 8, 16, 24, -1 << 31
# A pair: bits (8), from the last coefficient to the first, to the second and to the last of the two (8 each), both
# values (16 each). It holds where the first does not end the block, or the second is of another block.
_FIRST, _SECOND, _NEXT, _VALUE_1, _VALUE_2 = 8, 16, 24, 32, 48
_NO_PAIR = 64 << _FIRST
"""Not even one symbol is known from the index."""
_ENDED = 128
"""Beyond all coefficients: the place after the end of a block."""

# The reader's memory: words, a block that is not wanted, and then the four tables.
_BITS, _COUNT, _AT, _STOP, _LEFT, _REFUSED, _BLOCK_COUNT, _PREDICTION, _BLOCK = 0, 1, 2, 3, 4, 5, 6, 8, 12
_NOWHERE, _TABLES = 256, 384
READER = 4096
"""Where the reader's memory lies, counted from the library's structure."""
READER_SIZE = _TABLES + 4 * _TABLE
"""Bytes of memory that a reader works in; zeros at first."""

_WORDS = 24
_RAN_OUT = 2
_MOST_BLOCKS = 10
_LOOKUPS = 3
"""Between refills: each takes ten bits, and more after a refill of its own."""
_FURTHEST = 1 << 30
"""Beyond this, sums of differences might no longer fit in the library's 32 bits."""

_NATURAL = np.full(256, 63, np.uint8)
"""Place of each coefficient in a block; blocks of which one would lie behind the last are refused."""
_NATURAL[:64] = sorted(range(64), key=lambda i: (i // 8 + i % 8, i % 8 if (i // 8 + i % 8) % 2 == 0 else i // 8))

_i64 = ir.IntType(64)
_like_words, _like_entries, _like_bytes, _like_short = like(np.int64), like(np.int32), like(np.uint8), like(np.int16)


@emitted(lambda _: nb_types.uint64(nb_types.int64))
def _eight_bytes(builder: Builder, address: Value) -> Value:
    """The eight bytes at an address, the first one highest."""
    return builder.bswap(load(builder, address, _i64))


@inner_part
def _words(address: int, count: int) -> Any:
    return array_at(address, (count,), _like_words)


@inner_part
def _half(address: int) -> Any:
    return np.int64(array_at(address, (1,), _like_entries)[0])


@part
def _refill_slowly(bits: np.uint64, count: int, at: int, stop: int) -> Any:
    """Take bytes one by one, without the zeros behind 255, as far as the data or the next marker."""
    while count < 56 and at < stop:
        byte = np.int64(array_at(at, (1,), _like_bytes)[0])
        step = 1
        if byte == 255:
            if at + 1 >= stop or array_at(at + 1, (1,), _like_bytes)[0] != 0:
                break
            step = 2
        bits |= np.uint64(byte) << np.uint64(56 - count)
        count += 8
        at += step
    return bits, count, at


@inner_part
def _refill(bits: np.uint64, count: int, at: int, stop: int) -> Any:
    """At least 56 bits, if there are so many: the next ones, their number, and the address of the byte after them."""
    if at + 8 <= stop:
        following = _eight_bytes(at)
        lowest, highest = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
        if (~following - lowest) & following & highest == 0:  # no byte is 255
            bits |= following >> np.uint64(count)
            return bits, count | 56, at + ((63 - count) >> 3)
    return _refill_slowly(bits, count, at, stop)


@part
def _make_table(table: int, source: int, with_pairs: bool) -> None:
    """Fill a table from the library's, unless it was made of the same."""
    lengths, symbols = array_at(source, (17,), _like_bytes), array_at(source + 17, (256,), _like_bytes)
    known = array_at(table + _SYMBOLS, (17 + 256,), _like_bytes)
    total: Any = 0
    for length in range(1, 17):
        total += np.int64(lengths[length])
    total = min(total, 256)
    same = True
    for k in range(1, 17):
        same = same and known[k] == lengths[k]
    for k in range(total):
        same = same and known[17 + k] == symbols[k]
    if same and total > 0:
        return
    for k in range(17):
        known[k] = lengths[k]
    for k in range(256):
        known[17 + k] = symbols[k] if k < total else 0
    singles = array_at(table + _SINGLES, (_CODES,), _like_entries)
    limits = array_at(table + _LIMITS, (2, 17), _like_entries)
    singles[:] = 0
    code, index = 0, 0
    for length in range(1, 17):
        limits[1, length] = index - code
        for _ in range(np.int64(lengths[length])):
            if length <= _INDEX_BITS and index < total:
                spare = _INDEX_BITS - length
                single = _single(length, np.int64(symbols[index]))
                for k in range(code << spare, min(code + 1 << spare, _CODES)):
                    singles[k] = single
            code += 1
            index += 1
        limits[0, length] = code if lengths[length] else 0
        code <<= 1
    pairs = _words(table, _CODES)
    for k in range(_CODES if with_pairs else 0):
        pairs[k] = _pair(singles, k)


@part
def _pair(singles: Array, index: int) -> Any:
    """The symbols that are known from the next bits: one or two, of which the second may be the end of the block."""
    first = np.int64(singles[index])
    size = first & 63
    if first == 0 or size > _INDEX_BITS:
        return _NO_PAIR
    if first < 0:
        return size | 1 << _FIRST | 1 << _SECOND | _ENDED << _NEXT
    following = (index << size) & (_CODES - 1)
    one = (first >> _RUN) + 1
    second = np.int64(singles[following])
    value = _value(first, np.uint64(index) << np.uint64(64 - _INDEX_BITS)) & 0xFFFF
    pair = one << _FIRST | value << _VALUE_1
    if second == 0 or size + (second & 63) > _INDEX_BITS:
        # The value that there is not is written before the first one, whose place may be the last of all.
        return pair | size | (one + 1) << _SECOND | one << _NEXT
    size += second & 63
    if second < 0:
        return pair | size | (one + 1) << _SECOND | _ENDED << _NEXT
    two = one + (second >> _RUN) + 1
    value = _value(second, np.uint64(following) << np.uint64(64 - _INDEX_BITS))
    return pair | size | two << _SECOND | two << _NEXT | value << _VALUE_2


@inner_part
def _single(length: int, symbol: np.int64) -> Any:
    """The entry for a symbol whose code has this length."""
    run, size = symbol >> 4, symbol & 15
    end = _IS_END if size == 0 and run != 15 else 0
    return length + size | length << _CODE | 63 - size << _SPARE | run << _RUN | end


@inner_part
def _index(bits: np.uint64) -> Any:
    return np.uintp(bits >> np.uint64(64 - _INDEX_BITS))


@inner_part
def _value(single: np.int64, bits: np.uint64) -> Any:
    """The value behind a code: bits that begin with 0 are those of its complement, and it is negative."""
    behind = bits << np.uint64(single >> _CODE & 63)
    negative = ~(np.int64(behind) >> 63)
    size = np.int64((behind ^ np.uint64(negative)) >> np.uint64(1) >> np.uint64(single >> _SPARE & 63))
    return (size ^ negative) - negative


@part
def _symbol(table: int, bits: np.uint64) -> Any:
    """The single symbol that comes next; 0 if there is no such code."""
    single = np.int64(array_at(table + _SINGLES, (_CODES,), _like_entries)[_index(bits)])
    if single != 0:
        return single
    limits = array_at(table + _LIMITS, (2, 17), _like_entries)
    symbols = array_at(table + _SYMBOLS + 17, (256,), _like_bytes)
    for length in range(_INDEX_BITS + 1, 17):
        code = np.int64(bits >> np.uint64(64 - length))
        if code < limits[0, length]:
            return np.int64(_single(length, np.int64(symbols[np.uintp((code + limits[1, length]) & 255)])))
    return 0


@part
def _read_block(bits: np.uint64, count: int, at: int, stop: int, dc: int, ac: int, prediction: int, block: int) -> Any:
    """Read the coefficients of a block into 64 zeros.

    Returns the state of the bits, the next prediction, and whether the block is plain.
    """
    coefficients, natural = array_at(block, (64,), _like_short), _NATURAL
    bits, count, at = _refill(bits, count, at, stop)
    single = _symbol(dc, bits)
    good = single != 0
    prediction += _value(single, bits)
    coefficients[0] = prediction
    bits <<= np.uint64(single & 63)
    count -= single & 63
    pairs = _words(ac, _CODES)
    k = 0
    while k < 63:
        bits, count, at = _refill(bits, count, at, stop)
        for _ in range(_LOOKUPS):
            pair = pairs[_index(bits)]
            first = k + (pair >> _FIRST & 255)
            if first < 63:
                size = pair & 63
                coefficients[np.uintp(natural[np.uintp(k + (pair >> _SECOND & 255))])] = pair >> _VALUE_2
                coefficients[np.uintp(natural[np.uintp(first)])] = pair >> _VALUE_1
                k += pair >> _NEXT & 255
            else:
                bits, count, at = _refill(bits, count, at, stop)
                single = _symbol(ac, bits)
                size = single & 63
                if single <= 0:
                    good = good and single != 0
                    k = _ENDED
                else:
                    k += (single >> _RUN) + 1
                    coefficients[np.uintp(natural[np.uintp(k)])] = _value(single, bits)
            bits <<= np.uint64(size)
            count -= size
            if k >= 63:
                break
    return bits, count, at, prediction, good and (k == 63 or k >= _ENDED)


@part
def _read_unit(library: int, blocks: int) -> Any:
    """The library's `decode_mcu`: the next unit's coefficients to where `blocks` points, or nowhere if it is 0.

    Returns 1, or 0 if the data are not plain.
    """
    reader = library + READER
    words = _words(reader, _WORDS)
    if words[_REFUSED] != 0 or words[_LEFT] == 0:
        return 0
    bits, count, at = np.uint64(words[_BITS]), words[_COUNT], words[_AT]
    good = True
    for k in range(words[_BLOCK_COUNT]):
        member = words[_BLOCK + k]
        dc, ac = reader + (member & 0xFFFF), reader + (member >> 16 & 0xFFFF)
        block = _words(blocks + k * 8, 1)[0] if blocks != 0 else reader + _NOWHERE
        place = np.uintp(_PREDICTION + (member >> 32))
        bits, count, at, prediction, plain = _read_block(bits, count, at, words[_STOP], dc, ac, words[place], block)
        words[place] = prediction
        good = good and plain and abs(prediction) <= _FURTHEST
    words[_LEFT] -= 1
    if words[_LEFT] == 0:
        # What is left must be the rest of a byte before a marker: of other bytes the library may have to warn.
        bits, count, at = _refill_slowly(bits, count, at, words[_STOP])
        good = good and count < 8 and at < words[_STOP]
        source = _words(_words(library + _SOURCE, 1)[0], 2)
        source[0], source[1] = at, words[_STOP] - at
    # The library looks eight bits ahead, and warns where the data end before that.
    good = good and (count >= 8 or at < words[_STOP])
    words[_BITS], words[_COUNT], words[_AT] = np.int64(bits), count, at
    if good and count >= 0:
        return 1
    # Of 255 that stand before a marker or a zero, the library takes as many as there are.
    filled = at + 1 < words[_STOP] and array_at(at + 1, (1,), _like_bytes)[0] == 255
    words[_REFUSED] = _RAN_OUT if count < 0 and not filled else 1
    return 0


@inner_part
def ran_out(library: int) -> Any:
    """Whether this reader, which must be installed, refused a unit because its codes go on behind the data."""
    return _words(library + READER, _WORDS)[_REFUSED] == _RAN_OUT


_address_of_read_unit = address_of(_read_unit, "dali_lab_read_unit")


@part
def _install(library: int, version: int) -> Any:
    """Let a decompressor that has started use this reader, if its picture is one for it; whether it is, as 1 or 0.

    Parameters
    ----------
    library
        Address of the library's structure, with :data:`READER_SIZE` bytes at :data:`READER` behind it.
    version
        Of the library's binary interface.
    """
    flags, scan = (_LATER, 2 * _LATER) if version >= 80 else (0, 0)
    members = _half(library + _IN_SCAN + scan)
    count = _half(library + _BLOCKS + scan)
    if _half(library + _PROGRESSIVE + flags) != 0 or _half(library + _ARITHMETIC + flags) != 0:
        return 0
    if _half(library + _RESTART + flags) != 0 or _half(library + _LAST_COEFFICIENT + scan) != 63:
        return 0
    if members != _half(library + _COMPONENT_COUNT) or count > _MOST_BLOCKS or _half(library + _PRECISION) != 8:
        return 0
    reader = library + READER
    words = _words(reader, _WORDS)
    for k in range(count):
        member = _half(library + _MEMBERS + scan + k * 4)
        component = _words(library + _COMPONENTS + scan + member * 8, 1)[0]
        dc, ac = _half(component + _COMPONENT_DC), _half(component + _COMPONENT_AC)
        if dc < 0 or dc > 1 or ac < 0 or ac > 1:
            return 0
        for place, table in ((_DC_TABLES + dc * 8, dc), (_AC_TABLES + ac * 8, 2 + ac)):
            _make_table(reader + _TABLES + table * _TABLE, _words(library + place, 1)[0], table >= 2)
        dc_place, ac_place = _TABLES + dc * _TABLE, _TABLES + (2 + ac) * _TABLE
        words[_BLOCK + k] = member << 32 | ac_place << 16 | dc_place
    source = _words(_words(library + _SOURCE, 1)[0], 2)
    words[_BITS], words[_COUNT], words[_REFUSED] = 0, 0, 0
    words[_AT], words[_STOP] = source[0], source[0] + source[1]
    words[_LEFT] = _half(library + _UNITS + scan) * _half(library + _UNIT_ROWS + scan)
    words[_BLOCK_COUNT] = count
    for k in range(4):
        words[_PREDICTION + k] = 0
    entropy = _words(library + _ENTROPY + (_LATER_ENTROPY if version >= 80 else 0), 1)[0]
    _words(entropy + _READ_UNIT, 1)[0] = _address_of_read_unit()
    return 1


_address_of_install = address_of(_install, "dali_lab_install")


@kernel
def installer() -> Any:
    """The address of :func:`_install` as a C function."""
    return _address_of_install()
