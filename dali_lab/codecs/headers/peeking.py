"""Reads size, channels and orientation of an encoded picture from its header, without decoding it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import bmp, jpeg, jpeg2000, png, pnm, tiff, webp
from dali_lab.codecs.headers.info import ImageInfo


def peek(data: Buffer) -> ImageInfo:
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
        info: ImageInfo = _parser(view)(view)
    except IndexError:
        raise CodecError(f"truncated header: {len(view)} bytes end before the size of the picture is known") from None
    if info.height <= 0 or info.width <= 0:
        raise CodecError(f"bad {_TITLES[info.format]} header: size {info.height} x {info.width}")
    return info


def peek_shapes(
    buffers: Sequence[Buffer], *, adjust_orientation: bool = True, channels: int | None = None
) -> npt.NDArray[np.int64]:
    """Height, width and channels of each picture, as :func:`decode` would return them.

    Parameters
    ----------
    buffers
        Encoded pictures.
    adjust_orientation
        Whether height and width are those after the EXIF orientation is applied.
    channels
        Number of channels to report in place of the file's own.

    Returns
    -------
    numpy.ndarray
        ``int64[N, 3]``; a row of zeros stands for a picture whose header cannot be read
        (decoding it says why).
    """
    shapes = np.zeros((len(buffers), 3), np.int64)
    rows = []
    for data in buffers:
        try:
            info = peek(data)
        except CodecError:
            rows.append((0, 0, 0))
            continue
        height, width = (info.width, info.height) if adjust_orientation and info.orientation > 4 else info[:2]
        rows.append((height, width, info.channels if channels is None else channels))
    if rows:
        shapes[:] = rows
    return shapes


def title(name: str) -> str:
    """A format's name as people write it."""
    return _TITLES[name]


_TITLES = {
    "jpeg": "JPEG",
    "png": "PNG",
    "bmp": "BMP",
    "tiff": "TIFF",
    "webp": "WebP",
    "jpeg2000": "JPEG 2000",
    "pnm": "PNM",
}
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


def _parser(view: Any) -> Any:
    if len(view) >= 2:
        first = view[0]
        if first == 0xFF:
            if view[1] == 0xD8:
                return jpeg.read
            if bytes(view[:4]) == b"\xff\x4f\xff\x51":
                return jpeg2000.read_codestream
        head = bytes(view[:12])
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
        if first == 0x50 and 0x31 <= view[1] <= 0x36 and len(view) > 2 and view[2] in b" \t\r\n\v\f#":
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
