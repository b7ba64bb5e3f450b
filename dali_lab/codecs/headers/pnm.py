"""Headers of PNM pictures: PBM, PGM and PPM, as text or binary."""

from __future__ import annotations

from typing import Any

from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.header_table import PNM, Header


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


def read(view: Any) -> Header:
    """Read the header of a PNM file."""
    kind, width, height, largest, _ = pnm_header(view)
    return Header(PNM, 3 if kind in (3, 6) else 1, 16 if largest > 255 else 8, height=height, width=width)
