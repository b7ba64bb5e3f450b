"""TIFF and JPEG 2000 of forms that NVIDIA DALI refuses or misreads: odd numbers of bits, channels apart, steps."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest

from dali_lab.codecs.backends import imagecodecs as backend
from dali_lab.codecs.headers import peek
from tests.together import with_each
from tests.unit.codecs.decoding import decode_one

pytestmark = pytest.mark.skipif(not backend.available(), reason="needs imagecodecs")


def tiff(values: np.ndarray[tuple[int, int], np.dtype[np.int64]], bits: int, color: int) -> bytes:
    """An uncompressed grey TIFF of one strip; rows begin at whole bytes. `color` is 1, or 0 where 0 is white."""
    height, width = values.shape
    strip = bytearray()
    for row in values.tolist():
        number = 0
        for value in row:
            number = (number << bits) | value
        used = bits * width
        strip += (number << (-used % 8)).to_bytes((used + 7) // 8, "big")
    values_of = {256: width, 257: height, 258: bits, 259: 1, 262: color, 273: 8 + 2 + 9 * 12 + 4, 277: 1}
    values_of |= {278: height, 279: len(strip)}
    entries = b"".join(struct.pack(">HHII", tag, 4, 1, value) for tag, value in values_of.items())
    directory = struct.pack(">H", len(values_of)) + entries
    return b"MM\0*" + struct.pack(">I", 8) + directory + bytes(4) + bytes(strip)


@with_each("bits", [2, 3, 5, 7, 9, 11, 15, 17, 23, 31])
@with_each("color", [0, 1])
def test_tiff(bits: int, color: int) -> None:
    largest = (1 << bits) - 1
    values = np.random.default_rng(bits).integers(0, largest + 1, (5, 7))
    values[0, :2] = 0, largest
    share = values[..., None] / largest
    expected = share if color else 1 - share
    data = tiff(values, bits, color)
    np.testing.assert_allclose(decode_one(data, output_type="GRAY", dtype=np.float32), expected, atol=1 / 255)
    assert np.abs(decode_one(data, output_type="GRAY") - expected * 255).max() <= 1


def test_jpeg2000_of_five_bits() -> None:
    import imagecodecs

    values = np.random.default_rng(5).integers(0, 32, (16, 16), np.uint8)
    data = imagecodecs.jpeg2k_encode(values, bitspersample=5, reversible=True)
    np.testing.assert_array_equal(decode_one(data, output_type="GRAY")[..., 0], np.rint(values * (255 / 31)))


def test_planar_tiff_of_sixteen_bits() -> None:
    """NVIDIA DALI takes the rows of one channel for those of all."""
    tifffile = pytest.importorskip("tifffile")
    values = np.random.default_rng(7).integers(0, 1 << 16, (3, 9, 11), np.uint16)
    file = io.BytesIO()
    tifffile.imwrite(file, values, photometric="rgb", planarconfig="separate")
    decoded = decode_one(file.getvalue(), dtype=np.uint16)
    np.testing.assert_array_equal(decoded, values.transpose(1, 2, 0))


def test_jpeg2000_whose_channels_all_have_steps() -> None:
    """The size is that of the first channel, not that of the grid on which it lies."""
    size = struct.pack(">HHIIIIIIIIH", 47, 0, 103, 87, 0, 0, 103, 87, 0, 0, 3)
    info = peek(b"\xff\x4f\xff\x51" + size + b"\7\2\2" * 3)
    assert (info.height, info.width, info.channels) == (44, 52, 3)


@pytest.mark.parametrize("bits", [12, 16])
def test_lossless_jpeg(bits: int) -> None:
    """NVIDIA DALI has these on a GPU alone."""
    import imagecodecs

    values = np.random.default_rng(bits).integers(0, 1 << bits, (9, 11), np.uint16)
    data = imagecodecs.ljpeg_encode(values, bitspersample=bits)
    expected = np.rint(values * (65535 / ((1 << bits) - 1)))[..., None]
    for color in ("GRAY", "ANY_DATA"):
        np.testing.assert_array_equal(decode_one(data, output_type=color, dtype=np.uint16), expected)
    np.testing.assert_array_equal(decode_one(data, dtype=np.uint16), np.repeat(expected, 3, axis=2))
