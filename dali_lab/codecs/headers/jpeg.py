"""Headers of JPEG pictures."""

from __future__ import annotations

import os
from struct import unpack_from
from typing import Any

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers.exif import EXIF_HEADER, exif_orientation
from dali_lab.kernels.cpu.header_table import JPEG, Header

#: Scans that a progressive JPEG may have: a small file with very many takes minutes to decode. Both variables are
#: NVIDIA DALI's, the first that of its versions with nvImageCodec.
MAX_SCANS = int(os.environ.get("NVIMGCODEC_MAX_JPEG_SCANS") or os.environ.get("DALI_MAX_JPEG_SCANS") or 256)
_PROGRESSIVE = (0xC2, 0xC6, 0xCA, 0xCE)
_SCAN = b"\xff\xda"


def read(view: Any) -> Header:
    """Read the segments before the first scan: the frame header and EXIF in APP1.

    Of several EXIF blocks the first with an orientation counts. Unknown markers are skipped, as decoders do.
    """
    at = 2
    size = len(view)
    frame = None
    orientation = 0
    progressive = whole = False
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
                frame = unpack_from(">B2HB", view, at + 4)
                progressive = marker in _PROGRESSIVE
        elif marker == 0xE1 and not orientation:
            if bytes(view[at + 4 : at + 10]) == EXIF_HEADER:
                orientation = exif_orientation(view[at + 10 : at + 2 + length])
        at += 2 + max(length, 2)
    if frame is None:
        raise CodecError("JPEG without a frame" if whole else "truncated JPEG: it ends before the size of the picture")
    bits, height, width, channels = frame
    unended = bytes(view[-2:]) != b"\xff\xd9"
    return Header(
        JPEG, channels, bits, orientation or 1, height=height, width=width, progressive=int(progressive),
        unended=int(unended),
    )  # fmt: skip


def with_one_exif(data: Buffer) -> Buffer:
    """The picture with no EXIF block but the one that counts: nvImageCodec mixes several, and spoils memory by it."""
    view = bytes(data)
    if view.count(EXIF_HEADER) < 2:
        return data
    kept, at, found = [view[:2]], 2, False
    while at + 4 <= len(view) and view[at] == 0xFF and view[at + 1] not in (0xD9, 0xDA):
        end = at + 2 + max(int.from_bytes(view[at + 2 : at + 4], "big"), 2)
        block = view[at:end]
        if block[1] == 0xE1 and block[4:10] == EXIF_HEADER:
            counts = not found and exif_orientation(block[10:]) != 0
            found = found or counts
        else:
            counts = True
        if counts:
            kept.append(block)
        at = end
    return b"".join((*kept, view[at:]))


def refuse_many_scans(data: Buffer) -> None:
    """Raise a `CodecError` for a progressive JPEG with more scans than :data:`MAX_SCANS`."""
    scans = bytes(data).count(_SCAN)
    if scans > MAX_SCANS:
        raise CodecError(
            f"{scans} scans are more than the limit of {MAX_SCANS} for progressive JPEG"
            " (environment variable NVIMGCODEC_MAX_JPEG_SCANS). Failed to decode sample"
        )
