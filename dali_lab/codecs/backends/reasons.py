"""Why a picture could not be decoded, where the library that failed does not say."""

from __future__ import annotations

from dali_lab.codecs.backends import simplejpeg
from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import Header
from dali_lab.kernels.cpu.header_table import JPEG, TITLES

#: Bytes before the end in which the end marker of a JPEG is looked for: some cameras append padding.
_END_OF_JPEG = 1024


def is_cut_off(data: Buffer, header: Header) -> bool:
    """Whether a JPEG has no end."""
    return header.format == JPEG and b"\xff\xd9" not in bytes(data[-_END_OF_JPEG:])


def ends_within_scan(data: Buffer, header: Header) -> bool:
    """Whether a baseline JPEG that could not be decoded ends where its picture goes on, and not in zeros."""
    return is_cut_off(data, header) and not header.progressive and any(bytes(data[-16:]))


def reason(data: Buffer, header: Header) -> CodecError:
    """The reason why a JPEG, TIFF or BMP cannot be decoded."""
    if header.format != JPEG:
        return CodecError(f"damaged or unsupported {TITLES[header.format]}")
    if header.bits != 8:
        return CodecError(f"JPEG with {header.bits} bits is not supported")
    if is_cut_off(data, header):
        return CodecError("truncated JPEG")
    complaint = simplejpeg.complaint(data)
    return CodecError(f"damaged JPEG: {complaint}" if complaint else "damaged JPEG")
