"""Headers of JPEG 2000 pictures: files and bare codestreams."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.numbers import be16, be32


def read(view: Any) -> ImageInfo:
    """Walk the boxes to the codestream: a decoder allocates by its header, not by the boxes."""
    at, size = 12, len(view)
    color = None
    while at + 8 <= size:
        length, kind, body = be32(view, at), bytes(view[at + 4 : at + 8]), at + 8
        if length == 1:
            length, body = int.from_bytes(view[at + 8 : at + 16], "big"), at + 16
        if kind == b"jp2h":
            at = body
            continue
        if kind == b"colr" and view[body] == 1 and color is None:
            color = {16: "rgb", 17: "gray", 18: "ycc"}.get(be32(view, body + 3))
        if kind == b"jp2c":
            info = read_codestream(view[body:])
            return info if color is None or info.channels < 3 else info._replace(color=color)
        if length < 8:
            break
        at += length
    raise CodecError("truncated JPEG 2000: it ends before the codestream")


def read_codestream(view: Any) -> ImageInfo:
    """Read the header of a bare codestream, without boxes around it."""
    if bytes(view[:4]) != b"\xff\x4f\xff\x51":
        raise CodecError("bad JPEG 2000 header: the codestream does not start with its size")
    # The steps of the first channel; colours may have larger ones, and are then as large all the same.
    across, down = max(view[43], 1), max(view[44], 1)
    width = -(-be32(view, 8) // across) - -(-be32(view, 16) // across)
    height = -(-be32(view, 12) // down) - -(-be32(view, 20) // down)
    channels, depth = be16(view, 40), view[42]
    bits = (depth & 0x7F) + 1
    dtype = ("int" if depth & 0x80 else "uint") + ("8" if bits <= 8 else "16" if bits <= 16 else "32")
    return ImageInfo(height, width, channels, dtype, "jpeg2000", 1, bits, "gray" if channels < 3 else "rgb")
