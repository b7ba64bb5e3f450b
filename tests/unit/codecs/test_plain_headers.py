"""Headers read for a whole chunk equal those of ``peek``, which also reads the unusual ones."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.codecs import image
from dali_lab.codecs.headers import read_headers
from dali_lab.codecs.headers.jpeg_chunk import read_plain
from dali_lab.schema.samples import picture

Array = np.ndarray[Any, Any]


def jpeg(height: int, width: int, channels: int = 3, **flags: int) -> bytes:
    parameters = [value for name, flag in flags.items() for value in (getattr(cv2, f"IMWRITE_JPEG_{name}"), flag)]
    return bytes(cv2.imencode(".jpg", picture(height, width, channels), parameters)[1])


def read(files: list[bytes]) -> list[Any]:
    arrays = [np.frombuffer(data, np.uint8) for data in files]
    addresses = np.array([array.ctypes.data for array in arrays], np.int64)
    return list(read_plain(addresses, np.array([array.size for array in arrays], np.int64)).tolist())


def test_plain_pictures() -> None:
    files = [jpeg(30, 41), jpeg(7, 9, 1), jpeg(50, 20, RST_INTERVAL=2)]
    for row, data in zip(read(files), files, strict=True):
        info = image.peek(data)
        assert row == [info.height, info.width, info.channels, 1]


def test_what_is_left_to_peek() -> None:
    plain = jpeg(30, 41)
    exif = plain[:2] + b"\xff\xe1\x00\x08Exif\x00\x00" + plain[2:]
    four = plain.replace(b"\x08\x00\x1e\x00\x29\x03", b"\x08\x00\x1e\x00\x29\x04")
    empty = plain.replace(b"\x08\x00\x1e\x00\x29\x03", b"\x08\x00\x00\x00\x29\x03")
    png = bytes(cv2.imencode(".png", picture(5, 5))[1])
    stray = plain[:2] + b"\x00" + plain[2:]
    progressive = jpeg(64, 64, PROGRESSIVE=1)
    for row in read([exif, progressive, four, empty, png, stray, b"", b"\xff\xd8", b"\xff" * 100]):
        assert row[3] == 0


def test_cut_anywhere() -> None:
    data = jpeg(30, 41)
    whole = data.index(b"\xff\xda")
    for size, row in enumerate(read([data[:size] for size in range(whole + 8)])):
        assert row[3] == 0 or (row[:3] == [30, 41, 3] and size >= whole + 4)


def test_read_headers_agrees_with_peek() -> None:
    plain = jpeg(30, 41)
    files = [plain, b"junk", plain[:2] + b"\x00" + plain[2:], bytes(cv2.imencode(".png", picture(5, 6))[1])]
    found = read_headers(*table_of(files), files.__getitem__)
    for info, data in zip(found, files, strict=True):
        if isinstance(info, image.CodecError):
            with pytest.raises(image.CodecError, match=str(info)[:12]):
                image.peek(data)
        else:
            assert info == image.peek(data)


def table_of(files: list[bytes]) -> tuple[Array, Array]:
    """Addresses and sizes of what somebody else keeps alive."""
    arrays = [np.frombuffer(data, np.uint8) for data in files]
    return np.array([a.ctypes.data for a in arrays], np.int64), np.array([a.size for a in arrays], np.int64)
