"""Images in FITS files: headers and plain elements by NumPy, tile-compressed images by Astropy."""

from __future__ import annotations

import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import open_file

_BLOCK = 2880
_CARD = 80
_MOST_BLOCKS = 10_000
"""Blocks of a header beyond which the file is taken for another one."""
_AT_ONCE = 1 << 20
_MOST_AXES = 32
"""Axes that an array of NumPy can have."""
_COUNTS = ("NAXIS", "ZNAXIS", "TFIELDS")
_MOST_COUNTED = 999
"""Axes and columns that the format allows; Astropy takes its time for any number of them."""
_MOST_UNPACKED = 1 << 30
"""Bytes in a file that is compressed by gzip as a whole, beyond which it is refused."""
_STORED = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
"""Types of elements by the number of their bits, negative for floats."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ED][+-]?\d+)?")

Header = dict[str, int | float | bool | str]


class FitsError(ValueError):
    """A file that is no FITS file, a damaged one, or a part of it that is no image."""


def read_image(path: str, number: int) -> npt.NDArray[Any]:
    """The image in a part of a FITS file, of the type that its values need.

    Parameters
    ----------
    path
        The file; it may be compressed by gzip as a whole.
    number
        Which of its header-data units to read, from 1 on.

    Raises
    ------
    FitsError
        If there is no image, or the file is damaged.
    OSError
        If the file cannot be read.
    ModuleNotFoundError
        If the image is compressed and Astropy is not installed.
    """
    with open_file(path) as file:
        source: IO[bytes] = file
        if file.read(2) == b"\x1f\x8b":
            file.seek(0)
            source = _unpacked(file)
        header = _find(source, number)
        if header.get("ZIMAGE") is True:
            source.seek(0)
            return _decompressed(source, number)
        if number > 1 and header.get("XTENSION") != "IMAGE":
            raise FitsError(f"unit {number} is not an image, but {header.get('XTENSION')}")
        shape = _shape(header)
        if not shape:
            raise FitsError(f"unit {number} has no elements (NAXIS is 0); see 'hdu_indices'")
        dtype = np.dtype(_STORED[_integer(header, "BITPIX")])
        count = math.prod(shape) * dtype.itemsize
        if _left(source) < count:
            raise FitsError(f"the file ends in the elements of unit {number}")
        stored = np.frombuffer(source.read(count), dtype).reshape(shape)
        return scaled(stored, _finite(header, "BSCALE", 1.0), _finite(header, "BZERO", 0.0))


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """The content of a file that is compressed by gzip."""
    content = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            while block := packed.read(_AT_ONCE):
                content.write(block)
                if content.tell() > _MOST_UNPACKED:
                    raise FitsError(f"it is compressed by gzip and holds more than {_MOST_UNPACKED >> 20} MiB")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FitsError(f"it is compressed by gzip and damaged ({error})") from error
    content.seek(0)
    return content


def scaled(stored: npt.NDArray[Any], scale: float, zero: float) -> npt.NDArray[Any]:
    """``scale * stored + zero`` in the type that CFITSIO chooses for it, in which NVIDIA DALI gives images out."""
    native = stored.dtype.newbyteorder("=")
    if scale == 1 and zero == 0:
        return stored.astype(native)
    if native.kind == "f":
        return (stored.astype(np.float64) * scale + zero).astype(native)
    if native.itemsize == 8:
        return _scaled_wide(stored.astype(np.int64), scale, zero)
    limits = np.iinfo(native)
    low, high = sorted((scale * limits.min + zero, scale * limits.max + zero))
    values = stored.astype(np.float64) * scale + zero
    whole = zero == 1 << 31 or (zero < 1 << 31 and zero == int(zero) and scale == int(scale))
    if not whole:
        return values.astype(np.float64 if native.itemsize == 4 else np.float32)
    if (low, high) == (-128, 127):
        return values.astype(np.int8)
    for candidate in (np.int16, np.uint16, np.int32, np.uint32):
        if np.iinfo(candidate).min <= low and high <= np.iinfo(candidate).max:
            return values.astype(candidate)
    return values


def _scaled_wide(stored: npt.NDArray[np.int64], scale: float, zero: float) -> npt.NDArray[np.int64]:
    """The same for integers of 64 bits, which stay such."""
    if scale == 1 and zero == float(1 << 63):
        if (stored >= 0).any():
            raise FitsError("unsigned numbers of 64 bits do not fit into INT64")
        return stored ^ np.int64(-1 << 63)
    if scale == 1 and zero == int(zero) and abs(zero) < 1 << 53:
        offset = int(zero)
        if stored.size and not -(1 << 63) <= int(stored.min()) + offset <= int(stored.max()) + offset < 1 << 63:
            raise FitsError("numbers of 64 bits do not fit into INT64 with their BZERO")
        return stored + np.int64(offset)
    values = stored * scale + zero
    if not (np.abs(values) < float(1 << 63)).all():
        raise FitsError("numbers of 64 bits do not fit into INT64 with their BSCALE and BZERO")
    return values.astype(np.int64)


def _decompressed(source: IO[bytes], number: int) -> npt.NDArray[Any]:
    """A tile-compressed image."""
    from astropy.io import fits

    try:
        with fits.open(source, memmap=False, do_not_scale_image_data=True) as units:
            header, stored = units[number - 1].header, np.asarray(units[number - 1].data)
            scale, zero = _finite(header, "BSCALE", 1.0), _finite(header, "BZERO", 0.0)
    except Exception as error:  # Astropy raises many kinds of errors for damaged files
        raise FitsError(f"the compressed image in unit {number} cannot be read: {error}") from error
    if stored.ndim == 0 or stored.dtype.kind not in "iuf":
        raise FitsError(f"unit {number} has no image of numbers")
    return scaled(stored, scale, zero)


def _find(source: IO[bytes], number: int) -> Header:
    """The header of a unit; the file is left at its data."""
    source.seek(0)
    if number < 1:
        raise FitsError(f"there is no unit {number}; they are counted from 1 on")
    for unit in range(1, number + 1):
        header = _header(source, unit, number)
        if unit < number:
            sizes = _shape(header)
            count = math.prod(sizes) if sizes else 0
            groups, more = _integer({"GCOUNT": 1, **header}, "GCOUNT"), _integer({"PCOUNT": 0, **header}, "PCOUNT")
            count = abs(_integer(header, "BITPIX")) // 8 * groups * (more + count)
            if _left(source) < count:
                raise FitsError(f"the file ends in the elements of unit {unit}")
            source.seek(-(-count // _BLOCK) * _BLOCK, io.SEEK_CUR)
    return header


def _left(source: IO[bytes]) -> int:
    """Bytes not read yet."""
    place = source.tell()
    end = source.seek(0, io.SEEK_END)
    source.seek(place)
    return end - place


def _header(source: IO[bytes], unit: int, wanted: int) -> Header:
    header: Header = {}
    for number in range(_MOST_BLOCKS):
        block = source.read(_BLOCK)
        if not number:
            start = b"SIMPLE  =" if unit == 1 else b"XTENSION="
            if unit > 1 and not block.startswith(start):
                raise FitsError(f"it has no unit {wanted}, only {unit - 1}; see 'hdu_indices'")
            if not block.startswith(start):
                raise FitsError("it is not a FITS file")
        if len(block) < _BLOCK:
            raise FitsError(f"the file ends in the header of unit {unit}")
        text = block.decode("latin-1")
        for at in range(0, _BLOCK, _CARD):
            key = text[at : at + 8].rstrip()
            if key == "END":
                return header
            if text[at + 8 : at + 10] == "= ":
                value = _value(text[at + 10 : at + _CARD])
                if key in _COUNTS and isinstance(value, (int, float)) and not 0 <= value <= _MOST_COUNTED:
                    raise FitsError(f"its header is damaged: {key} is {value!r}")
                header[key] = value
    raise FitsError(f"the header of unit {unit} has no end")


def _value(text: str) -> int | float | bool | str:
    text = text.strip()
    if text.startswith("'"):
        return text[1:].split("'")[0].rstrip()
    text = text.split("/")[0].strip()
    if text in ("T", "F"):
        return text == "T"
    if _NUMBER.fullmatch(text):
        return float(text.replace("D", "E")) if re.search("[.ED]", text) else int(text)
    return text


def _finite(header: Mapping[str, Any], key: str, default: float) -> float:
    value = header.get(key, default)
    if not isinstance(value, (int, float)) or abs(value) > sys.float_info.max or math.isnan(value):
        raise FitsError(f"its header is damaged: {key} is {value!r}")
    return float(value)


def _integer(header: Header, key: str) -> int:
    value = header.get(key)
    if type(value) is not int or (key == "BITPIX" and value not in _STORED) or (key != "BITPIX" and value < 0):
        raise FitsError(f"its header is damaged: {key} is {value!r}")
    return value


def _shape(header: Header) -> tuple[int, ...]:
    """Extents with the first axis of the array first; the file has it last."""
    count = _integer(header, "NAXIS")
    if count > _MOST_AXES:
        raise FitsError(f"its header is damaged: NAXIS is {count}")
    return tuple(_integer(header, f"NAXIS{axis}") for axis in range(count, 0, -1))
