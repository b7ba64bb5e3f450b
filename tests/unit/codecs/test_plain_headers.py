"""Headers read for a whole chunk equal those of ``peek``, which also reads the unusual ones."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import Header, peek, read_headers
from dali_lab.codecs.headers.jpeg_chunk import read_plain
from dali_lab.kernels.cpu.header_table import COLUMNS
from dali_lab.schema.samples import picture
from tests.unit.codecs.decoding import batch

Array = np.ndarray[Any, Any]


def jpeg(height: int, width: int, channels: int = 3, **flags: int) -> bytes:
    parameters = [value for name, flag in flags.items() for value in (getattr(cv2, f"IMWRITE_JPEG_{name}"), flag)]
    return bytes(cv2.imencode(".jpg", picture(height, width, channels), parameters)[1])


def read(files: list[bytes]) -> list[Header]:
    data = batch(files)
    table = np.zeros((len(data), COLUMNS), np.int64)
    read_plain(data.addresses, data.shapes[:, 0], table)
    return [Header(*row) for row in table.tolist()]


def test_plain_pictures() -> None:
    files = [jpeg(30, 41), jpeg(7, 9, 1), jpeg(50, 20, RST_INTERVAL=2)]
    assert read(files) == [peek(data) for data in files]


def test_what_is_left_to_peek() -> None:
    plain = jpeg(30, 41)
    exif = plain[:2] + b"\xff\xe1\x00\x08Exif\x00\x00" + plain[2:]
    four = plain.replace(b"\x08\x00\x1e\x00\x29\x03", b"\x08\x00\x1e\x00\x29\x04")
    empty = plain.replace(b"\x08\x00\x1e\x00\x29\x03", b"\x08\x00\x00\x00\x29\x03")
    png = bytes(cv2.imencode(".png", picture(5, 5))[1])
    stray = plain[:2] + b"\x00" + plain[2:]
    progressive = jpeg(64, 64, PROGRESSIVE=1)
    for row in read([exif, progressive, four, empty, png, stray, b"", b"\xff\xd8", b"\xff" * 100]):
        assert not any(row)


def test_cut_anywhere() -> None:
    data = jpeg(30, 41)
    whole = data.index(b"\xff\xda")
    for size, row in enumerate(read([data[:size] for size in range(whole + 8)])):
        assert not any(row) or (row == peek(data)._replace(unended=1) and size >= whole + 4)


def test_read_headers_agrees_with_peek() -> None:
    plain = jpeg(30, 41)
    files = [plain, b"junk", plain[:2] + b"\x00" + plain[2:], bytes(cv2.imencode(".png", picture(5, 6))[1])]
    found = read_headers(batch(files))
    for index, data in enumerate(files):
        if index in found.problems:
            with pytest.raises(CodecError, match=str(found.problems[index])[:12]):
                peek(data)
        else:
            assert found[index][:3] == peek(data)[:3]
            assert found[index].displayed_size == peek(data).displayed_size
