"""Headers of WebP pictures."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.exif import EXIF_HEADER, exif_orientation
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.numbers import le16, le32


def read(view: Any) -> ImageInfo:
    """Read the header of a WebP file."""
    kind = bytes(view[12:16])
    if kind == b"VP8 ":
        if bytes(view[23:26]) != b"\x9d\x01\x2a":
            raise CodecError("truncated WebP" if len(view) < 26 else "bad WebP header: no key frame")
        return ImageInfo(le16(view, 28) & 0x3FFF, le16(view, 26) & 0x3FFF, 3, "uint8", "webp")
    if kind == b"VP8L":
        bits = le32(view, 21)
        channels = 4 if bits >> 28 & 1 else 3
        return ImageInfo((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1, channels, "uint8", "webp")
    if kind != b"VP8X":
        raise CodecError(f"bad WebP header: unknown chunk {kind!r}")
    flags = view[20]
    width = 1 + (le32(view, 24) & 0xFFFFFF)
    height = 1 + (le16(view, 27) | view[29] << 16)
    orientation = 1
    if flags & 8:
        at, size = 12, len(view)
        while at + 8 <= size:
            length = le32(view, at + 4)
            if bytes(view[at : at + 4]) == b"EXIF":
                block = view[at + 8 : at + 8 + length]
                orientation = exif_orientation(block[6:] if bytes(block[:6]) == EXIF_HEADER else block) or 1
                break
            at += 8 + length + (length & 1)
    return ImageInfo(height, width, 4 if flags & 16 else 3, "uint8", "webp", orientation)
