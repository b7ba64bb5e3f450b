"""Pictures with odd values in their structure, and right checksums."""

from __future__ import annotations

import random
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from tests.fuzz.structures.changes import SIZES, change_field, number, rearranged
from tests.fuzz.structures.media import boxes

_CHUNKS = b"PLTE tRNS gAMA cHRM sRGB iCCP bKGD sBIT eXIf acTL fcTL fdAT zTXt iTXt hIST pHYs sPLT oFFs cICP IEND".split()


def png(content: bytes, chance: random.Random) -> bytes:
    chunks: list[tuple[bytes, bytes]] = []
    at = 8
    while at + 12 <= len(content):
        (size,) = struct.unpack_from(">I", content, at)
        chunks.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(7)
        at = chance.randrange(len(chunks))
        name, body = chunks[at]
        changed = bytearray(body)
        if kind == 0:
            changed = bytearray(chunks[0][1])
            if changed:
                field = chance.randrange(3)
                if field == 0:
                    change_field(changed, 0, 8, chance, "big")
                else:
                    changed[chance.randrange(8, 13) % len(changed)] = chance.choice((*range(9), 16, 32, 255))
            chunks[0] = (chunks[0][0], bytes(changed))
        elif kind == 1 and body:
            change_field(changed, 0, len(changed), chance, "big")
            chunks[at] = (name, bytes(changed))
        elif kind == 2:
            odd = chance.choice(_CHUNKS)
            long = chance.choice((0, 1, 2, 3, 4, 6, 8, 13, 26, 30, 768, 769))
            packed = b"a\0\0" + zlib.compress(bytes(chance.choice((10, 10**7))))
            inner = chance.choice((chance.randbytes(long), bytes(long), packed))
            chunks.insert(chance.randrange(len(chunks) + 1), (odd, inner))
        elif kind == 3:
            del chunks[at]
        elif kind == 4:
            chunks.insert(chance.randrange(len(chunks) + 1), chunks[at])
        else:  # other rows below the compression
            data = b"".join(body for name, body in chunks if name == b"IDAT")
            try:
                rows = bytearray(zlib.decompress(data))
            except zlib.error:
                continue
            for _ in range(chance.choice((1, 4, 40))):
                if rows:
                    rows[chance.randrange(len(rows))] = chance.choice((0, 1, 2, 3, 4, 5, 255, chance.randrange(256)))
            end = chance.choice((len(rows), len(rows), chance.randrange(len(rows) + 1)))
            rows = rows[:end] + bytes(chance.choice((0, 0, 1, 100_000)))
            packed = zlib.compress(bytes(rows), chance.choice((0, 1, 9)))
            cut = chance.randrange(len(packed) + 1)
            chunks = [each for each in chunks if each[0] != b"IDAT"]
            where = max(0, len(chunks) - 1)
            chunks[where:where] = [(b"IDAT", packed[:cut]), (b"IDAT", packed[cut:])]
        if not chunks:
            break
    out = content[:8]
    for name, body in chunks:
        size = len(body) if chance.random() < 0.97 else number(chance, 4)
        out += struct.pack(">I", size) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return out


_FRAMES = (0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF)
_FACTORS = (0, 1, 2, 3, 4, 0x11, 0x12, 0x21, 0x22, 0x41, 0x44, 0x13, 0x31, 0xF1, 255)
_MARKERS = (b"\xff\xd9", b"\xff\xd0", b"\xff\xd7", b"\xff\xda", b"\xff\xff", b"\xff\xc4", b"\xff\xd8", bytes(50))


def _segment(chance: random.Random) -> bytes:
    """A rare segment: restarts, a number of lines, Adobe's, arithmetic coding, expansion, Exif."""
    kind, size = chance.choice(((0xDD, 2), (0xDC, 2), (0xCC, 2), (0xDF, 1), (0xDE, 12), (0xEE, 12), (0xE1, 62)))
    body = chance.randbytes(size)
    if kind == 0xEE:
        body = b"Adobe\0d\0\0\0\0" + bytes([chance.randrange(4)])
    elif kind == 0xE1:
        body = b"Exif\0\0MM\0*\0\0\0\x08" + body[14:]
    return bytes([0xFF, kind]) + struct.pack(">H", len(body) + 2) + body


def jpeg(content: bytes, chance: random.Random) -> bytes:
    segments, at = [content[:2]], 2
    while at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != 0xDA:
        size = int.from_bytes(content[at + 2 : at + 4], "big")
        segments.append(content[at : at + 2 + size])
        at += 2 + size
    scan = content[at:]
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(8)
        which = chance.randrange(len(segments))
        frames = [i for i, segment in enumerate(segments) if segment[1:2] in b"\xc0\xc1\xc2" and len(segment) > 10]
        if kind < 3 and frames:
            segment = bytearray(segments[frames[0]])
            place = chance.randrange(5)
            if place == 0:  # another kind of frame
                segment[1] = chance.choice(_FRAMES)
            elif place == 1:
                change_field(segment, 5, 9, chance, "big")
            elif place == 2:
                segment[4] = chance.choice((0, 1, 2, 7, 8, 9, 10, 12, 16, 255))
            else:
                segment[chance.randrange(9, len(segment))] = chance.choice(_FACTORS)
            segments[frames[0]] = bytes(segment)
        elif kind == 3:
            segment = bytearray(segments[which])
            if len(segment) > 4:
                change_field(segment, 4, len(segment), chance, "big")
                segments[which] = bytes(segment)
        elif kind == 4:
            segments = segments[:1] + rearranged(segments[1:], chance)
        elif kind == 5:
            odd = _segment(chance)
            segments.insert(chance.randrange(1, len(segments) + 1), odd)
        elif kind == 6 and len(scan) > 12:
            head = bytearray(scan)
            head[chance.randrange(2, 14)] = chance.choice((0, 1, 2, 3, 4, 5, 63, 64, 0x10, 0x11, 0x22, 255))
            scan = bytes(head)
        elif len(scan) > 20:
            place = chance.randrange(12, len(scan))
            odd = chance.choice((*_MARKERS, scan[:30]))
            scan = scan[:place] + odd + scan[place + chance.choice((0, 2, 10)) :]
    return b"".join(segments) + scan


def _entries(content: bytes) -> Iterator[tuple[int, int, str]]:
    """Place, size and order of the entries of a TIFF's directories."""
    order = "little" if content[:2] == b"II" else "big"
    large = content[2:4] in (b"+\0", b"\0+")
    place = int.from_bytes(content[8:16] if large else content[4:8], order)  # type: ignore[arg-type]
    for _ in range(3):
        if not 0 < place < len(content) - 8:
            return
        count = int.from_bytes(content[place : place + (8 if large else 2)], order)  # type: ignore[arg-type]
        place += 8 if large else 2
        size = 20 if large else 12
        for entry in range(min(count, 60)):
            yield place + entry * size, size, order
        place += count * size
        place = int.from_bytes(content[place : place + (8 if large else 4)], order)  # type: ignore[arg-type]


_TAGS = (
    254, *range(256, 260), 262, 266, 270, 273, 274, *range(277, 280), 284, 292, 317, 320, *range(322, 326), 330, 332,
    338, 339, 347, *range(512, 515), *range(529, 533), 34675,
)  # fmt: skip


_COMPRESSIONS = (*range(1, 9), 32773, 32946, 34712, 34887, 34925, 50000, 50001, 50002)


def tiff(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    entries = list(_entries(content))
    for _ in range(chance.choice((1, 1, 2, 3))):
        if not entries:
            break
        place, size, order = chance.choice(entries)
        o: Any = order
        half = 8 if size == 20 else 4
        kind = chance.randrange(6)
        if kind == 0:
            data[place : place + 2] = chance.choice(_TAGS).to_bytes(2, o)
        elif kind == 1:
            data[place + 2 : place + 4] = chance.randrange(20).to_bytes(2, o)
        elif kind == 2:
            data[place + 4 : place + 4 + half] = number(chance, half).to_bytes(half, o)
        elif kind == 3:
            value = chance.choice((number(chance, 2), chance.choice(_COMPRESSIONS)))
            data[place + 4 + half : place + 6 + half] = value.to_bytes(2, o)
        elif kind == 4:
            value = chance.choice((number(chance, half), chance.randrange(len(data))))
            data[place + 4 + half : place + 4 + 2 * half] = value.to_bytes(half, o)
        else:
            at = int.from_bytes(data[place + 4 + half : place + 4 + 2 * half], o)
            if at + 8 < len(data):
                change_field(data, at, min(len(data), at + 64), chance, order)
    return bytes(data)


def codestream(content: bytes, chance: random.Random) -> bytes:
    """JPEG 2000 below its boxes: SIZ, COD, QCD and the parts of tiles."""
    start = content.find(b"\xff\x4f\xff\x51")
    if start < 0 or (chance.random() < 0.3 and content[:4] == b"\0\0\0\x0c"):
        return boxes(content, chance)
    data, at, places = bytearray(content), start + 2, []
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0x93:
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        places.append((at, min(size, len(data) - at - 4)))
        at += 2 + size
    for _ in range(chance.choice((1, 1, 2))):
        at, size = chance.choice(places)
        if chance.random() < 0.1:
            data[at + 1] = chance.choice((*range(0x51, 0x59), *range(0x5C, 0x65), 0x90))
        else:
            change_field(data, at + chance.choice((2, 4)), at + 2 + size, chance, "big")
    return bytes(data)


def pnm(content: bytes, chance: random.Random) -> bytes:
    number = str(chance.choice((*SIZES, -1, "", "1" * 400, "#", "# \n", "1.5", "0x10"))).encode()
    found = list(re.finditer(rb"\d+", content[:40]))
    match = chance.choice(found)
    content = content[: match.start()] + number + content[match.end() :]
    return content if chance.random() < 0.7 else b"P" + bytes([chance.randrange(0x30, 0x38)]) + content[2:]


def bmp(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.choice((2, 10, 14, 18, 22, 26, 28, 30, 34, 46, 50))
        size = 2 if at in (26, 28) else 4
        usual = chance.choice((*range(7), 8, 12, 16, 24, 32, 40, 64, 108, 124))
        value = chance.choice((number(chance, size), usual, -chance.randrange(100)))
        data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data)
