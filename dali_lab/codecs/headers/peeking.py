"""Reads the header of one encoded picture, without decoding it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import bmp, jpeg, jpeg2000, png, pnm, tiff, webp
from dali_lab.kernels.cpu.header_table import BMP, PNG, TITLES, Header


def peek(data: Buffer) -> Header:
    """Read a picture's header.

    Parameters
    ----------
    data
        The encoded picture, or its beginning as far as the header goes.

    Raises
    ------
    CodecError
        If the bytes are no picture of a known format, or the header is cut off or makes no sense.
    """
    view = data if type(data) is bytes else memoryview(data).cast("B")
    try:
        header = _parser(view)(view)
    except (IndexError, struct.error):
        raise CodecError(f"truncated header: {len(view)} bytes end before the size of the picture is known") from None
    if header.height <= 0 or header.width <= 0 or max(header) >> 63:
        raise CodecError(f"bad {TITLES[header.format]} header: size {header.height} x {header.width}")
    return header


def refuse_damage(data: Buffer, header: Header) -> None:
    """Look beyond the header of a whole picture that is to be decoded for what decoders do not notice.

    Raises
    ------
    CodecError
        If its end is missing, or decoding it would take far too long.
    """
    if header.progressive:
        jpeg.refuse_many_scans(data)
    elif header.format == PNG and b"IEND" in bytes(data[-7:]):
        raise CodecError("truncated PNG: its last chunk is cut off")
    elif header.format == BMP and header.channels == 1 and len(data) < (wanted := bmp.least_length(data, header)):
        # nvImageCodec itself notices truncated pictures in colour.
        raise CodecError(f"truncated BMP: {len(data)} of {wanted} bytes")


_STRANGERS = {
    b"GIF8": "GIF",
    b"%PDF": "PDF",
    b"\x1a\x45\xdf\xa3": "Matroska or WebM video",
    b"8BPS": "Photoshop",
    b"PK\x03\x04": "ZIP",
    b"\x1f\x8b": "gzip",
    b"\x93NUMPY": "NumPy array",
    b"P7\n": "PAM",
    b"v/1\x01": "OpenEXR",
}


def _parser(view: Any) -> Callable[[Any], Header]:
    head = bytes(view[:12])
    if head[:2] == b"\xff\xd8":
        return jpeg.read
    if head[:4] == b"\xff\x4f\xff\x51":
        return jpeg2000.read_codestream
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        return png.read
    if head[:2] == b"BM":
        return bmp.read
    if head[:4] in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"):
        return tiff.read
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return webp.read
    if head == b"\x00\x00\x00\x0cjP  \r\n\x87\n":
        return jpeg2000.read
    if len(head) > 2 and head[0] == 0x50 and 0x31 <= head[1] <= 0x36 and head[2] in b" \t\r\n\v\f#":
        return pnm.read
    raise CodecError(_not_an_image(bytes(view[:16])))


def _not_an_image(head: bytes) -> str:
    if not head:
        return "not an image: it is empty"
    for magic, name in _STRANGERS.items():
        if head.startswith(magic):
            return f"not an image that can be decoded: it looks like {name}"
    if head[4:8] == b"ftyp":
        brand = head[8:12].decode("latin-1")
        return f"not an image that can be decoded: it looks like a video, HEIF or AVIF file (brand {brand!r})"
    if head.lstrip().startswith((b"<", b"\xef\xbb\xbf<")):
        return "not an image: it looks like HTML, XML or SVG text"
    return f"not an image: it starts with {head[:8]!r}"
