"""PNG, BMP and PNM of a chunk in one call: the pixels and the failures of decoding them one by one."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest

from dali_lab.codecs.backends import rasters
from dali_lab.codecs.headers import read_headers
from dali_lab.kernels.cpu.header_table import PIXEL
from tests.unit.codecs import pictures
from tests.unit.codecs.decoding import COMPILED, batch, by_kernels, decode
from tests.unit.codecs.test_plain import random_windows

USUAL = pictures.RASTERS
Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(
    rasters._functions() is None, reason="imagecodecs, which brings libdeflate along, is not installed"
)


def filtered_png(pixels: Array, random: np.random.Generator, parts: int = 1) -> bytes:
    """A PNG whose rows have filters at random, in several chunks."""
    height, width, channels = pixels.shape
    rows = pixels.reshape(height, width * channels).astype(int)
    raw = b""
    for y in range(height):
        above = rows[y - 1] if y else np.zeros_like(rows[0])
        left, corner = (np.concatenate([np.zeros(channels, int), row[:-channels]]) for row in (rows[y], above))
        guess = left + above - corner
        choices = np.stack([left, above, corner])
        nearest = np.take_along_axis(choices, np.abs(choices - guess).argmin(axis=0)[None], axis=0)[0]
        kind = int(random.integers(5))
        taken = (0, left, above, (left + above) // 2, nearest)[kind]
        raw += bytes([kind]) + ((rows[y] - taken) % 256).astype(np.uint8).tobytes()
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    packed = zlib.compress(raw, int(random.integers(10)))
    step = -(-len(packed) // parts)
    return (
        b"\x89PNG\r\n\x1a\n"
        + pictures.chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0))
        + pictures.chunk(b"tEXt", b"Comment\0of rows")
        + b"".join(pictures.chunk(b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step))
        + pictures.chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("output_type", ["RGB", "BGR", "GRAY", "ANY_DATA"])
@pytest.mark.parametrize("cut", [False, True])
def test_pixels_are_those_of_other_decoders(output_type: str, cut: bool) -> None:
    files = [pictures.all_files()[name] for name in USUAL]
    sizes = read_headers(batch(files)).sizes()
    windows = random_windows(sizes, np.random.default_rng(5)) if cut else None
    expected, failures = decode(files, windows, COMPILED, output_type=output_type)
    assert not failures
    for name, array, reference in zip(
        USUAL, by_kernels(files, windows, output_type=output_type), expected, strict=True
    ):
        assert array is not None, name
        np.testing.assert_array_equal(array, reference, err_msg=name)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_filters_of_png(channels: int) -> None:
    random = np.random.default_rng(channels)
    sources = [
        random.integers(0, 256 if index % 2 else 4, (*random.integers(1, 40, 2), channels)).astype(np.uint8)
        for index in range(24)
    ]
    files = [filtered_png(source, random, 1 + index % 3) for index, source in enumerate(sources)]
    for source, array in zip(sources, by_kernels(files, output_type="ANY_DATA"), strict=True):
        assert array is not None
        np.testing.assert_array_equal(array, source)


def test_rows_from_the_top_and_comments() -> None:
    pixels = pictures.rgb()
    bmp = bytearray(pictures.all_files()["bmp rgb"])
    size, start = struct.unpack_from("<i", bmp, 22)[0], struct.unpack_from("<I", bmp, 10)[0]
    struct.pack_into("<i", bmp, 22, -size)
    body = np.frombuffer(bytes(bmp[start:]), np.uint8).reshape(size, -1)[::-1].tobytes()
    ppm = f"P6 # a comment\n{pixels.shape[1]}\t{pixels.shape[0]} #\n#\n255\n".encode() + pixels.tobytes()
    for array in by_kernels([bytes(bmp[:start]) + body, ppm]):
        assert array is not None
        np.testing.assert_array_equal(array, pixels)


def test_damaged_files() -> None:
    """Of damaged files the fast decoder takes only ones that the others decode, with the same pixels."""
    random = np.random.default_rng(11)
    sources = [pictures.all_files()[name] for name in USUAL]
    files = []
    for index in range(400):
        data = bytearray(sources[index % len(sources)])
        if index % 4 == 0:
            del data[int(random.integers(1, len(data))) :]
        else:
            for at in random.integers(0, min(len(data), 120) if index % 4 == 1 else len(data), 1 + index % 3).tolist():
                data[at] = int(random.integers(256))
        files.append(bytes(data))
    expected, failures = decode(files, without=COMPILED, max_pixels=1 << 20)
    found = by_kernels(files, max_pixels=1 << 20)
    assert len(failures) > 100
    assert sum(array is not None for array in found) > 50
    for index, (array, reference) in enumerate(zip(found, expected, strict=True)):
        if array is not None:
            assert reference is not None, index
            np.testing.assert_array_equal(array, reference, err_msg=str(index))


def test_a_palette_without_a_color() -> None:
    header = struct.pack(">IIBBBBB", 2, 1, 8, 3, 0, 0, 0)
    for last, good in ((1, True), (2, False)):
        data = (
            b"\x89PNG\r\n\x1a\n"
            + pictures.chunk(b"IHDR", header)
            + pictures.chunk(b"PLTE", bytes([1, 2, 3, 4, 5, 6]))
            + pictures.chunk(b"IDAT", zlib.compress(bytes([0, 0, last])))
            + pictures.chunk(b"IEND", b"")
        )
        (array,) = by_kernels([data])
        assert (array is not None) == good
        if array is not None:
            assert array.tolist() == [[[1, 2, 3], [4, 5, 6]]]


def test_sizes_that_cannot_be_are_not_taken() -> None:
    data = bytearray(filtered_png(np.zeros((4, 4, 3), np.uint8), np.random.default_rng(0)))
    for height, width in ((1 << 30, 4), (4, 1 << 31), (0, 4), ((1 << 32) - 1, (1 << 32) - 1)):
        struct.pack_into(">II", data, 16, width, height)
        assert not read_headers(batch([bytes(data)])).table[0, PIXEL]
