"""Headers against NVIDIA DALI's ``peek_image_shape``."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import peek, read_headers
from dali_lab.kernels.cpu import header_table
from dali_lab.kernels.cpu.header_table import CMYK, PNG
from tests.programs import run_python
from tests.together import with_each
from tests.unit.codecs import oracle, pictures
from tests.unit.codecs.decoding import batch


@pytest.mark.parametrize("adjust", [True, False])
def test_sizes_equal_dali(adjust: bool) -> None:
    files = pictures.all_files()
    wanted = oracle.decoded(oracle.fn.peek_image_shape, list(files.values()), adjust_orientation=adjust)[0]
    sizes = read_headers(batch(list(files.values()))).sizes(adjust)
    for name, size, reference in zip(files, sizes, wanted, strict=True):
        np.testing.assert_array_equal([*size, 3], reference, err_msg=name)


def test_details() -> None:
    files = pictures.all_files()
    assert peek(files["jpeg orientation 6"]).orientation == 6
    assert peek(files["jpeg orientation 6"]).displayed_size == (pictures.WIDTH, pictures.HEIGHT)
    assert peek(files["jpeg ycck"]).channels == 4
    assert peek(files["tiff cmyk"]).color == CMYK
    assert peek(files["png gray 16"])[:3] == (PNG, 1, 16)
    assert peek(files["png palette"]).channels == 3
    gammas = [peek(files[f"png {name}"]).gamma for name in ("gamma", "gamma of screens", "srgb")]
    assert gammas == [100000, 45455, 45455]
    assert peek(files["jpeg2000 12 bits"]).bits == 12
    assert peek(files["webp alpha"]).channels == 4
    assert peek(files["tiff rgb float"]).bits == 32
    assert peek(files["bmp gray"]).channels == 1
    assert peek(files["pnm p6 16"]).bits == 16


@with_each(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"<html><body>404</body></html>", "HTML"),
        (b"GIF89a" + bytes(20), "GIF"),
        (b"%PDF-1.7 and so on", "PDF"),
        (b"\x00\x00\x00\x20ftypavif" + bytes(20), "AVIF"),
        (b"hello world", "starts with b'hello wo'"),
        (b"\xff\xd8", "truncated JPEG"),
        (b"\xff\xd8\xff\xd9", "JPEG without a frame"),
        (b"\x89PNG\r\n\x1a\n", "truncated PNG"),
        (b"P6 10 x", "number was expected"),
        (b"P6 10", "truncated header"),
        (b"P5 0 10 255\n", "size 10 x 0"),
        (b"P5 4 4 70000\n", "largest value"),
        (b"II*\x00\x08\x00\x00\x00\x00\x00", "no size"),
        (b"BM" + bytes(30), "BMP"),
    ],
)
def test_reasons(data: bytes, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        peek(data)


def test_every_truncation_is_a_codec_error_or_a_header() -> None:
    for name, data in pictures.all_files().items():
        for length in range(min(len(data), 700)):
            try:
                info = peek(data[:length])
            except CodecError:
                continue
            assert min(info.height, info.width) > 0, name


def test_a_header_is_a_row_of_the_table() -> None:
    """Whichever of a kernel and a parser reads it, and the names of the columns are those of the fields."""
    for place, name in enumerate(header_table.Header._fields):
        assert getattr(header_table, name.upper()) == place
    files = pictures.all_files()
    headers = read_headers(batch(list(files.values())))
    assert not headers.problems
    for index, (name, data) in enumerate(files.items()):
        read = headers[index]
        rows = {"turnable": read.turnable, "pixel": read.pixel, "start": read.start, "pitch": read.pitch}
        parsed = peek(data)._replace(**rows, entries=read.entries)
        assert read == parsed._replace(color=read.color if read.pixel else parsed.color), name


def test_unreadable_headers_are_rows_of_zeros() -> None:
    good = pictures.jpegs()["jpeg 420"]
    headers = read_headers(batch([good, b"nothing", good]))
    assert list(headers.problems) == [1]
    assert headers.table.any(axis=1).tolist() == [True, False, True]
    assert not len(read_headers(batch([])))


def test_backends_are_imported_on_use() -> None:
    program = (
        "import sys, dali_lab.codecs.decoding, dali_lab.codecs.audio\n"
        "heavy = {'nvidia.nvimgcodec', 'imagecodecs', 'simplejpeg', 'soundfile', 'cv2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert run_python("-c", program).stdout.strip() == "[]"
