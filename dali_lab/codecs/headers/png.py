"""Headers of PNG pictures."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.exif import exif_orientation
from dali_lab.kernels.cpu.header_table import PNG, Header

#: Gamma of sRGB, as PNG writes it.
_SRGB = 45455
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}


def read(view: Any) -> Header:
    """Read the header of a PNG file."""
    if bytes(view[12:16]) != b"IHDR":
        raise CodecError("truncated PNG" if len(view) < 16 else "bad PNG header: the first chunk is not IHDR")
    width, height, bits, color = unpack_from(">2I2B", view, 16)
    if color not in _CHANNELS or bits not in (1, 2, 4, 8, 16):
        raise CodecError(f"bad PNG header: colour type {color} with {bits} bits")
    channels = _CHANNELS[color]
    orientation, gamma, significant, kind = 1, 0, 0, b""
    at, size = 33, len(view)
    while at + 8 <= size and kind != b"IEND":
        length, kind = unpack_from(">I4s", view, at)
        if kind == b"eXIf" and orientation == 1:
            orientation = exif_orientation(view[at + 8 : at + 8 + length]) or 1
        elif kind == b"sRGB" and length == 1 and view[at + 8] < 4:
            gamma = _SRGB
        elif kind == b"gAMA" and length == 4 and not gamma:
            (gamma,) = unpack_from(">I", view, at + 8)
        elif kind == b"sBIT" and length == channels and not significant:
            each = bytes(view[at + 8 : at + 8 + length])
            significant = max(each, default=0) if all(0 < value <= bits for value in each) else 0
        at += 12 + length
    if kind != b"IEND":
        raise CodecError("truncated PNG: it ends before its last chunk")
    return Header(PNG, channels, bits, orientation, gamma=gamma, height=height, width=width, significant=significant)
