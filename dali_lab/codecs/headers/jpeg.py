"""Headers of JPEG pictures."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.exif import EXIF_HEADER, exif_orientation
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.numbers import be16


def read(view: Any) -> ImageInfo:
    """What a JPEG says before its first scan: the frame header, EXIF in APP1 and Adobe's APP14.

    The walk over the markers passes over what it does not understand, as decoders do.
    """
    at = 2
    size = len(view)
    frame = None
    orientation = 0
    transform = -1
    whole = False
    while at + 2 <= size:
        if view[at] != 0xFF:
            at += 1
            continue
        marker = view[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker == 0 or marker == 1 or 0xD0 <= marker <= 0xD8:
            at += 2
            continue
        if marker == 0xDA or marker == 0xD9:
            whole = True
            break
        if at + 4 > size:
            break
        length = (view[at + 2] << 8) | view[at + 3]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            if frame is None:
                frame = (be16(view, at + 5), be16(view, at + 7), view[at + 9], view[at + 4])
        elif marker == 0xE1 and not orientation:
            if bytes(view[at + 4 : at + 10]) == EXIF_HEADER:
                orientation = exif_orientation(view[at + 10 : at + 2 + length])
        elif marker == 0xEE and length >= 14 and bytes(view[at + 4 : at + 9]) == b"Adobe" and at + 15 < size:
            transform = view[at + 15]
        at += 2 + max(length, 2)
    if frame is None:
        raise CodecError("JPEG without a frame" if whole else "truncated JPEG: it ends before the size of the picture")
    height, width, channels, bits = frame
    if channels == 4:
        color = "ycck" if transform == 2 else "cmyk"
    else:
        color = "gray" if channels == 1 else "ycc"
    return ImageInfo(height, width, channels, "uint8" if bits <= 8 else "uint16", "jpeg", orientation or 1, bits, color)
