"""Headers of TIFF pictures, BigTIFF too."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.header_table import CMYK, GRAY, INVERSE_GRAY, PALETTE, RGB, TIFF, YCC, Header

_COLORS = {0: INVERSE_GRAY, 1: GRAY, 2: RGB, 3: PALETTE, 5: CMYK, 6: YCC}
_FIELD_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}
_LAYOUT = frozenset((256, 257, 258, 262, 277, 284))
_TAGS = _LAYOUT | {274}


def read(view: Any) -> Header:
    """Read the header of a TIFF file."""
    order = "little" if view[0] == 0x49 else "big"
    big = (view[2] if order == "little" else view[3]) == 43

    def number(at: int, size: int) -> int:
        if at + size > len(view):
            raise IndexError
        return int.from_bytes(view[at : at + size], order)  # type: ignore[arg-type]

    at = number(8, 8) if big else number(4, 4)
    count, first, stride, word = (number(at, 8), at + 8, 20, 8) if big else (number(at, 2), at + 2, 12, 4)
    tags: dict[int, int] = {}
    for entry in range(first, first + stride * min(count, 4096), stride):
        tag, kind = number(entry, 2), number(entry + 2, 2)
        if tag in tags or (tag in _LAYOUT and kind not in _FIELD_SIZES):
            # Libraries disagree about which of two values counts, and some write beyond the smaller picture.
            raise CodecError(f"bad TIFF header: tag {tag} {'is there twice' if tag in tags else 'is no whole number'}")
        if tag in _TAGS and kind in _FIELD_SIZES:
            values, size = number(entry + 4, word), _FIELD_SIZES[kind]
            place = entry + 4 + word
            tags[tag] = number(place if values * size <= word else number(place, word), size)
    if 256 not in tags or 257 not in tags:
        raise CodecError("bad TIFF header: the first picture has no size")
    color = _COLORS.get(tags.get(262, 1), RGB)
    channels = 3 if color == PALETTE else tags.get(277, 1)
    orientation = tags.get(274, 1)
    return Header(
        TIFF,
        channels,
        tags.get(258, 1),
        orientation if 1 <= orientation <= 8 else 1,
        color,
        planar=int(channels > 1 and tags.get(284, 1) == 2),
        height=tags[257],
        width=tags[256],
    )
