"""Headers of BMP pictures."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.header_table import BMP, GRAY, PALETTE, RGB, RGBX, Header


def read(view: Any) -> Header:
    """Read the header of a BMP file."""
    (size,) = unpack_from("<I", view, 14)
    if size == 12:
        width, height, _, bits = unpack_from("<4H", view, 18)
    elif size >= 40:
        width, height, _, bits = unpack_from("<2i2H", view, 18)
    else:
        raise CodecError(f"bad BMP header: {size} bytes long")
    if bits not in (1, 2, 4, 8, 16, 24, 32):
        raise CodecError(f"bad BMP header: {bits} bits per pixel")
    channels, color = 3, RGBX if bits == 32 and size >= 40 else RGB
    if bits <= 8:
        # A palette of greys counts as a grey picture.
        entry = 3 if size == 12 else 4
        entries = (unpack_from("<I", view, 46)[0] if size >= 40 else 0) or 1 << bits
        table = bytes(view[14 + size : 14 + size + entry * min(entries, 256)])
        gray = table[0::entry] == table[1::entry] == table[2::entry]
        channels, color = (1, GRAY) if gray else (3, PALETTE)
    return Header(BMP, channels, color=color, height=abs(height), width=width)


def least_length(view: Any, header: Header) -> int:
    """Bytes that a BMP with this header must have for all its rows; 0 where they are compressed."""
    start, size = unpack_from("<2I", view, 10)
    if size >= 40 and unpack_from("<I", view, 30)[0] not in (0, 3):
        return 0
    (bits,) = unpack_from("<H", view, 24 if size == 12 else 28)
    return start + (header.width * bits + 31) // 32 * 4 * header.height  # type: ignore[no-any-return]
