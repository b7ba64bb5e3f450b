"""Sounds, videos and WebP with odd values in their structure."""

from __future__ import annotations

import random
import re

from tests.fuzz.structures.changes import change_field, number, rearranged

_RIFF = b"VP8 VP8L VP8X ALPH ANIM ANMF EXIF ICCP fmt data fact LIST idx1 strf strh indx JUNK cue smpl ds64".split()


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
            data[at + 4 : at + 8] = number(chance, 4).to_bytes(4, "little")
        elif kind == 1:
            data[at : at + 4] = chance.choice(_RIFF).ljust(4)
        elif kind == 4 and size:
            data[at:at] = data[at : at + 8 + size + size % 2]
            return bytes(data)
        elif size:
            change_field(data, at + 8, at + 8 + min(size, 64), chance, "little")
    return bytes(data)


def boxes(content: bytes, chance: random.Random) -> bytes:
    """MP4 and JPEG 2000: boxes within each other; sizes and fields."""
    data = bytearray(content)
    inside = {
        b"moov",
        b"trak",
        b"mdia",
        b"minf",
        b"stbl",
        b"edts",
        b"dinf",
        b"jp2h",
        b"moof",
        b"traf",
        b"mvex",
        b"udta",
    }
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
            data[at : at + 4] = number(chance, 4).to_bytes(4, "big")
        elif kind == 1:
            data[at + 4 : at + 8] = data[(other := chance.choice(places)[0]) + 4 : other + 8]
        elif kind == 2:
            data[at : at + size] = data[at : at + size] * 2
            return bytes(data)
        elif kind == 3:
            del data[at : at + size]
            return bytes(data)
        elif size > 12:
            change_field(data, at + 8, at + min(size, 120), chance, "big")
    return bytes(data)


_ELEMENTS = (
    rb"\x1a\x45\xdf\xa3|\x18\x53\x80\x67|\x15\x49\xa9\x66|\x16\x54\xae\x6b|\x1f\x43\xb6\x75|\x1c\x53\xbb\x6b"
    rb"|\x11\x4d\x9b\x74|\xae|\xa3|\xe0|\xb0|\xba"
)


def ebml(content: bytes, chance: random.Random) -> bytes:
    """Matroska: sizes and values of elements near the beginning and at known names."""
    data = bytearray(content)
    names = [match.start() for match in re.finditer(_ELEMENTS, content[:4000])]
    for _ in range(chance.choice((1, 2, 3))):
        at = chance.choice(names) if names else 0
        change_field(data, at, min(len(data), at + 12), chance, "big")
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
    parts = rearranged(parts, chance) if chance.random() < 0.2 else parts
    for _ in range(chance.choice((1, 1, 2))):
        which = chance.randrange(min(len(parts), 4)) if parts else 0
        if not parts or len(parts[which]) < 40:
            continue
        page = bytearray(parts[which])
        change_field(page, chance.choice((5, 27, 28)), min(len(page), 120), chance)
        page[22:26] = bytes(4)
        page[22:26] = _ogg_checksum(bytes(page)).to_bytes(4, "little")
        parts[which] = bytes(page)
    return b"".join(parts)


def flac(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2))):
        change_field(data, 4, min(42, len(data)), chance, "big")
    return bytes(data)
