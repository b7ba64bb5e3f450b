"""Headers of JPEG 2000 pictures: files and bare codestreams."""

from __future__ import annotations

from struct import unpack_from
from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.header_table import JPEG2000, Header


def read(view: Any) -> Header:
    """Walk the boxes to the codestream: a decoder allocates by its header, not by the boxes."""
    at, size = 12, len(view)
    while at + 8 <= size:
        (length, kind), body = unpack_from(">I4s", view, at), at + 8
        if length == 1:
            length, body = int.from_bytes(view[at + 8 : at + 16], "big"), at + 16
        if kind == b"jp2h":
            at = body
            continue
        if kind == b"jp2c":
            return read_codestream(view[body:])
        if length < 8:
            break
        at += length
    raise CodecError("truncated JPEG 2000: it ends before the codestream")


def read_codestream(view: Any) -> Header:
    """Read the header of a bare codestream, without boxes around it."""
    if bytes(view[:4]) != b"\xff\x4f\xff\x51":
        raise CodecError("bad JPEG 2000 header: the codestream does not start with its size")
    right, bottom, left, top = unpack_from(">4I", view, 8)
    # The steps of the first channel; colours may have larger ones, and are then as large all the same.
    channels, depth, across, down = unpack_from(">H3B", view, 40)
    width = -(-right // max(across, 1)) - -(-left // max(across, 1))
    height = -(-bottom // max(down, 1)) - -(-top // max(down, 1))
    return Header(JPEG2000, channels, (depth & 0x7F) + 1, height=height, width=width)
