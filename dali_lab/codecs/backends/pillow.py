"""Pillow: pictures that no other installed library decodes, where it gives the pixels of NVIDIA DALI."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import convert
from dali_lab.codecs.backends.reasons import is_cut_off, reason
from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import Header
from dali_lab.codecs.job import Job
from dali_lab.codecs.plan import Wanted
from dali_lab.kernels.cpu.header_table import BMP, INVERSE_GRAY, JPEG, JPEG2000, PNG, TIFF, TITLES, WEBP

_PARSERS = {JPEG: "JPEG", PNG: "PNG", BMP: "BMP", TIFF: "TIFF", WEBP: "WEBP", JPEG2000: "JPEG2000"}
_COLOR_MAP, _EXTRA_SAMPLES = 320, 338
_PREMULTIPLIED = 1
_MORE = "takes imagecodecs, which is not installed: pip install 'dali-lab[images]'"


def available() -> bool:
    """Always: the package depends on it."""
    return True


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode pictures whole; kinds to which Pillow gives other numbers are refused, naming the extra that has them."""

    def one(index: int) -> None:
        data, header, wanted = job.data.array(index), job.headers[index], job.wanted
        if is_cut_off(data, header):
            raise reason(data, header)
        try:
            array = _pixels(data, header, wanted)
        except CodecError:
            raise
        except Exception as error:
            # Its parsers raise whatever a mutated file makes of them: OSError, SyntaxError, struct.error, TypeError.
            title, told = TITLES[header.format], (str(error).strip() or type(error).__name__).splitlines()[0]
            if type(error).__name__ == "UnidentifiedImageError":
                raise CodecError(f"damaged {title}, or of a kind that {_MORE}") from None
            raise CodecError(f"damaged or unsupported {title}: {told}") from None
        upright = header.format == TIFF and wanted.adjust_orientation
        job.as_stored(index, array, upright=upright, colored=header.format == JPEG and wanted.colors == "GRAY")

    return job.each(which, one)


def _pixels(data: Buffer, header: Header, wanted: Wanted) -> npt.NDArray[Any]:
    """HWC as stored; JPEG in grey where that is wanted, TIFF upright."""
    from PIL import Image

    picture: Any
    with Image.open(io.BytesIO(data), formats=[_PARSERS[header.format]]) as picture:
        if picture.size not in ((header.width, header.height), header.displayed_size[::-1]):
            raise CodecError(f"its header says {header.height} x {header.width}, but it holds another size")
        _refuse_other_numbers(picture, header, wanted.adjust_orientation)
        if header.format == JPEG and wanted.colors == "GRAY":
            picture.draft("L", None)
        picture.load()
        array = _ordered(picture)
        if picture.mode == "CMYK":
            return _from_inks(array, "adobe" in picture.info, wanted.colors)
        if picture.mode == "P" and header.format == TIFF:
            # Pillow cuts off the lower bits of its palette, which NVIDIA DALI rounds.
            colors: npt.NDArray[Any] = np.array(picture.tag_v2[_COLOR_MAP], np.uint16).reshape(3, -1).T
            return colors[array]  # type: ignore[no-any-return]
        if picture.mode in ("1", "P", "PA"):
            # Transparency by palette is left alone, as NVIDIA DALI does.
            picture.info.pop("transparency", None)
            return np.asarray(picture.convert("L" if picture.mode == "1" or header.channels == 1 else "RGB"))
    return array


def _ordered(picture: Any) -> npt.NDArray[Any]:
    array = np.asarray(picture)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _refuse_other_numbers(picture: Any, header: Header, adjust_orientation: bool) -> None:
    """Pillow keeps 16 bits and real numbers in one channel alone, and reads some kinds of TIFF otherwise."""
    deep = {"I;16": 16, "I;16B": 16, "I;16L": 16, "F": 32}.get(picture.mode)
    same = header.bits == deep if deep else header.bits in (1, 2, 4, 8)
    if header.format == TIFF:
        same &= picture.mode != "CMYK" and _PREMULTIPLIED not in (picture.tag_v2.get(_EXTRA_SAMPLES) or ())
        same &= adjust_orientation or header.orientation == 1
        same &= not (deep and header.color == INVERSE_GRAY)
    elif header.format == JPEG2000:
        same &= header.bits in (8, 16)
    if not same:
        raise CodecError(f"this kind of {TITLES[header.format]} {_MORE}")


def _from_inks(inks: npt.NDArray[Any], inverted: bool, colors: str) -> npt.NDArray[Any]:
    """A JPEG in CMYK, with 255 for full ink, as stored or in the colours that NVIDIA DALI makes of it."""
    if colors == "ANY_DATA":
        return 255 - inks if inverted else inks
    light = 255 - inks.astype(np.uint16)
    rgb = (light[..., :3] * light[..., 3:] // 255).astype(np.uint8)
    return convert.gray_from_cmyk(rgb) if colors == "GRAY" else rgb
