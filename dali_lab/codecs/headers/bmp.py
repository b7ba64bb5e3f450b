"""Headers of BMP pictures."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.numbers import le16, le32


def read(view: Any) -> ImageInfo:
    """Read the header of a BMP file."""
    header = le32(view, 14)
    if header == 12:
        width, height, bits = le16(view, 18), le16(view, 20), le16(view, 24)
    elif header >= 40:
        width, height, bits = _signed(le32(view, 18)), abs(_signed(le32(view, 22))), le16(view, 28)
    else:
        raise CodecError(f"bad BMP header: {header} bytes long")
    if bits not in (1, 2, 4, 8, 16, 24, 32):
        raise CodecError(f"bad BMP header: {bits} bits per pixel")
    channels, color = 3, "rgb"
    if bits <= 8:
        # A palette of greys counts as a grey picture.
        entry = 3 if header == 12 else 4
        entries = (le32(view, 46) if header >= 40 else 0) or 1 << bits
        table = bytes(view[14 + header : 14 + header + entry * min(entries, 256)])
        gray = table[0::entry] == table[1::entry] == table[2::entry]
        channels, color = (1, "gray") if gray else (3, "palette")
    return ImageInfo(height, width, channels, "uint8", "bmp", 1, 8, color)


def bmp_length(data: Buffer, info: ImageInfo) -> int:
    """Bytes that a BMP with this header must have for all its rows; 0 where they are compressed."""
    view = memoryview(data).cast("B")
    header = le32(view, 14)
    if header >= 40 and le32(view, 30) not in (0, 3):
        return 0
    row = (info.width * le16(view, 24 if header == 12 else 28) + 31) // 32 * 4
    return le32(view, 10) + row * info.height


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def has_fourth_channel(data: Buffer) -> bool:
    """Whether a file is a BMP of 32 bits, whose last 8 hold alpha in some files and mean nothing in most."""
    view = memoryview(data).cast("B")
    return len(view) >= 30 and bytes(view[:2]) == b"BM" and le32(view, 14) >= 40 and le16(view, 28) == 32
