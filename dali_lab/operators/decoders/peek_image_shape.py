"""Reads the shape of encoded pictures without decoding them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.codecs.headers import read_headers
from dali_lab.kernels.cpu.header_table import CHANNELS, COLOR, RGBX
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import (
    ANY_DATA,
    FLOAT,
    FLOAT64,
    GRAY,
    INT16,
    INT32,
    INT64,
    RGB,
    UINT8,
    UINT32,
    UINT64,
    numpy_dtype,
)
from dali_lab.operators.decoders.image import ENCODED, sample_files
from dali_lab.schema import Arg, Call, Case, ErrorCase, Operator, Output, flag, register

DTYPES = (INT32, UINT32, INT64, UINT64, FLOAT, FLOAT64)


@register
class PeekImageShape(Operator):
    """Reads the shape that pictures will have when they are decoded, from their headers alone.

    With ANY_DATA a BMP of 32 bits counts as one of 4 channels, though its last 8 bits are left out in decoding.
    """

    name = "peek_image_shape"
    title = "Shape of pictures"
    inputs = (ENCODED,)
    outputs = (Output("shape", kind="tensor", doc="Height, width and number of channels."),)
    devices = ("cpu",)
    arguments = (
        Arg("dtype", "dtype", INT64, "Type of the numbers."),
        flag("adjust_orientation", "Take height and width after the EXIF orientation is applied.", default=True),
        Arg("image_type", "image_type", RGB, "Colours that the picture will have; they decide the channels."),
    )
    example = ">>> shapes = fn.peek_image_shape(encoded)"

    def setup(self) -> None:
        if self.value("dtype") not in DTYPES:
            names = ", ".join(dtype.name for dtype in DTYPES)
            raise self.fail(f"is one of {names}, not {self.value('dtype').name}", "dtype")

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype != UINT8 or data.ndim != 1:
            raise call.problem(f"takes one-dimensional UINT8 samples, got {data.ndim} dimensions of {data.dtype.name}")
        headers = read_headers(data, to_decode=False)
        for index, error in headers.problems.items():
            source = data.sources[index] if data.sources is not None else None
            raise call.problem(f"cannot read the shape of the picture: {error}", sample=index, source=source)
        channels = headers.table[:, CHANNELS, None]
        if self.value("image_type") != ANY_DATA:
            channels = np.full_like(channels, 1 if self.value("image_type") == GRAY else 3)
        else:
            channels = np.where(headers.table[:, COLOR, None] == RGBX, 4, channels)
        shapes = np.concatenate([headers.sizes(self.value("adjust_orientation")), channels], axis=1)
        return Batch.dense(shapes.astype(numpy_dtype(self.value("dtype"))), dtype=self.value("dtype"))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        files = (sample_files(),)
        for color in (RGB, GRAY, ANY_DATA):
            yield Case(files, {"image_type": color})
        for dtype in DTYPES:
            yield Case(files, {"dtype": dtype})
        yield Case(files, {"adjust_orientation": False})
        yield Case(([_bmp_of_32_bits()],), {"image_type": ANY_DATA})
        yield Case(([_bmp_of_32_bits()],))
        turned = [_turned(orientation) for orientation in (1, 3, 6, 8)]
        yield Case((turned,), {})
        yield Case((turned,), {"adjust_orientation": False})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((sample_files(),), {"dtype": INT16}, words=("dtype", "INT16", "INT64"))
        yield ErrorCase(([sample_files()[0], np.arange(100, dtype=np.uint8)],), words=("sample 1", "not an image"))
        yield ErrorCase(([np.zeros((4, 4), np.uint8)],), words=("one-dimensional",))


def _turned(orientation: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """A JPEG whose EXIF data says that it lies turned."""
    tags = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" + bytes([orientation]) + b"\0\0\0\0\0\0"
    segment = b"\xff\xe1" + (len(tags) + 2).to_bytes(2, "big") + tags
    plain = sample_files()[0].tobytes()
    return np.frombuffer(plain[:2] + segment + plain[2:], np.uint8)


def _bmp_of_32_bits() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """A BMP of 3 × 2 pixels with a byte to spare in each."""
    numbers = {10: 54, 14: 40, 18: 3, 22: 2, 34: 24}
    head = bytearray(54)
    head[:2], head[26], head[28] = b"BM", 1, 32
    for place, number in numbers.items():
        head[place : place + 4] = number.to_bytes(4, "little")
    return np.frombuffer(bytes(head) + bytes(range(24)), np.uint8)
