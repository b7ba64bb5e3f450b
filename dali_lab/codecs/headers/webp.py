"""Headers of WebP pictures."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.exif import EXIF_HEADER, exif_orientation
from dali_lab.kernels.cpu.header_table import WEBP, Header


def read(view: Any) -> Header:
    """Read the header of a WebP file."""
    kind, orientation = bytes(view[12:16]), 1
    if kind == b"VP8 ":
        if bytes(view[23:26]) != b"\x9d\x01\x2a":
            raise CodecError("truncated WebP" if len(view) < 26 else "bad WebP header: no key frame")
        width, height = (size & 0x3FFF for size in unpack_from("<2H", view, 26))
        alpha = 0
    elif kind == b"VP8L":
        (bits,) = unpack_from("<I", view, 21)
        width, height, alpha = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bits >> 28 & 1
    elif kind == b"VP8X":
        flags, low, middle, high = unpack_from("<B3x3H", view, 20)
        width, height, alpha = 1 + (low | (middle & 0xFF) << 16), 1 + (middle >> 8 | high << 8), flags >> 4 & 1
        at, size = 12, len(view) if flags & 8 else 0
        while at + 8 <= size:
            chunk, length = unpack_from("<4sI", view, at)
            if chunk == b"EXIF":
                block = view[at + 8 : at + 8 + length]
                orientation = exif_orientation(block[6:] if bytes(block[:6]) == EXIF_HEADER else block) or 1
                break
            at += 8 + length + (length & 1)
    else:
        raise CodecError(f"bad WebP header: unknown chunk {kind!r}")
    return Header(WEBP, 4 if alpha else 3, orientation=orientation, height=height, width=width)
