"""EXIF orientation of a picture."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.headers.numbers import be16, be32, le16, le32

EXIF_HEADER = b"Exif\x00\x00"
"""First bytes of an EXIF block in a JPEG."""


def exif_orientation(block: Any) -> int:
    """Orientation from an EXIF block (a small TIFF file), 1 where it makes no sense, and 0 where there is none."""
    size = len(block)
    if size < 8:
        return 0
    if block[0] == 0x49:
        read16, read32 = le16, le32
    elif block[0] == 0x4D:
        read16, read32 = be16, be32
    else:
        return 0
    at = read32(block, 4)
    if at + 2 > size:
        return 0
    for entry in range(at + 2, min(at + 2 + 12 * read16(block, at), size - 11), 12):
        if read16(block, entry) == 0x112:
            value = read16(block, entry + 8)
            return value if 1 <= value <= 8 else 1
    return 0
