"""imagecodecs: PNG, JPEG 2000 and WebP by decoders that survive damaged files, and formats no other backend reads."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends.reasons import reason
from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import Header
from dali_lab.codecs.job import Job
from dali_lab.kernels.cpu.header_table import INVERSE_GRAY, JPEG, JPEG2000, PNG, TIFF, WEBP

_CHUNK = struct.Struct(">I4s")
_LARGEST_TEXT = 64 << 10


@functools.cache
def _library() -> Any:
    try:
        import imagecodecs
    except ImportError:
        return None
    return imagecodecs


def available() -> bool:
    """Whether imagecodecs is installed."""
    return _library() is not None


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode pictures as they are stored, PNG and WebP of which nothing is left to convert right into their memory."""

    def one(index: int) -> None:
        data, header = job.data.array(index), job.headers[index]
        out = job.out.array(index) if _is_stored_as_wanted(job, index, header) else None
        try:
            array = _DECODERS[header.format](_library(), data, header, out)
            if array.ndim not in (2, 3):
                raise CodecError(f"pictures with {array.ndim} dimensions are not supported")
        except Exception as error:
            # Each of its decoders raises a class of its own, and a mutated file may trip its size checks as well
            # (MemoryError, OverflowError). In every case this picture is lost, and no other.
            told = (str(error).strip() or type(error).__name__).splitlines()[0]
            first = f"{reason(data, header)}: " if header.format in (JPEG, TIFF) else ""
            raise CodecError(first + told) from None
        job.as_stored(index, array)

    return job.each(which, one)


def _is_stored_as_wanted(job: Job, index: int, header: Header) -> bool:
    return (
        job.wanted.direct
        and header.format in (PNG, WEBP)
        and header.bits == 8
        and header.channels == {"RGB": 3, "GRAY": 1, "ANY_DATA": 4}.get(job.wanted.colors)
        and job.region(index) is None
        and (header.orientation == 1 or not job.wanted.adjust_orientation)
    )


def _png(library: Any, data: Buffer, header: Header, out: Any) -> npt.NDArray[Any]:
    # spng is faster and leaves transparency by palette or key colour alone, as NVIDIA DALI does;
    # libpng is more lenient, and the one that returns 16 bits and grey with alpha.
    if header.bits <= 8 and header.channels != 2:
        try:
            return library.spng_decode(_without_large_texts(data), out=out)  # type: ignore[no-any-return]
        except library.SpngError:
            pass
    return library.png_decode(data)  # type: ignore[no-any-return]


def _without_large_texts(data: Buffer) -> Buffer:
    """A PNG without large compressed texts and profiles: spng unfolds them to as many gigabytes as they claim."""
    view = memoryview(data)
    kept: list[memoryview] = []
    begin, place = 0, 8
    while place + 8 <= len(view):
        length, kind = _CHUNK.unpack_from(view, place)
        end = min(place + 12 + length, len(view))
        if length > _LARGEST_TEXT and kind in (b"zTXt", b"iTXt", b"iCCP"):
            kept.append(view[begin:place])
            begin = end
        place = end
    return b"".join([*kept, view[begin:]]) if kept else data


def _jpeg2000(library: Any, data: Buffer, header: Header, out: Any) -> npt.NDArray[Any]:
    array = library.jpeg2k_decode(data)
    # NVIDIA DALI takes 12 bits for the lower ones of 16.
    return _over_whole_range(array, header.bits) if header.bits < 8 else array


def _webp(library: Any, data: Buffer, header: Header, out: Any) -> npt.NDArray[Any]:
    return library.webp_decode(data, hasalpha=header.channels == 4, out=out)  # type: ignore[no-any-return]


def _jpeg(library: Any, data: Buffer, header: Header, out: Any) -> npt.NDArray[Any]:
    return _over_whole_range(library.jpeg_decode(data), header.bits)


def _tiff(library: Any, data: Buffer, header: Header, out: Any) -> npt.NDArray[Any]:
    array = library.tiff_decode(data, index=0)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * np.uint8(255)
    else:
        array = _over_whole_range(array, header.bits)
    if array.ndim == 3 and array.shape[0] == header.channels and array.shape[1:] == (header.height, header.width):
        array = array.transpose(1, 2, 0)
    if header.color == INVERSE_GRAY and array.dtype.kind == "u":
        array = np.iinfo(array.dtype).max - array
    return array  # type: ignore[no-any-return]


def _over_whole_range(array: npt.NDArray[Any], bits: int) -> npt.NDArray[Any]:
    """Values of an odd number of bits, stretched so that the largest is that of their type."""
    if array.dtype.kind != "u" or not 0 < bits < 8 * array.dtype.itemsize:
        return array
    scale = np.iinfo(array.dtype).max / ((1 << bits) - 1)
    return np.rint(array * scale).astype(array.dtype)


_DECODERS = {PNG: _png, JPEG2000: _jpeg2000, WEBP: _webp, JPEG: _jpeg, TIFF: _tiff}
