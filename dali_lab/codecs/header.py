"""What an encoded picture says about itself: its size, channels and orientation, read without decoding it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

#: Encoded bytes: ``bytes``, ``bytearray``, ``memoryview`` or a ``uint8`` array.
Buffer = Any


class CodecError(ValueError):
    """Bytes that cannot be decoded; the message is a plain reason, such as ``truncated JPEG``."""


class ImageInfo(NamedTuple):
    """What the header of a picture says.

    Attributes
    ----------
    height, width
        Size in pixels as stored, before its orientation is applied.
    channels
        Colour and alpha channels that the file holds; a palette counts as three.
    dtype
        ``uint8``, ``uint16``, ``int8``, ``int16``, ``uint32``, ``int32``, ``float32`` or ``float64``.
    format
        ``jpeg``, ``png``, ``bmp``, ``tiff``, ``webp``, ``jpeg2000`` or ``pnm``.
    orientation
        EXIF orientation from 1 (upright) to 8.
    bits
        Significant bits of a value, at most those of `dtype`.
    color
        ``gray``, ``inverse gray`` (TIFF with white as 0), ``rgb``, ``ycc``, ``palette``, ``cmyk`` or ``ycck``.
    """

    height: int
    width: int
    channels: int
    dtype: str
    format: str
    orientation: int = 1
    bits: int = 8
    color: str = "rgb"

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Height and width once the orientation is applied."""
        return (self.width, self.height) if self.orientation > 4 else (self.height, self.width)


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
_EXIF_HEADER = b"Exif\x00\x00"


def _parser(view: Any) -> Any:
    if len(view) >= 2:
        first = view[0]
        if first == 0xFF:
            if view[1] == 0xD8:
                return _jpeg
            if bytes(view[:4]) == b"\xff\x4f\xff\x51":
                return _codestream
        head = bytes(view[:12])
        if head[:8] == b"\x89PNG\r\n\x1a\n":
            return _png
        if head[:2] == b"BM":
            return _bmp
        if head[:4] in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"):
            return _tiff
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _webp
        if head == b"\x00\x00\x00\x0cjP  \r\n\x87\n":
            return _jp2
        if first == 0x50 and 0x31 <= view[1] <= 0x36 and len(view) > 2 and view[2] in b" \t\r\n\v\f#":
            return _pnm
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


def _be16(view: Any, at: int) -> int:
    return (view[at] << 8) | view[at + 1]  # type: ignore[no-any-return]


def _be32(view: Any, at: int) -> int:
    return (view[at] << 24) | (view[at + 1] << 16) | (view[at + 2] << 8) | view[at + 3]  # type: ignore[no-any-return]


def _le16(view: Any, at: int) -> int:
    return view[at] | (view[at + 1] << 8)  # type: ignore[no-any-return]


def _le32(view: Any, at: int) -> int:
    return view[at] | (view[at + 1] << 8) | (view[at + 2] << 16) | (view[at + 3] << 24)  # type: ignore[no-any-return]


def _jpeg(view: Any) -> ImageInfo:
    """Walk the markers up to the start of the scan: the frame header, EXIF in APP1 and Adobe's APP14."""
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
                frame = (_be16(view, at + 5), _be16(view, at + 7), view[at + 9], view[at + 4])
        elif marker == 0xE1 and not orientation:
            if bytes(view[at + 4 : at + 10]) == _EXIF_HEADER:
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


def exif_orientation(block: Any) -> int:
    """Orientation from an EXIF block (a small TIFF file), 1 where there is none or it makes no sense."""
    size = len(block)
    if size < 8:
        return 1
    if block[0] == 0x49:
        read16, read32 = _le16, _le32
    elif block[0] == 0x4D:
        read16, read32 = _be16, _be32
    else:
        return 1
    at = read32(block, 4)
    if at + 2 > size:
        return 1
    for entry in range(at + 2, min(at + 2 + 12 * read16(block, at), size - 11), 12):
        if read16(block, entry) == 0x112:
            value = read16(block, entry + 8)
            return value if 1 <= value <= 8 else 1
    return 1


_PNG_CHANNELS = {0: (1, "gray"), 2: (3, "rgb"), 3: (3, "palette"), 4: (2, "gray"), 6: (4, "rgb")}


def _png(view: Any) -> ImageInfo:
    if bytes(view[12:16]) != b"IHDR":
        raise CodecError("truncated PNG" if len(view) < 16 else "bad PNG header: the first chunk is not IHDR")
    width, height, bits = _be32(view, 16), _be32(view, 20), view[24]
    if view[25] not in _PNG_CHANNELS or bits not in (1, 2, 4, 8, 16):
        raise CodecError(f"bad PNG header: colour type {view[25]} with {bits} bits")
    channels, color = _PNG_CHANNELS[view[25]]
    orientation, kind = 1, b""
    at, size = 33, len(view)
    while at + 8 <= size and kind != b"IEND":
        length, kind = _be32(view, at), bytes(view[at + 4 : at + 8])
        if kind == b"eXIf" and orientation == 1:
            orientation = exif_orientation(view[at + 8 : at + 8 + length])
        at += 12 + length
    if kind != b"IEND":
        raise CodecError("truncated PNG: it ends before its last chunk")
    return ImageInfo(height, width, channels, "uint16" if bits == 16 else "uint8", "png", orientation, bits, color)


def _bmp(view: Any) -> ImageInfo:
    header = _le32(view, 14)
    if header == 12:
        width, height, bits = _le16(view, 18), _le16(view, 20), _le16(view, 24)
    elif header >= 40:
        width, height, bits = _signed(_le32(view, 18)), abs(_signed(_le32(view, 22))), _le16(view, 28)
    else:
        raise CodecError(f"bad BMP header: {header} bytes long")
    if bits not in (1, 2, 4, 8, 16, 24, 32):
        raise CodecError(f"bad BMP header: {bits} bits per pixel")
    channels, color = 3, "rgb"
    if bits <= 8:
        # A palette of greys counts as a grey picture.
        entry = 3 if header == 12 else 4
        entries = (_le32(view, 46) if header >= 40 else 0) or 1 << bits
        table = bytes(view[14 + header : 14 + header + entry * min(entries, 256)])
        gray = table[0::entry] == table[1::entry] == table[2::entry]
        channels, color = (1, "gray") if gray else (3, "palette")
    return ImageInfo(height, width, channels, "uint8", "bmp", 1, 8, color)


def bmp_length(data: Buffer, info: ImageInfo) -> int:
    """Bytes that a BMP with this header must have for all its rows; 0 where they are compressed."""
    view = memoryview(data).cast("B")
    header = _le32(view, 14)
    if header >= 40 and _le32(view, 30) not in (0, 3):
        return 0
    row = (info.width * _le16(view, 24 if header == 12 else 28) + 31) // 32 * 4
    return _le32(view, 10) + row * info.height


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


_TIFF_DTYPES = {
    (1, 8): "uint8",
    (1, 16): "uint16",
    (1, 32): "uint32",
    (2, 8): "int8",
    (2, 16): "int16",
    (2, 32): "int32",
    (3, 32): "float32",
    (3, 64): "float64",
}
_TIFF_COLORS = {0: "inverse gray", 1: "gray", 2: "rgb", 3: "palette", 5: "cmyk", 6: "ycc"}
_TIFF_FIELD_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}


def _tiff(view: Any) -> ImageInfo:
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
        if tag in _TIFF_TAGS and kind in _TIFF_FIELD_SIZES:
            values, size = number(entry + 4, word), _TIFF_FIELD_SIZES[kind]
            place = entry + 4 + word
            tags[tag] = number(place if values * size <= word else number(place, word), size)
    if 256 not in tags or 257 not in tags:
        raise CodecError("bad TIFF header: the first picture has no size")
    bits = tags.get(258, 1)
    color = _TIFF_COLORS.get(tags.get(262, 1), "rgb")
    dtype = _TIFF_DTYPES.get((tags.get(339, 1), max(8, bits)), "uint8")
    channels = 3 if color == "palette" else tags.get(277, 1)
    orientation = tags.get(274, 1)
    return ImageInfo(
        tags[257], tags[256], channels, dtype, "tiff", orientation if 1 <= orientation <= 8 else 1, bits, color
    )


_TIFF_TAGS = frozenset((256, 257, 258, 262, 274, 277, 339))


def _webp(view: Any) -> ImageInfo:
    kind = bytes(view[12:16])
    if kind == b"VP8 ":
        if bytes(view[23:26]) != b"\x9d\x01\x2a":
            raise CodecError("truncated WebP" if len(view) < 26 else "bad WebP header: no key frame")
        return ImageInfo(_le16(view, 28) & 0x3FFF, _le16(view, 26) & 0x3FFF, 3, "uint8", "webp")
    if kind == b"VP8L":
        bits = _le32(view, 21)
        channels = 4 if bits >> 28 & 1 else 3
        return ImageInfo((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1, channels, "uint8", "webp")
    if kind != b"VP8X":
        raise CodecError(f"bad WebP header: unknown chunk {kind!r}")
    flags = view[20]
    width = 1 + (_le32(view, 24) & 0xFFFFFF)
    height = 1 + (_le16(view, 27) | view[29] << 16)
    orientation = 1
    if flags & 8:
        at, size = 12, len(view)
        while at + 8 <= size:
            length = _le32(view, at + 4)
            if bytes(view[at : at + 4]) == b"EXIF":
                block = view[at + 8 : at + 8 + length]
                orientation = exif_orientation(block[6:] if bytes(block[:6]) == _EXIF_HEADER else block)
                break
            at += 8 + length + (length & 1)
    return ImageInfo(height, width, 4 if flags & 16 else 3, "uint8", "webp", orientation)


def _jp2(view: Any) -> ImageInfo:
    """Walk the boxes to the codestream, whose own header is what a decoder allocates for."""
    at, size = 12, len(view)
    color = None
    while at + 8 <= size:
        length, kind, body = _be32(view, at), bytes(view[at + 4 : at + 8]), at + 8
        if length == 1:
            length, body = int.from_bytes(view[at + 8 : at + 16], "big"), at + 16
        if kind == b"jp2h":
            at = body
            continue
        if kind == b"colr" and view[body] == 1 and color is None:
            color = {16: "rgb", 17: "gray", 18: "ycc"}.get(_be32(view, body + 3))
        if kind == b"jp2c":
            info = _codestream(view[body:])
            return info if color is None or info.channels < 3 else info._replace(color=color)
        if length < 8:
            break
        at += length
    raise CodecError("truncated JPEG 2000: it ends before the codestream")


def _codestream(view: Any) -> ImageInfo:
    if bytes(view[:4]) != b"\xff\x4f\xff\x51":
        raise CodecError("bad JPEG 2000 header: the codestream does not start with its size")
    width, height = _be32(view, 8) - _be32(view, 16), _be32(view, 12) - _be32(view, 20)
    channels, depth = _be16(view, 40), view[42]
    bits = (depth & 0x7F) + 1
    dtype = ("int" if depth & 0x80 else "uint") + ("8" if bits <= 8 else "16" if bits <= 16 else "32")
    return ImageInfo(height, width, channels, dtype, "jpeg2000", 1, bits, "gray" if channels < 3 else "rgb")


def pnm_header(view: Any) -> tuple[int, int, int, int, int]:
    """Kind (1 to 6), width, height, largest value and the place where the pixels start, of a PNM file."""
    kind = view[1] - 0x30
    wanted = 2 if kind in (1, 4) else 3
    numbers: list[int] = []
    at = 2
    while len(numbers) < wanted:
        byte = view[at]
        if byte == 0x23:
            while view[at] not in b"\r\n":
                at += 1
        elif byte in b" \t\r\n\v\f":
            at += 1
        elif 0x30 <= byte <= 0x39:
            value = 0
            while at < len(view) and 0x30 <= view[at] <= 0x39:
                value = value * 10 + view[at] - 0x30
                at += 1
                if value > 1 << 31:
                    raise CodecError("bad PNM header: a number is too large")
            numbers.append(value)
        else:
            raise CodecError("bad PNM header: a number was expected")
    width, height = numbers[0], numbers[1]
    largest = numbers[2] if wanted == 3 else 1
    if not 1 <= largest <= 65535:
        raise CodecError(f"bad PNM header: largest value {largest}, not from 1 to 65535")
    # One white space ends the header.
    return kind, width, height, largest, at + 1


def _pnm(view: Any) -> ImageInfo:
    kind, width, height, largest, _ = pnm_header(view)
    gray = kind not in (3, 6)
    dtype, bits = ("uint16", 16) if largest > 255 else ("uint8", 8)
    return ImageInfo(height, width, 1 if gray else 3, dtype, "pnm", 1, bits, "gray" if gray else "rgb")
