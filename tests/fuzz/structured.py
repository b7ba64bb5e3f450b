"""Damage that knows the format: fields of headers get odd values, while checksums and the rest stay right.

Changes at random places seldom get past a checksum or a length; these do, and reach the code behind.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

_SIZES = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31,
          (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, "", "x", [], {}, [[]], -1, 0, 1.5, 1e308, -1e308, float("nan"), float("inf"), 1 << 31, 1 << 63,
    1 << 64, -(1 << 63) - 1, 10**40, [1] * 300, [1e300] * 6, "\0", "\ud800", "../" * 20, "a" * 5000, {"counts": "a", "size": [1, 1]},
    {"counts": [1 << 40], "size": [1 << 31, 1 << 31]}, {"size": [3, 3]},
)  # fmt: skip


def _number(chance: random.Random, size: int) -> int:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(_SIZES) & ((1 << 8 * size) - 1)
    return chance.getrandbits(8 * size) if kind < 0.7 else chance.randrange(1 << min(8 * size, 8))


def _field(data: bytearray, start: int, stop: int, chance: random.Random, order: Any = None) -> None:
    """Change a number somewhere between two places."""
    size = chance.choice((1, 1, 2, 2, 4, 4, 8))
    if stop - start < size:
        return
    at = start + chance.randrange((stop - start - size) // size + 1) * size if chance.random() < 0.7 else (
        chance.randrange(start, stop - size + 1)
    )
    value = int.from_bytes(data[at : at + size], order or "little")
    if chance.random() < 0.3:
        value = (value + chance.choice((-2, -1, 1, 2, 256, -256))) % (1 << 8 * size)
    else:
        value = _number(chance, size)
    data[at : at + size] = value.to_bytes(size, order or chance.choice(("little", "big")))


def _rearranged(pieces: list[bytes], chance: random.Random) -> list[bytes]:
    """The pieces with one taken out, repeated, moved or cut."""
    if not pieces:
        return pieces
    pieces = list(pieces)
    kind, at = chance.randrange(5), chance.randrange(len(pieces))
    if kind == 0:
        del pieces[at]
    elif kind == 1:
        pieces.insert(chance.randrange(len(pieces) + 1), pieces[at])
    elif kind == 2:
        pieces.insert(chance.randrange(len(pieces)), pieces.pop(at))
    elif kind == 3:
        pieces[at] = pieces[at][: chance.randrange(len(pieces[at]) + 1)]
    else:
        pieces[at] *= chance.choice((2, 3, 40))
    return pieces


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
                    _field(changed, 0, 8, chance, "big")
                else:
                    changed[chance.randrange(8, 13) % len(changed)] = chance.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 255))
            chunks[0] = (chunks[0][0], bytes(changed))
        elif kind == 1 and body:
            _field(changed, 0, len(changed), chance, "big")
            chunks[at] = (name, bytes(changed))
        elif kind == 2:
            odd = chance.choice((b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"bKGD", b"sBIT", b"eXIf", b"acTL",
                                 b"fcTL", b"fdAT", b"zTXt", b"iTXt", b"hIST", b"pHYs", b"sPLT", b"oFFs", b"cICP", b"IEND"))  # fmt: skip
            long = chance.choice((0, 1, 2, 3, 4, 6, 8, 13, 26, 30, 768, 769))
            inner = chance.choice((chance.randbytes(long), bytes(long), b"a\0\0" + zlib.compress(bytes(chance.choice((10, 10**7))))))
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
        size = len(body) if chance.random() < 0.97 else _number(chance, 4)
        out += struct.pack(">I", size) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return out


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
                segment[1] = chance.choice((0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))
            elif place == 1:
                _field(segment, 5, 9, chance, "big")
            elif place == 2:
                segment[4] = chance.choice((0, 1, 2, 7, 8, 9, 10, 12, 16, 255))
            else:
                segment[chance.randrange(9, len(segment))] = chance.choice((0, 1, 2, 3, 4, 0x11, 0x12, 0x21, 0x22, 0x41, 0x44, 0x13, 0x31, 0xF1, 255))
            segments[frames[0]] = bytes(segment)
        elif kind == 3:
            segment = bytearray(segments[which])
            if len(segment) > 4:
                _field(segment, 4, len(segment), chance, "big")
                segments[which] = bytes(segment)
        elif kind == 4:
            segments = segments[:1] + _rearranged(segments[1:], chance)
        elif kind == 5:
            odd = chance.choice((b"\xff\xdd\0\4" + chance.randbytes(2), b"\xff\xdc\0\4" + chance.randbytes(2),
                                 b"\xff\xee\0\x0eAdobe\0d\0\0\0\0" + bytes([chance.randrange(4)]), b"\xff\xcc\0\4" + chance.randbytes(2),
                                 b"\xff\xdf\0\3\x11", b"\xff\xde\0\x0e" + chance.randbytes(12),
                                 b"\xff\xe1\0\x40Exif\0\0MM\0*\0\0\0\x08" + chance.randbytes(48)))  # fmt: skip
            segments.insert(chance.randrange(1, len(segments) + 1), odd)
        elif kind == 6 and len(scan) > 12:
            head = bytearray(scan)
            head[chance.randrange(2, 14)] = chance.choice((0, 1, 2, 3, 4, 5, 63, 64, 0x10, 0x11, 0x22, 255))
            scan = bytes(head)
        elif len(scan) > 20:
            place = chance.randrange(12, len(scan))
            odd = chance.choice((b"\xff\xd9", b"\xff\xd0", b"\xff\xd7", b"\xff\xda", b"\xff\xff", b"\xff\xc4", scan[:30], bytes(50), b"\xff\xd8"))
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
        for number in range(min(count, 60)):
            yield place + number * size, size, order
        place += count * size
        place = int.from_bytes(content[place : place + (8 if large else 4)], order)  # type: ignore[arg-type]


_TAGS = (254, 256, 257, 258, 259, 262, 266, 270, 273, 274, 277, 278, 279, 284, 292, 317, 320, 322, 323, 324, 325, 330, 332,
         338, 339, 347, 512, 513, 514, 529, 530, 531, 532, 34675)  # fmt: skip


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
            data[place + 4 : place + 4 + half] = _number(chance, half).to_bytes(half, o)
        elif kind == 3:
            value = chance.choice((_number(chance, 2), chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 32773, 32946, 34712, 34887, 34925, 50000, 50001, 50002))))
            data[place + 4 + half : place + 6 + half] = value.to_bytes(2, o)
        elif kind == 4:
            value = chance.choice((_number(chance, half), chance.randrange(len(data))))
            data[place + 4 + half : place + 4 + 2 * half] = value.to_bytes(half, o)
        else:
            at = int.from_bytes(data[place + 4 + half : place + 4 + 2 * half], o)
            if at + 8 < len(data):
                _field(data, at, min(len(data), at + 64), chance, order)
    return bytes(data)


def riff(content: bytes, chance: random.Random) -> bytes:
    """WebP, WAV and AVI: chunks within each other."""
    data = bytearray(content)
    places, at = [], 12
    while at + 8 <= len(data) and len(places) < 200:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        places.append((at, min(size, len(data) - at - 8)))
        at += 12 if data[at : at + 4] in (b"LIST", b"RIFF") else 8 + size + size % 2
    for _ in range(chance.choice((1, 1, 2, 3))):
        if not places:
            break
        at, size = chance.choice(places[:12] if chance.random() < 0.7 else places)
        kind = chance.randrange(5)
        if kind == 0:
            data[at + 4 : at + 8] = _number(chance, 4).to_bytes(4, "little")
        elif kind == 1:
            data[at : at + 4] = chance.choice((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"EXIF", b"ICCP", b"fmt ", b"data",
                                               b"fact", b"LIST", b"idx1", b"strf", b"strh", b"indx", b"JUNK", b"cue ", b"smpl", b"ds64"))  # fmt: skip
        elif kind == 4 and size:
            data[at:at] = data[at : at + 8 + size + size % 2]
            return bytes(data)
        elif size:
            _field(data, at + 8, at + 8 + min(size, 64), chance, "little")
    return bytes(data)


def boxes(content: bytes, chance: random.Random) -> bytes:
    """MP4 and JPEG 2000: boxes within each other; sizes and fields."""
    data = bytearray(content)
    inside = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"dinf", b"jp2h", b"moof", b"traf", b"mvex", b"udta"}
    places: list[tuple[int, int]] = []

    def walk(at: int, end: int) -> None:
        while at + 8 <= end and len(places) < 200:
            size = int.from_bytes(data[at : at + 4], "big") or end - at
            if size < 8:
                return
            places.append((at, min(size, end - at)))
            if bytes(data[at + 4 : at + 8]) in inside:
                walk(at + 8, min(end, at + size))
            at += size

    walk(0, len(data))
    for _ in range(chance.choice((1, 1, 2, 3))):
        if not places:
            break
        at, size = chance.choice(places)
        kind = chance.randrange(6)
        if kind == 0:
            data[at : at + 4] = _number(chance, 4).to_bytes(4, "big")
        elif kind == 1:
            data[at + 4 : at + 8] = data[(other := chance.choice(places)[0]) + 4 : other + 8]
        elif kind == 2:
            data[at : at + size] = data[at : at + size] * 2
            return bytes(data)
        elif kind == 3:
            del data[at : at + size]
            return bytes(data)
        elif size > 12:
            _field(data, at + 8, at + min(size, 120), chance, "big")
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
            data[at + 1] = chance.choice((0x51, 0x52, 0x53, 0x5C, 0x5D, 0x5E, 0x5F, 0x60, 0x61, 0x63, 0x55, 0x57, 0x58, 0x90))
        else:
            _field(data, at + chance.choice((2, 4)), at + 2 + size, chance, "big")
    return bytes(data)


def ebml(content: bytes, chance: random.Random) -> bytes:
    """Matroska: sizes and values of elements near the beginning and at known names."""
    data = bytearray(content)
    names = [match.start() for match in re.finditer(rb"\x1a\x45\xdf\xa3|\x18\x53\x80\x67|\x15\x49\xa9\x66|\x16\x54\xae\x6b|\x1f\x43\xb6\x75|\x1c\x53\xbb\x6b|\x11\x4d\x9b\x74|\xae|\xa3|\xe0|\xb0|\xba", content[:4000])]  # fmt: skip
    for _ in range(chance.choice((1, 2, 3))):
        at = chance.choice(names) if names else 0
        _field(data, at, min(len(data), at + 12), chance, "big")
    return bytes(data)


def _ogg_checksum(page: bytes) -> int:
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 1 << 31 else 0)) & 0xFFFFFFFF
    return value


def ogg(content: bytes, chance: random.Random) -> bytes:
    pages = [match.start() for match in re.finditer(b"OggS", content)]
    parts = [content[at:end] for at, end in zip(pages, [*pages[1:], len(content)], strict=True)]
    parts = _rearranged(parts, chance) if chance.random() < 0.2 else parts
    for _ in range(chance.choice((1, 1, 2))):
        which = chance.randrange(min(len(parts), 4)) if parts else 0
        if not parts or len(parts[which]) < 40:
            continue
        page = bytearray(parts[which])
        _field(page, chance.choice((5, 27, 28)), min(len(page), 120), chance)
        page[22:26] = bytes(4)
        page[22:26] = _ogg_checksum(bytes(page)).to_bytes(4, "little")
        parts[which] = bytes(page)
    return b"".join(parts)


def flac(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2))):
        _field(data, 4, min(42, len(data)), chance, "big")
    return bytes(data)


_TAR_FIELDS = {"name": (0, 100), "mode": (100, 108), "size": (124, 136), "mtime": (136, 148), "type": (156, 157), "link": (157, 257),
               "magic": (257, 265), "prefix": (345, 500), "sparse": (386, 495)}  # fmt: skip


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
            start, stop = chance.choice(list(_TAR_FIELDS.values()))
            odd = chance.choice((
                b"77777777777\0", b"-0000000001\0", b"\x80" + bytes(3) + chance.choice(_SIZES).to_bytes(8, "big"), b"\xff" * 12, b"00000001000 ",
                b"           \0", bytes([chance.randrange(256)]), chance.randbytes(stop - start), b"L", b"K", b"x", b"g", b"S", b"5", b"2", b"1",
                b"000000007777", b"8",
            ))[: stop - start]  # fmt: skip
            blocks[which][start : start + len(odd)] = odd
            blocks[which] = bytearray(_signed(blocks[which]))
        else:
            number = str(chance.choice((*_SIZES, -1, "x", "1e9", "9" * 400)))
            record = chance.choice((
                f"size={number}", "path=0.cls", "path=" + "a" * 600, f"GNU.sparse.size={number}", "GNU.sparse.major=1\n",
                f"GNU.sparse.realsize={number}", f"GNU.sparse.map={number},{number}", "GNU.sparse.name=1.cls", "path=\0", "path=",
            )).encode()  # fmt: skip
            length = len(record) + 3
            length += len(str(length))
            body = chance.choice((b"%d %s\n" % (length, record), b"%d %s\n" % (chance.choice(_SIZES), record), record, b""))
            sort, size = chance.choice((b"x", b"x", b"x", b"g", b"L", b"K", b"S")), len(body)
            size = size if chance.random() < 0.8 else chance.choice(_SIZES) % 8**11
            extra = _signed(_tar_header(b"pax", size, sort)) + body + bytes(-len(body) % 512)
            blocks[which:which] = [bytearray(extra)]
            heads = [i for i, block in enumerate(blocks) if block[257:262] == b"ustar"]
    return b"".join(blocks)[: chance.choice((None, None, None, -512, -1024, -100))]


def _messages(data: bytes, chance: random.Random, depth: int = 0) -> bytes:
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
        field[1] = _number(chance, 8)
    elif kind == 2:
        overlong = bytes([field[0] & 127 | 2]) + chance.choice(_SIZES).to_bytes(9, "little")
    elif field[0] & 7 == 2 and depth < 6 and kind > 2:
        field[1] = _messages(field[1], chance, depth + 1)
    else:
        field[1] = chance.randbytes(chance.choice((0, 1, len(field[1]), 300)))

    def number(value: int) -> bytes:
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        return bytes(out) if chance.random() < 0.97 else bytes([*out[:-1], out[-1] | 128, *[128] * chance.randrange(12), 0])

    out = b""
    for key, value in fields:
        if isinstance(value, int):
            out += number(key) + number(value)
        else:
            out += number(key) + (number(len(value)) if key & 7 == 2 else b"") + value
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
    records[which] = _messages(records[which], chance)
    out = b""
    for number, record in enumerate(records):
        size = len(record)
        if number == which and chance.random() < 0.3:
            size = chance.choice(_SIZES)
        head = size.to_bytes(8, "little")
        out += head + bytes(4) + record + bytes(4)  # nobody checks the checksums
    return out


def recordio(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    places = [match.start() for match in re.finditer(b"\x0a\x23\xd7\xce", content)]
    for _ in range(chance.choice((1, 2))):
        at = chance.choice(places or [0])
        _field(data, at + 4, min(len(data), at + 32), chance, "little")
    return bytes(data)


def npy(content: bytes, chance: random.Random) -> bytes:
    start = 10 if content[6:7] == b"\1" else 12
    size = int.from_bytes(content[8:start], "little")
    body = content[start + size :]
    big = "9" * chance.choice((5, 19, 30, 400))
    shape = chance.choice((
        "()", "(0,)", "(-1, 3)", f"({big},)", "(4294967296, 4294967296)", "(1.5,)", "None", "[2, 3]", "(" + "1," * chance.choice((33, 65, 5000)) + ")",
        "(20, 30)", "(True,)", "'ab'", "((2, 3),)", "(0x10, 2)", "(2**62,)", "(4611686018427387904, 4)", "(20, -30)", "(0, 9223372036854775807)",
    ))  # fmt: skip
    kind = chance.choice(("<f4", ">f4", "|u1", "|O", "<U5", "|V8", "<c8", "<M8[ns]", "<f2", "<f16", "|S0", "<i8", "|b1", "f4", "<f0", "", "[('a', '<i4')]", "<f" + big))  # fmt: skip
    descr = f"'{kind}'" if chance.random() < 0.9 and "[" not in kind[:1] else kind or "None"
    order = chance.choice(("False", "True", "1", "None", "'x'"))
    items = [f"'descr': {descr}", f"'fortran_order': {order}", f"'shape': {shape}"]
    good = {0: "'descr': '<f4'", 1: "'fortran_order': False", 2: "'shape': (20, 30)"}
    items = [item if chance.random() < 0.5 else good[i] for i, item in enumerate(items)]
    chance.shuffle(items)
    text = "{" + ", ".join(items) + chance.choice(("}", ", }", "", ", 'more': 1}", "}}", "(" * 300, "} # x"))
    packed = chance.choice((text.encode("utf-8"), text.encode("utf-16"), b" " * 70000 + text.encode())) if chance.random() < 0.1 else text.encode()
    packed += b" " * (-(len(packed) + 11) % 64) + b"\n"
    if chance.random() < 0.1:
        packed = packed[:-1]
    if len(packed) < 65536 and chance.random() < 0.8:
        head = b"\x93NUMPY\1\0" + len(packed).to_bytes(2, "little")
    else:
        head = b"\x93NUMPY" + bytes([chance.choice((2, 3, 4, 9)), 0]) + chance.choice((len(packed), _number(chance, 4))).to_bytes(4, "little")
    return head + packed + body[: chance.choice((None, None, -1, 0, 10))]


def lmdb(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    pages = max(1, len(data) // 4096)
    for _ in range(chance.choice((1, 1, 2, 4))):
        page = chance.choice((0, 1, chance.randrange(pages))) * 4096
        part = chance.choice(((0, 16), (16, 24 + 2 * 40), (16, 152), (16, 152)))
        _field(data, page + part[0], min(len(data), page + part[1]), chance, "little")
        if chance.random() < 0.3 and pages > 3:
            other = chance.randrange(pages) * 4096
            data[page : page + 4096] = data[other : other + 4096]
    return bytes(data)


def json_tree(content: bytes, chance: random.Random) -> bytes:
    """JSON with values replaced at any depth; a text that is none stays."""
    try:
        tree = json.loads(content)
    except ValueError:
        return content
    for _ in range(chance.choice((1, 1, 2, 4))):
        tree = _changed(tree, chance)
    text = json.dumps(tree)
    if chance.random() < 0.1:
        text = text.replace("1", chance.choice(("01", "1e400", "-0", "1.", "1" * 5000)), 1)
    return text.encode(errors="surrogatepass")


def _changed(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, (dict, list)) and tree and chance.random() < 0.93:
        keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = chance.choice(keys)
        kind = chance.random()
        if kind < 0.05:
            del tree[key]
        elif kind < 0.1 and isinstance(tree, dict):
            tree[chance.choice(("", "id", "x" * 300, "$array", "\ud800"))] = tree.pop(key)
        elif kind < 0.15 and isinstance(tree, list):
            tree.append(copy.deepcopy(tree[key]))
        else:
            tree[key] = _changed(tree[key], chance)
        return tree
    deep: Any = copy.deepcopy(chance.choice(_VALUES))
    if chance.random() < 0.05:
        for _ in range(chance.choice((20, 300))):
            deep = [deep]
    return deep


def json_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    which = chance.randrange(len(lines))
    lines[which] = json_tree(lines[which], chance)
    return b"\n".join(lines)


_CARDS = (
    "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "NAXIS3", "PCOUNT", "GCOUNT", "BSCALE", "BZERO", "TFIELDS", "TFORM1", "TTYPE1", "ZIMAGE", "ZBITPIX",
    "ZNAXIS", "ZNAXIS1", "ZNAXIS2", "ZTILE1", "ZTILE2", "ZCMPTYPE", "ZNAME1", "ZVAL1", "ZQUANTIZ", "ZDITHER0", "THEAP", "EXTEND", "XTENSION",
    "SIMPLE", "BLANK", "END", "GROUPS",
)  # fmt: skip


def fits(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    cards = [at for at in range(0, len(data) - 80, 80) if bytes(data[at : at + 8]).strip().decode("latin-1") in _CARDS]
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.choice(cards or [0])
        name = bytes(data[at : at + 8]) if chance.random() < 0.85 else chance.choice(_CARDS).ljust(8).encode()
        value = chance.choice((
            *_SIZES, -1, -32, -64, 8, 16, 32, 64, 12, "T", "F", "'IMAGE   '", "'BINTABLE'", "'RICE_1  '", "'GZIP_1  '", "'GZIP_2  '", "'PLIO_1  '",
            "'HCOMPRESS_1'", "'NOCOMPRESS'", "'1PB(9)  '", "'1QB(99999999999)'", "'1J'", "'99999999999B'", "1.0E400", "NaN", "''", "'", "- 1", "",
        ))  # fmt: skip
        data[at : at + 80] = (name + f"= {value!s:>20}".encode()).ljust(80)[:80]
    return bytes(data)


def pnm(content: bytes, chance: random.Random) -> bytes:
    number = str(chance.choice((*_SIZES, -1, "", "1" * 400, "#", "# \n", "1.5", "0x10"))).encode()
    found = list(re.finditer(rb"\d+", content[:40]))
    match = chance.choice(found)
    content = content[: match.start()] + number + content[match.end() :]
    return content if chance.random() < 0.7 else b"P" + bytes([chance.randrange(0x30, 0x38)]) + content[2:]


def bmp(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.choice((2, 10, 14, 18, 22, 26, 28, 30, 34, 46, 50))
        size = 2 if at in (26, 28) else 4
        value = chance.choice((_number(chance, size), chance.choice((0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 64, 108, 124)), -chance.randrange(100)))
        data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data)


def lines_of_numbers(content: bytes, chance: random.Random) -> bytes:
    """Index files: lines that are repeated, swapped, or have other numbers and words."""
    lines = _rearranged(content.split(b"\n"), chance) if chance.random() < 0.3 else content.split(b"\n")
    which = chance.randrange(len(lines)) if lines else 0
    words = lines[which].split(b" ") if lines else []
    if words:
        number = str(chance.choice((*_SIZES, -1, (1 << 63) - 51, 9223372036854775296, "x", "1e3", "", "1.5", "\u0663", "+5", "1_0", "0x1"))).encode()
        words[chance.randrange(len(words))] = number
        lines[which] = b" ".join(words)
    return b"\n".join(lines)


def _is_index(content: bytes) -> bool:
    return bool(re.fullmatch(rb"[\w. \t/-]*\n([\w. \t/-]*\n?)*", content[:2000])) and len(content) < 20_000


_KINDS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, random.Random], bytes]], ...] = (
    (lambda data: data.startswith(b"\x89PNG"), png),
    (lambda data: data.startswith(b"\xff\xd8"), jpeg),
    (lambda data: data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), tiff),
    (lambda data: data.startswith(b"RIFF"), riff),
    (lambda data: data[:4] in (b"\0\0\0\x0c", b"\xff\x4f\xff\x51"), codestream),
    (lambda data: data[4:8] == b"ftyp", boxes),
    (lambda data: data.startswith(b"\x1a\x45\xdf\xa3"), ebml),
    (lambda data: data.startswith(b"OggS"), ogg),
    (lambda data: data.startswith(b"fLaC"), flac),
    (lambda data: data.startswith(b"BM"), bmp),
    (lambda data: data[:1] == b"P" and data[1:2] in b"123456", pnm),
    (lambda data: data[257:262] == b"ustar", tar),
    (lambda data: data.startswith(b"\x93NUMPY"), npy),
    (lambda data: data[16:20] == b"\xde\xc0\xef\xbe", lmdb),
    (lambda data: data.startswith(b"SIMPLE  ="), fits),
    (lambda data: data.startswith(b"\x0a\x23\xd7\xce"), recordio),
    (lambda data: data[:1] == b"{" and data.count(b'\n{"') > 1, json_lines),
    (lambda data: data[:1] == b"{", json_tree),
    (_is_index, lines_of_numbers),
    (lambda data: data[1:8] == bytes(7), tfrecord),
    (lambda data: data[:1] in (b"\n", b"\x12"), _messages),
)


def structured(content: bytes, chance: random.Random) -> bytes | None:
    """The file with odd values in its structure; `None` where the format is none that is known here."""
    if content[:2] == b"\x1f\x8b":
        inner = structured(gzip.decompress(content), chance)
        return None if inner is None else gzip.compress(inner, 1)
    for known, change in _KINDS:
        if known(content):
            return change(content, chance)
    return None
