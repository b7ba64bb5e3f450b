"""From a picture as stored to what was asked for: orientation, region, colours and dtype, with NVIDIA DALI's arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.header import ImageInfo

Array = npt.NDArray[Any]
OUTPUT_TYPES = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")


def upright(array: Array, orientation: int) -> Array:
    """A view of `array` (HWC) turned and mirrored as its EXIF orientation says."""
    if orientation in (5, 6, 7, 8):
        array = array.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    return array


def to_colors(array: Array, output_type: str, info: ImageInfo) -> Array:
    """Channels of a picture as `output_type` wants them; YCbCr stays RGB until :func:`to_dtype`.

    Parameters
    ----------
    array
        HWC with grey, grey and alpha, RGB or RGBA, at the file's own depth. Alpha is dropped except by ``ANY_DATA``.
    output_type
        ``RGB``, ``BGR``, ``GRAY``, ``YCbCr`` or ``ANY_DATA``.
    info
        The picture's header: decoders for different formats round their grey differently.
    """
    if output_type == "ANY_DATA":
        return array
    if array.shape[2] < 3:
        array = array[..., :1]
        return array if output_type == "GRAY" else np.repeat(array, 3, axis=2)
    if output_type == "GRAY":
        return _gray(array, info.format)
    array = array[..., :3]
    return array[..., ::-1] if output_type == "BGR" else array


def _gray(rgb: Array, name: str) -> Array:
    """Luma from RGB: libpng's weights (cut off at 8 bits) in PNG, OpenCV's 15-bit ones (rounded) elsewhere."""
    red, green, blue = (9797, 19234, 3737) if name == "png" else (9798, 19235, 3735)
    if name == "pnm":
        red, green, blue = 9798, 19234, 3736
    if rgb.dtype.kind == "f":
        weights = (0.299, 0.587, 0.114)
        total = sum(rgb[..., c] * rgb.dtype.type(w) for c, w in enumerate(weights))
        return np.asarray(total, rgb.dtype)[..., None]
    wide = np.uint64 if rgb.dtype.itemsize > 2 else np.uint32
    total = rgb[..., 0] * wide(red)
    total += rgb[..., 1] * wide(green)
    total += rgb[..., 2] * wide(blue)
    if name != "png" or rgb.dtype != np.uint8:
        total += wide(1 << 14)
    return (total >> wide(15)).astype(rgb.dtype)[..., None]


def to_dtype(array: Array, output_type: str, dtype: npt.DTypeLike, bits: int) -> Array:
    """Values of `array` in the range of `dtype`, C-contiguous; RGB becomes YCbCr where that is `output_type`.

    Integers are scaled by the ratio of their largest values and rounded to the nearest even; real numbers
    lie between 0 and 1. The YCbCr is that of ITU-R BT.601, 16 to 235 for Y.

    Parameters
    ----------
    array
        HWC.
    output_type
        As asked for.
    dtype
        Of the result.
    bits
        Significant bits of `array`, as many as its dtype has or fewer.
    """
    wanted = np.dtype(dtype)
    full = array.dtype.itemsize * 8
    if output_type == "YCbCr":
        return _ycbcr(array, wanted, bits)
    if array.dtype == wanted and (bits >= full or wanted.kind == "f"):
        return np.ascontiguousarray(array)
    if array.dtype == np.uint8 and wanted == np.uint16 and bits == full:
        return np.multiply(array, np.uint16(257), order="C", dtype=np.uint16)
    return _saturated(array, _largest(wanted) / _largest(array.dtype, bits), wanted)


def _largest(dtype: np.dtype[Any], bits: int | None = None) -> float:
    if dtype.kind == "f":
        return 1.0
    width = dtype.itemsize * 8 if bits is None else min(bits, dtype.itemsize * 8)
    return float((1 << (width - (dtype.kind == "i"))) - 1)


def _saturated(array: Array, factor: float, wanted: np.dtype[Any]) -> Array:
    exact = np.float64 if array.dtype.itemsize > 2 and array.dtype.kind != "f" or wanted.itemsize > 4 else np.float32
    values = np.multiply(array, exact(factor), order="C", dtype=exact)
    if wanted.kind == "f":
        return values.astype(wanted, copy=False)
    limits = np.iinfo(wanted)
    np.rint(values, out=values)
    # NaN, which a real-valued file may hold, becomes zero.
    np.nan_to_num(values, copy=False, nan=0.0, posinf=float(limits.max), neginf=float(limits.min))
    return np.clip(values, limits.min, limits.max, out=values).astype(wanted)


# Rows Y, Cb and Cr of ITU-R BT.601 for values of full range.
_BT601 = np.array(
    [
        [0.25678824, 0.50412941, 0.09790588],
        [-0.14822290, -0.29099279, 0.43921569],
        [0.43921569, -0.36778831, -0.07142737],
    ],
    np.float32,
)


def _ycbcr(rgb: Array, wanted: np.dtype[Any], bits: int) -> Array:
    bytes_only = rgb.dtype == np.uint8 and wanted == np.uint8
    # Bytes are offset by 16 and 128 of 255, other types by 1/16 and 1/2 of their range.
    offsets = (16.0, 128.0, 128.0) if bytes_only else (0.0625, 0.5, 0.5)
    values = rgb.astype(np.float32)
    if not bytes_only:
        values *= np.float32(1 / _largest(rgb.dtype, bits))
    out = np.empty(rgb.shape, np.float32)
    for row, offset in enumerate(offsets):
        weights = _BT601[row]
        out[..., row] = values[..., 0] * weights[0] + values[..., 1] * weights[1] + values[..., 2] * weights[2]
        out[..., row] += np.float32(offset)
    return _saturated(out, 1.0 if bytes_only else _largest(wanted), wanted)
