"""Archives, records, arrays and indexes with odd values in their structure."""

from __future__ import annotations

import random
import re
from typing import Any

from tests.fuzz.structures.changes import SIZES, change_field, number, rearranged

_TAR_FIELDS = ((0, 100), (100, 108), (124, 136), (136, 148), (156, 157), (157, 257), (257, 265), (345, 500), (386, 495))
"""Name, mode, size, time, type, link, magic, prefix and GNU's sparse map."""
_ODD_FIELDS = (
    b"77777777777\0", b"-0000000001\0", b"\xff" * 12, b"00000001000 ", b"           \0", b"000000007777",
    *(b"%c" % kind for kind in b"LKxgS5218"),
)  # fmt: skip


_RECORDS = (
    "size=N", "size=N", "path=0.cls", "path=" + "a" * 600, "GNU.sparse.size=N", "GNU.sparse.major=1\n",
    "GNU.sparse.realsize=N", "GNU.sparse.map=N,N", "GNU.sparse.name=1.cls", "path=\0", "path=",
)  # fmt: skip


def _tar_header(name: bytes, size: int, kind: bytes) -> bytearray:
    header = bytearray(512)
    header[: len(name)] = name
    header[100:108], header[124:136], header[156:157] = b"0000644\0", b"%011o\0" % size, kind
    header[257:265] = b"ustar\00000"
    return header


def _signed(header: bytearray) -> bytes:
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def tar(content: bytes, chance: random.Random) -> bytes:
    blocks = [bytearray(content[at : at + 512]) for at in range(0, len(content), 512)]
    heads = [i for i, block in enumerate(blocks) if block[257:262] == b"ustar"]
    for _ in range(chance.choice((1, 1, 2, 3))):
        if not heads:
            break
        which = chance.choice(heads)
        kind = chance.randrange(4)
        if kind < 2:
            start, stop = chance.choice(_TAR_FIELDS)
            large = b"\x80" + bytes(3) + chance.choice(SIZES).to_bytes(8, "big")
            odd = chance.choice((*_ODD_FIELDS, large, bytes([chance.randrange(256)]), chance.randbytes(12)))[
                : stop - start
            ]
            blocks[which][start : start + len(odd)] = odd
            blocks[which] = bytearray(_signed(blocks[which]))
        else:
            number = str(chance.choice((*SIZES, -1, "x", "1e9", "9" * 400)))
            record = chance.choice(_RECORDS).replace("N", number).encode()
            length = len(record) + 3
            length += len(str(length))
            wrong = b"%d %s\n" % (chance.choice(SIZES), record)
            body = chance.choice((b"%d %s\n" % (length, record), wrong, record, b""))
            sort, size = chance.choice((b"x", b"x", b"x", b"g", b"L", b"K", b"S")), len(body)
            size = size if chance.random() < 0.8 else chance.choice(SIZES) % 8**11
            extra = _signed(_tar_header(b"pax", size, sort)) + body + bytes(-len(body) % 512)
            blocks[which:which] = [bytearray(extra)]
            heads = [i for i, block in enumerate(blocks) if block[257:262] == b"ustar"]
    return b"".join(blocks)[: chance.choice((None, None, None, -512, -1024, -100))]


def message(data: bytes, chance: random.Random, depth: int = 0) -> bytes:
    """A protocol buffer with a field changed, in a message at any depth; lengths around it are right."""
    fields: list[list[Any]] = []
    at = 0

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if not byte & 128:
                return value, at

    try:
        while at < len(data):
            key, at = varint(at)
            if key & 7 == 0:
                value, at = varint(at)
                fields.append([key, value])
            elif key & 7 == 2:
                size, at = varint(at)
                if at + size > len(data):
                    return chance.randbytes(3) + data
                fields.append([key, data[at : at + size]])
                at += size
            elif key & 7 in (1, 5):
                size = 8 if key & 7 == 1 else 4
                fields.append([key, data[at : at + size]])
                at += size
            else:
                return data + b"\x80" * chance.randrange(12)
    except IndexError:
        return data + b"\xff" * chance.randrange(12)
    if not fields:
        return chance.choice((b"\x80" * 11, b"\n\xff\xff\xff\xff\x0f", b"\x08" + b"\xff" * 9 + b"\x01", b""))
    field = chance.choice(fields)
    kind = chance.randrange(6)
    overlong = b""
    if kind == 0:
        field[0] = chance.choice((field[0] ^ chance.randrange(8), field[0] + 8, 0, 3, 4, 7, (1 << 29) * 8 + 2))
    elif kind == 1:
        fields.insert(chance.randrange(len(fields) + 1), field)
    elif isinstance(field[1], int):
        field[1] = number(chance, 8)
    elif kind == 2:
        overlong = bytes([field[0] & 127 | 2]) + chance.choice(SIZES).to_bytes(9, "little")
    elif field[0] & 7 == 2 and depth < 6 and kind > 2:
        field[1] = message(field[1], chance, depth + 1)
    else:
        field[1] = chance.randbytes(chance.choice((0, 1, len(field[1]), 300)))

    def varint_of(value: int) -> bytes:
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        return (
            bytes(out)
            if chance.random() < 0.97
            else bytes([*out[:-1], out[-1] | 128, *[128] * chance.randrange(12), 0])
        )

    out = b""
    for key, value in fields:
        if isinstance(value, int):
            out += varint_of(key) + varint_of(value)
        else:
            out += varint_of(key) + (varint_of(len(value)) if key & 7 == 2 else b"") + value
    return out + overlong


def tfrecord(content: bytes, chance: random.Random) -> bytes:
    records, at = [], 0
    while at + 16 <= len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        records.append(content[at + 12 : at + 12 + size])
        at += size + 16
    if not records:
        return content
    which = chance.randrange(len(records))
    records[which] = message(records[which], chance)
    out = b""
    for index, record in enumerate(records):
        size = len(record)
        if index == which and chance.random() < 0.3:
            size = chance.choice(SIZES)
        head = size.to_bytes(8, "little")
        out += head + bytes(4) + record + bytes(4)  # nobody checks the checksums
    return out


def recordio(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    places = [match.start() for match in re.finditer(b"\x0a\x23\xd7\xce", content)]
    for _ in range(chance.choice((1, 2))):
        at = chance.choice(places or [0])
        change_field(data, at + 4, min(len(data), at + 32), chance, "little")
    return bytes(data)


_SHAPES = (
    "()", "(0,)", "(-1, 3)", "(4294967296, 4294967296)", "(1.5,)", "None", "[2, 3]", "(20, 30)", "(True,)", "'ab'",
    "((2, 3),)", "(0x10, 2)", "(2**62,)", "(4611686018427387904, 4)", "(20, -30)", "(0, 9223372036854775807)",
)  # fmt: skip
_DTYPES = (
    "",
    *["<f4", ">f4", "|u1", "|O", "<U5", "|V8", "<c8", "<M8[ns]", "<f2", "<f16", "|S0", "<i8", "|b1", "f4", "<f0"],
)


def npy(content: bytes, chance: random.Random) -> bytes:
    start = 10 if content[6:7] == b"\1" else 12
    size = int.from_bytes(content[8:start], "little")
    body = content[start + size :]
    big = "9" * chance.choice((5, 19, 30, 400))
    shape = chance.choice((*_SHAPES, f"({big},)", "(" + "1," * chance.choice((33, 65, 5000)) + ")"))
    kind = chance.choice((*_DTYPES, "[('a', '<i4')]", "<f" + big))
    descr = f"'{kind}'" if chance.random() < 0.9 and "[" not in kind[:1] else kind or "None"
    order = chance.choice(("False", "True", "1", "None", "'x'"))
    items = [f"'descr': {descr}", f"'fortran_order': {order}", f"'shape': {shape}"]
    good = {0: "'descr': '<f4'", 1: "'fortran_order': False", 2: "'shape': (20, 30)"}
    items = [item if chance.random() < 0.5 else good[i] for i, item in enumerate(items)]
    chance.shuffle(items)
    text = "{" + ", ".join(items) + chance.choice(("}", ", }", "", ", 'more': 1}", "}}", "(" * 300, "} # x"))
    packed = text.encode()
    if chance.random() < 0.1:
        packed = chance.choice((text.encode("utf-16"), b" " * 70000 + packed))
    packed += b" " * (-(len(packed) + 11) % 64) + b"\n"
    if chance.random() < 0.1:
        packed = packed[:-1]
    if len(packed) < 65536 and chance.random() < 0.8:
        head = b"\x93NUMPY\1\0" + len(packed).to_bytes(2, "little")
    else:
        size = chance.choice((len(packed), number(chance, 4)))
        head = b"\x93NUMPY" + bytes([chance.choice((2, 3, 4, 9)), 0]) + size.to_bytes(4, "little")
    return head + packed + body[: chance.choice((None, None, -1, 0, 10))]


def lmdb(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    pages = max(1, len(data) // 4096)
    for _ in range(chance.choice((1, 1, 2, 4))):
        page = chance.choice((0, 1, chance.randrange(pages))) * 4096
        part = chance.choice(((0, 16), (16, 24 + 2 * 40), (16, 152), (16, 152)))
        change_field(data, page + part[0], min(len(data), page + part[1]), chance, "little")
        if chance.random() < 0.3 and pages > 3:
            other = chance.randrange(pages) * 4096
            data[page : page + 4096] = data[other : other + 4096]
    return bytes(data)


_CARDS = frozenset(
    [
        "BITPIX",
        "NAXIS",
        "NAXIS1",
        "NAXIS2",
        "NAXIS3",
        "PCOUNT",
        "GCOUNT",
        "BSCALE",
        "BZERO",
        "TFIELDS",
        "TFORM1",
        "TTYPE1",
        "ZIMAGE",
        "ZBITPIX",
        "ZNAXIS",
        "ZNAXIS1",
        "ZNAXIS2",
        "ZTILE1",
        "ZTILE2",
        "ZCMPTYPE",
        "ZNAME1",
        "ZVAL1",
        "ZQUANTIZ",
        "ZDITHER0",
        "THEAP",
        "EXTEND",
        "XTENSION",
        "SIMPLE",
        "BLANK",
        "END",
        "GROUPS",
    ]
)
_CARD_VALUES = (
    -1, -32, -64, 8, 16, 32, 64, 12, "T", "F", "1.0E400", "NaN", "''", "'", "- 1", "",
    "'RICE_1  '", "'GZIP_1  '", "'GZIP_2  '", "'PLIO_1  '", "'HCOMPRESS_1'", "'NOCOMPRESS'", "'IMAGE   '", "'BINTABLE'",
    "'1PB(9)  '", "'1J      '", "'99999999999B'",
)  # fmt: skip


def fits(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    cards = [at for at in range(0, len(data) - 80, 80) if bytes(data[at : at + 8]).strip().decode("latin-1") in _CARDS]
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.choice(cards or [0])
        name = bytes(data[at : at + 8]) if chance.random() < 0.85 else chance.choice(sorted(_CARDS)).ljust(8).encode()
        value = chance.choice((*SIZES, *_CARD_VALUES))
        data[at : at + 80] = (name + f"= {value!s:>20}".encode()).ljust(80)[:80]
    return bytes(data)


def lines_of_numbers(content: bytes, chance: random.Random) -> bytes:
    """Index files: lines that are repeated, swapped, or have other numbers and words."""
    lines = rearranged(content.split(b"\n"), chance) if chance.random() < 0.3 else content.split(b"\n")
    which = chance.randrange(len(lines)) if lines else 0
    words = lines[which].split(b" ") if lines else []
    if words:
        odd = (-1, (1 << 63) - 51, 9223372036854775296, "x", "1e3", "", "1.5", "\u0663", "+5", "1_0", "0x1")
        number = str(chance.choice((*SIZES, *odd))).encode()
        words[chance.randrange(len(words))] = number
        lines[which] = b" ".join(words)
    return b"\n".join(lines)
