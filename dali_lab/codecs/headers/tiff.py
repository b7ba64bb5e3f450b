"""Headers of TIFF pictures, BigTIFF too."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.info import ImageInfo

_DTYPES = {
    (1, 8): "uint8",
    (1, 16): "uint16",
    (1, 32): "uint32",
    (2, 8): "int8",
    (2, 16): "int16",
    (2, 32): "int32",
    (3, 32): "float32",
    (3, 64): "float64",
}
_COLORS = {0: "inverse gray", 1: "gray", 2: "rgb", 3: "palette", 5: "cmyk", 6: "ycc"}
_FIELD_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}
_TAGS = frozenset((256, 257, 258, 262, 274, 277, 284, 339))


def read(view: Any) -> ImageInfo:
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
        if tag in _TAGS and kind in _FIELD_SIZES:
            values, size = number(entry + 4, word), _FIELD_SIZES[kind]
            place = entry + 4 + word
            tags[tag] = number(place if values * size <= word else number(place, word), size)
    if 256 not in tags or 257 not in tags:
        raise CodecError("bad TIFF header: the first picture has no size")
    bits = tags.get(258, 1)
    color = _COLORS.get(tags.get(262, 1), "rgb")
    dtype = _DTYPES.get((tags.get(339, 1), max(8, bits)), "uint8")
    channels = 3 if color == "palette" else tags.get(277, 1)
    orientation = tags.get(274, 1)
    if not 1 <= orientation <= 8:
        orientation = 1
    planar = channels > 1 and tags.get(284, 1) == 2
    return ImageInfo(tags[257], tags[256], channels, dtype, "tiff", orientation, bits, color, planar=planar)
