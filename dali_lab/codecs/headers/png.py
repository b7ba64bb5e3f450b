"""Headers of PNG pictures."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.exif import exif_orientation
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.numbers import be32

#: Gamma of sRGB, as PNG writes it.
_SRGB = 45455
_CHANNELS = {0: (1, "gray"), 2: (3, "rgb"), 3: (3, "palette"), 4: (2, "gray"), 6: (4, "rgb")}


def read(view: Any) -> ImageInfo:
    """Read the header of a PNG file."""
    if bytes(view[12:16]) != b"IHDR":
        raise CodecError("truncated PNG" if len(view) < 16 else "bad PNG header: the first chunk is not IHDR")
    width, height, bits = be32(view, 16), be32(view, 20), view[24]
    if view[25] not in _CHANNELS or bits not in (1, 2, 4, 8, 16):
        raise CodecError(f"bad PNG header: colour type {view[25]} with {bits} bits")
    channels, color = _CHANNELS[view[25]]
    orientation, gamma, significant, kind = 1, 0, 0, b""
    at, size = 33, len(view)
    while at + 8 <= size and kind != b"IEND":
        length, kind = be32(view, at), bytes(view[at + 4 : at + 8])
        if kind == b"eXIf" and orientation == 1:
            orientation = exif_orientation(view[at + 8 : at + 8 + length]) or 1
        elif kind == b"sRGB" and length == 1 and view[at + 8] < 4:
            gamma = _SRGB
        elif kind == b"gAMA" and length == 4 and not gamma:
            gamma = be32(view, at + 8)
        elif kind == b"sBIT" and length == channels and not significant:
            each = bytes(view[at + 8 : at + 8 + length])
            significant = max(each, default=0) if all(0 < value <= bits for value in each) else 0
        at += 12 + length
    if kind != b"IEND":
        raise CodecError("truncated PNG: it ends before its last chunk")
    dtype = "uint16" if bits == 16 else "uint8"
    return ImageInfo(height, width, channels, dtype, "png", orientation, bits, color, gamma, significant=significant)
