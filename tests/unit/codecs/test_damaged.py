"""Damaged and hostile files: each is a failure with a reason, none ends the process or touches another picture."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dali_lab.codecs import convert
from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.encoding import encode
from dali_lab.codecs.headers import peek
from tests.programs import run_python
from tests.unit.codecs import pictures
from tests.unit.codecs.decoding import decode, decode_one

FUZZ = """
import zlib, struct, sys
import numpy as np
from tests.unit.codecs import pictures
from tests.unit.codecs.decoding import decode

def mended(data):
    out, at = bytearray(data[:8]), 8
    while at + 12 <= len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        if at + 12 + size > len(data):
            break
        out += data[at : at + 8 + size] + struct.pack(">I", zlib.crc32(data[at + 4 : at + 8 + size]))
        at += 12 + size
    return bytes(out + data[at:])

files = list(pictures.all_files().values())
random = np.random.default_rng(int(sys.argv[1]))
decoded = failed = 0
for _ in range(int(sys.argv[2])):
    chunk = []
    for _ in range(4):
        data = bytearray(files[random.integers(len(files))])
        kind, size = random.integers(4), len(data)
        if kind == 0:
            data = data[: random.integers(1, size)]
        elif kind == 1:
            for _ in range(random.integers(1, 30)):
                data[random.integers(size)] = random.integers(256)
        elif kind == 2:
            for _ in range(random.integers(1, 6)):
                data[random.integers(min(size, 200))] = random.integers(256)
        else:
            at = random.integers(size)
            del data[at : at + random.integers(1, 100)]
        data = bytes(data)
        chunk.append(mended(data) if data[:4] == b"\\x89PNG" and random.integers(2) else data)
    wanted = ("RGB", "GRAY", "ANY_DATA")[random.integers(3)]
    arrays, failures = decode(chunk, output_type=wanted, max_pixels=1 << 22)
    broken = {index for index, reason in failures if reason}
    assert broken == {index for index, array in enumerate(arrays) if array is None}
    decoded += len(chunk) - len(broken)
    failed += len(broken)
print(decoded, failed)
"""


def test_mutated_files() -> None:
    decoded, failed = map(int, run_python("-c", FUZZ, "1", "250").stdout.split()[-2:])
    assert decoded > 100
    assert failed > 100


def test_ends_that_are_missing() -> None:
    png, bmp = pictures.all_files()["png rgb"], encode(pictures.gray(), "BMP")
    for data, missing, reason in (
        (png, 1, "truncated PNG: its last chunk is cut off"),
        (png, 4, "truncated PNG: its last chunk is cut off"),
        (png, 5, "truncated PNG: it ends before its last chunk"),
        (png, 12, "truncated PNG: it ends before its last chunk"),
        (bmp, 1, f"truncated BMP: {len(bmp) - 1} of {len(bmp)} bytes"),
        (bmp, 999, f"truncated BMP: {len(bmp) - 999} of {len(bmp)} bytes"),
    ):
        assert decode([data[:-missing]])[1] == [(0, reason)]
        assert not decode([data])[1]


def test_failures_leave_the_others() -> None:
    good = pictures.all_files()["jpeg 420"]
    other = pictures.all_files()["png rgb"]
    files = [good, good[: len(good) // 2], other, other[:200], b"", b"text", good]
    arrays, failures = decode(files)
    assert [index for index, _ in failures] == [1, 3, 4, 5]
    reasons = dict(failures)
    assert reasons[1] == "truncated JPEG"
    assert "empty" in reasons[4]
    assert "not an image" in reasons[5]
    np.testing.assert_array_equal(arrays[0], arrays[6])
    np.testing.assert_array_equal(arrays[2], pictures.rgb())


def test_bombs_are_refused() -> None:
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", b""), (b"IEND", b""))
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(pictures.chunk(*chunk) for chunk in chunks)
    with pytest.raises(CodecError, match="more than the limit"):
        decode_one(bomb)
    small = pictures.jpegs()["jpeg 420"]
    with pytest.raises(CodecError, match="limit of 1000"):
        decode_one(small, max_pixels=1000)
    decode_one(small, max_pixels=pictures.HEIGHT * pictures.WIDTH)


@pytest.mark.parametrize("region", [(5, 5, 4, 9), (-1, 0, 5, 5), (0, 0, 9999, 5), (0, 0, 5, 9999)])
def test_regions_outside(region: tuple[int, int, int, int]) -> None:
    for name in ("jpeg 420", "png rgb"):
        with pytest.raises(CodecError, match="not inside"):
            decode_one(pictures.all_files()[name], region=region)


def test_regions_without_pixels() -> None:
    for name in ("jpeg 420", "png rgb"):
        assert decode_one(pictures.all_files()[name], region=(3, 2, 3, 7)).shape == (0, 5, 3)


@pytest.mark.parametrize(("tag", "kind"), [(257, 3), (256, 3), (258, 8)])
def test_tiff_that_libraries_read_differently(tag: int, kind: int) -> None:
    """nvImageCodec writes beyond the picture where a size is there twice, or bits are no whole number."""
    good = pictures.all_files()["tiff deflate"]
    last = int.from_bytes(good[4:8], "little") + 2 + 9 * 12
    entry = struct.pack("<HHII", tag, kind, 1, 1)
    with pytest.raises(CodecError, match="bad TIFF header"):
        decode_one(good[:last] + entry + good[last + 12 :])


def test_chatter_stays_off_the_terminal() -> None:
    program = (
        "from tests.unit.codecs import pictures\n"
        "from tests.unit.codecs.decoding import decode\n"
        "files = pictures.all_files()\n"
        "decode([files['jpeg 420'], files['jpeg 420'][:900], files['bmp rgb'][:300], files['tiff rgb']])\n"
    )
    assert run_python("-c", program).stderr == ""


def test_progressive_jpeg_with_very_many_scans() -> None:
    """Each scan goes over the whole picture, so that a small file would take minutes."""
    import cv2

    picture = np.random.default_rng(3).integers(0, 256, (40, 40, 3), np.uint8)
    data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes()
    assert decode_one(data).shape == (40, 40, 3)
    last = data.rindex(b"\xff\xda")
    many = data[:last] + data[last:-2] * 256 + data[-2:]
    with pytest.raises(CodecError, match="more than the limit of 256"):
        decode_one(many)
    assert peek(many).progressive


@pytest.mark.parametrize(
    ("turns", "expected"),
    [((6, 3), 6), ((3, 6), 3), ((1, 3), 1), ((3, 1), 3), ((None, 3), 3), ((3, None), 3), ((2, 3, 4), 2)],
)
def test_several_exif_blocks(turns: tuple[int | None, ...], expected: int) -> None:
    """The first that says how the picture is turned counts; nvImageCodec spoils memory with some of these."""
    plain = pictures.jpegs()["jpeg quality 75"]

    def block(turn: int | None) -> bytes:
        tag = b"\x01\x0f" if turn is None else b"\x01\x12"
        body = b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + tag + b"\0\x03\0\0\0\x01\0" + bytes([turn or 1]) + bytes(6)
        return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body

    data = plain[:2] + b"".join(map(block, turns)) + plain[2:]
    wanted = convert.upright(decode_one(plain), expected)
    np.testing.assert_array_equal(decode_one(data), wanted)
    assert peek(data).displayed_size == wanted.shape[:2]


def test_damaged_exif_that_libraries_read_differently() -> None:
    """A picture that its decoder does not turn is as it is stored, and its neighbours are unaffected."""
    good = pictures.jpegs()["jpeg orientation 6"]
    at = good.index(b"MM\0*") + 2
    broken = good[:at] + b"\0\0" + good[at + 2 :]
    (before, turned, after), failures = decode([good, broken, good])
    assert not failures and turned is not None
    assert peek(broken).displayed_size == (pictures.WIDTH, pictures.HEIGHT)
    np.testing.assert_array_equal(before, after)
    assert turned.shape in ((pictures.HEIGHT, pictures.WIDTH, 3), (pictures.WIDTH, pictures.HEIGHT, 3))
