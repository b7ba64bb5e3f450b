"""Picture codecs: headers, decoding a chunk at a time with regions of interest, and encoding JPEG and PNG.

The pixels equal those that NVIDIA DALI 2.4 decodes on the CPU. The decoders behind it are chosen so that no damaged
file ends the process: a picture that cannot be decoded is a failure with a reason, and the others are unaffected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import convert, imagecodecs_backend, nvimgcodec, opencv, plain, pnm, turbojpeg
from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.encoding import encode_jpeg, encode_png, jpeg_round_trip
from dali_lab.codecs.headers import ImageInfo, peek, peek_shapes, peek_sound, title
from dali_lab.codecs.headers.bmp import bmp_length
from dali_lab.codecs.headers.jpeg import with_one_exif

Array = npt.NDArray[Any]
Region = tuple[int, int, int, int]
Failures = list[tuple[int, str]]
Allocate = Callable[[tuple[int, int, int], np.dtype[Any]], Array]

#: Pictures whose header gives more pixels than this are refused.
MAX_PIXELS = int(os.environ.get("DALI_LAB_MAX_IMAGE_PIXELS", 1 << 28))

_BATCHED = frozenset(("jpeg", "tiff", "bmp"))
_MAX_CHANNELS = 64
#: Pictures of at most so many pixels go to simplejpeg in any case. Larger ones do where there is memory for them:
#: new pages cost more than it saves, and nvImageCodec keeps its own.
_SMALL = 1 << 15
#: Bytes before the end in which the end marker of a JPEG is looked for: some cameras append padding.
_END_OF_JPEG = 1024


def decode(
    buffers: Sequence[Buffer],
    *,
    regions: Sequence[Region | None] | npt.NDArray[np.int64] | None = None,
    output_type: str | int = "RGB",
    dtype: npt.DTypeLike = np.uint8,
    adjust_orientation: bool = True,
    use_fast_idct: bool = False,
    max_pixels: int | None = None,
    allocate: Allocate | None = None,
    headers: Sequence[ImageInfo | CodecError] | None = None,
) -> tuple[list[Array | None], Failures]:
    """Decode a chunk of pictures in the calling thread, mostly without the GIL.

    Parameters
    ----------
    buffers
        Encoded pictures, of any mixture of formats.
    regions
        For each picture `None` or ``(y0, x0, y1, x1)``, half-open and within the picture as displayed
        (with `adjust_orientation` false: as stored). An ``int64[N, 4]`` array will do.
    output_type
        ``RGB``, ``BGR``, ``GRAY``, ``YCbCr`` or ``ANY_DATA`` (the file's own channels, alpha included),
        or NVIDIA DALI's number for it (0 to 4).
    dtype
        Of the result; values are scaled to its range, real numbers to 0 to 1.
    adjust_orientation
        Whether to turn the picture as its EXIF orientation says.
    use_fast_idct
        Whether JPEG uses libjpeg-turbo's faster, less exact inverse transform.
    max_pixels
        Larger pictures are refused; by default :data:`MAX_PIXELS`.
    allocate
        Gives memory for a picture of a shape and dtype, C-contiguous. Whole upright JPEG, PNG and WebP pictures are
        decoded into it, where no conversion follows; other results are in new memory all the same. Pooled memory
        pays: fresh pages for a picture can cost half of what decoding it does.
    headers
        The header of each picture from :func:`~dali_lab.codecs.headers.peek`, or its error, if already read.

    Returns
    -------
    arrays : list
        For each picture a C-contiguous HWC array, from `allocate` or new (it owns its memory or keeps the owner
        alive), or `None`.
    failures : list of (int, str)
        Index and reason of each picture that could not be decoded.
    """
    wanted = output_name(output_type)
    limit = MAX_PIXELS if max_pixels is None else max_pixels
    count = len(buffers)
    arrays: list[Array | None] = [None] * count
    failures: Failures = []
    later: list[tuple[int, Buffer, ImageInfo, Region | None]] = []
    color = "RGB" if wanted == "YCbCr" else wanted
    whole_jpeg = turbojpeg.available()
    if isinstance(regions, np.ndarray):
        regions = regions.tolist()
    # Only pictures without a later conversion are worth decoding into the caller's memory.
    pool = allocate if wanted != "YCbCr" and np.dtype(dtype) == np.uint8 else None

    for index, data in enumerate(buffers):
        try:
            info = peek_sound(data) if headers is None else headers[index]
            if isinstance(info, CodecError):
                raise info
            _refuse_bombs(info, limit)
            region = None if regions is None else _checked(regions[index], info, adjust_orientation)
            # Of pictures in colour nvImageCodec finds it out by itself.
            if info.format == "bmp" and info.color == "gray" and len(data) < bmp_length(data, info):
                raise CodecError(f"truncated BMP: {len(data)} of {bmp_length(data, info)} bytes")
            if info.format in _BATCHED:
                array = None
                small = info.height * info.width <= _SMALL
                if (
                    whole_jpeg
                    and (small or (region is None and pool is not None))
                    and plain.is_plain(info)
                    and (info.orientation == 1 or not adjust_orientation)
                ):
                    # libjpeg-turbo refuses files that it finds damaged; then nvImageCodec decides.
                    name = plain.color_of(color, info)
                    shape = (info.height, info.width, 1 if name == "GRAY" else 3)
                    out = None if pool is None or region is not None else pool(shape, np.dtype(np.uint8))
                    array = turbojpeg.decode(data, name, use_fast_idct, out)
                    if array is not None and region is not None:
                        y0, x0, y1, x1 = region
                        array = np.ascontiguousarray(array[y0:y1, x0:x1])
                if array is None:
                    one = with_one_exif(data) if info.format == "jpeg" else data
                    later.append((index, one, info, region))
                    continue
            else:
                out = None
                if pool is not None and _is_stored_as(info, color, region, adjust_orientation):
                    out = pool((info.height, info.width, info.channels), np.dtype(np.uint8))
                array = _decode_stored(data, info, color, region, adjust_orientation, out)
            arrays[index] = convert.to_dtype(array, wanted, dtype)
        except CodecError as error:
            failures.append((index, str(error)))
        except MemoryError:
            failures.append((index, "out of memory"))
    if later:
        _decode_batched(later, arrays, failures, wanted, dtype, adjust_orientation, use_fast_idct)
        failures.sort()
    return arrays, failures


def decode_one(data: Buffer, **arguments: Any) -> Array:
    """Decode one picture; arguments as for :func:`decode`, with `region` in place of `regions`.

    Raises
    ------
    CodecError
        If it cannot be decoded.
    """
    region = arguments.pop("region", None)
    arrays, failures = decode([data], regions=None if region is None else [region], **arguments)
    if failures:
        raise CodecError(failures[0][1])
    array = arrays[0]
    assert array is not None
    return array


def output_name(output_type: str | int) -> str:
    """Name of an output type that is given by its name or by NVIDIA DALI's number.

    Raises
    ------
    ValueError
        If there is none.
    """
    if isinstance(output_type, str):
        name = "ANY_DATA" if output_type == "ANY" else output_type
        if name in convert.OUTPUT_TYPES:
            return name
    elif 0 <= int(output_type) < len(convert.OUTPUT_TYPES):
        return convert.OUTPUT_TYPES[int(output_type)]
    raise ValueError(f"unknown output type {output_type!r}: choose one of {', '.join(convert.OUTPUT_TYPES)}")


def _refuse_bombs(info: ImageInfo, limit: int) -> None:
    if info.height * info.width > limit:
        raise CodecError(
            f"{info.height} x {info.width} pixels are more than the limit of {limit} "
            "(max_pixels, or the environment variable DALI_LAB_MAX_IMAGE_PIXELS)"
        )
    if not 1 <= info.channels <= _MAX_CHANNELS:
        raise CodecError(f"{info.channels} channels are not supported, only 1 to {_MAX_CHANNELS}")


def _checked(region: Any, info: ImageInfo, adjust_orientation: bool) -> Region | None:
    if region is None:
        return None
    y0, x0, y1, x1 = (int(value) for value in region)
    height, width = info.displayed_size if adjust_orientation else (info.height, info.width)
    if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
        raise CodecError(f"region ({y0}, {x0}) to ({y1}, {x1}) is not inside the picture of {height} x {width}")
    return None if (y0, x0, y1, x1) == (0, 0, height, width) else (y0, x0, y1, x1)


def _is_stored_as(info: ImageInfo, color: str, region: Region | None, adjust_orientation: bool) -> bool:
    """Whether the result of a backend of :func:`_decode_stored` needs no conversion."""
    return (
        info.format in ("png", "webp")
        and info.bits == 8
        and info.channels == {"RGB": 3, "GRAY": 1}.get(color, 4)
        and color != "BGR"
        and region is None
        and (info.orientation == 1 or not adjust_orientation)
    )


def _decode_stored(
    data: Buffer, info: ImageInfo, color: str, region: Region | None, adjust_orientation: bool, out: Array | None
) -> Array:
    """Decode by a backend that gives the picture as stored, then rotate, crop and convert its colours."""
    if info.format == "pnm":
        array = pnm.decode(data, info)
    elif info.format == "png" and b"IEND" in bytes(data[-7:]):
        raise CodecError("truncated PNG: its last chunk is cut off")
    elif imagecodecs_backend.available():
        array = imagecodecs_backend.decode(data, info, out)
    else:
        array = opencv.decode(data, info, "ANY_DATA")
    return _finish(array, info, color, region, adjust_orientation)


def _finish(array: Array, info: ImageInfo, color: str, region: Region | None, adjust_orientation: bool) -> Array:
    if array.shape[:2] != (info.height, info.width):
        raise CodecError(
            f"its header says {info.height} x {info.width}, but it holds {array.shape[0]} x {array.shape[1]}"
        )
    if array.shape[2] > info.channels:
        # Transparency by palette or by key colour, which NVIDIA DALI leaves alone.
        array = array[..., : info.channels]
    if adjust_orientation:
        array = convert.upright(array, info.orientation)
    if region is not None:
        y0, x0, y1, x1 = region
        array = array[y0:y1, x0:x1]
    return np.ascontiguousarray(convert.to_colors(array, color, info))


def _decode_batched(
    items: list[tuple[int, Buffer, ImageInfo, Region | None]],
    arrays: list[Array | None],
    failures: Failures,
    wanted: str,
    dtype: npt.DTypeLike,
    adjust_orientation: bool,
    use_fast_idct: bool,
) -> None:
    color = "RGB" if wanted == "YCbCr" else wanted
    decoded: list[Array | None] = [None] * len(items)
    if nvimgcodec.available():
        by_color: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            name = _batched_color(item[2], color)
            if name is not None:
                by_color.setdefault(name, []).append(place)
        for name, places in by_color.items():
            chunk = nvimgcodec.decode(
                [items[place][1] for place in places],
                [items[place][3] for place in places],
                name,
                adjust_orientation=adjust_orientation,
                use_fast_idct=use_fast_idct,
            )
            for place, array in zip(places, chunk, strict=True):
                decoded[place] = array
    for place, (index, data, info, region) in enumerate(items):
        try:
            array = decoded[place]
            if array is None:
                array = _second_try(data, info, color, region, adjust_orientation)
            elif color == "GRAY" and array.shape[2] == 3:
                array = convert.gray_from_cmyk(array)
            arrays[index] = convert.to_dtype(array, wanted, dtype)
        except CodecError as error:
            failures.append((index, str(error)))
        except MemoryError:
            failures.append((index, "out of memory"))


def _batched_color(info: ImageInfo, color: str) -> str | None:
    """The colour format to ask nvImageCodec for; `None` where another backend has the pixels of NVIDIA DALI."""
    if info.color in ("cmyk", "ycck") and info.format == "jpeg":
        return {"GRAY": "RGB", "ANY_DATA": None}.get(color, color)
    if info.format == "bmp" and color == "ANY_DATA":
        # With 32 bits the last 8 mean nothing in most files.
        return "RGB" if info.channels == 3 else "GRAY"
    if info.planar and info.bits != 8:
        # nvImageCodec takes their rows for those of all channels.
        return None
    if info.channels == 2 or (color == "ANY_DATA" and info.channels == 4 and info.color == "rgb"):
        return None
    return color


def _second_try(data: Buffer, info: ImageInfo, color: str, region: Region | None, adjust_orientation: bool) -> Array:
    """Decode by another backend where nvImageCodec failed or is missing, or raise the reason of the failure."""
    if info.format == "bmp" or (info.format == "jpeg" and info.bits == 8 and color != "ANY_DATA"):
        if nvimgcodec.available() or _is_cut_off(data, info):
            raise CodecError(_reason(data, info))
        array = opencv.decode(data, info, color)
        # It already has the wanted channels.
        color, info = "ANY_DATA", info._replace(channels=array.shape[2])
    elif imagecodecs_backend.available() and not (info.format == "tiff" and info.color == "palette"):
        try:
            array = imagecodecs_backend.decode(data, info)
        except CodecError as error:
            raise CodecError(f"{_reason(data, info)}: {error}") from None
    else:
        array = opencv.decode(data, info, "ANY_DATA")
        if info.format == "tiff" and info.orientation != 1:
            # OpenCV rotates TIFF regardless of its flags.
            height, width = info.displayed_size
            info = info._replace(height=height, width=width, orientation=1)
    return _finish(array, info, color, region, adjust_orientation)


def _is_cut_off(data: Buffer, info: ImageInfo) -> bool:
    return info.format == "jpeg" and b"\xff\xd9" not in bytes(data[-_END_OF_JPEG:])


def _reason(data: Buffer, info: ImageInfo) -> str:
    name = title(info.format)
    if info.format != "jpeg":
        return f"damaged or unsupported {name}"
    if info.bits != 8:
        return f"JPEG with {info.bits} bits is not supported"
    if _is_cut_off(data, info):
        return "truncated JPEG"
    complaint = turbojpeg.complaint(data)
    return f"damaged JPEG: {complaint}" if complaint else "damaged JPEG"


__all__ = [
    "MAX_PIXELS",
    "Buffer",
    "CodecError",
    "ImageInfo",
    "decode",
    "decode_one",
    "encode_jpeg",
    "encode_png",
    "jpeg_round_trip",
    "output_name",
    "peek",
    "peek_shapes",
]
