"""EXIF orientation of a picture."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

EXIF_HEADER = b"Exif\x00\x00"
"""First bytes of an EXIF block in a JPEG."""


def exif_orientation(block: Any) -> int:
    """Orientation from an EXIF block (a small TIFF file), 1 where it makes no sense, and 0 where there is none."""
    size = len(block)
    order = {0x49: "<", 0x4D: ">"}.get(block[0]) if size >= 8 else None
    if order is None:
        return 0
    (at,) = unpack_from(order + "I", block, 4)
    if at + 2 > size:
        return 0
    (entries,) = unpack_from(order + "H", block, at)
    for entry in range(at + 2, min(at + 2 + 12 * entries, size - 11), 12):
        tag, _, _, value = unpack_from(order + "2HIH", block, entry)
        if tag == 0x112:
            return value if 1 <= value <= 8 else 1
    return 0
