"""Conversion of decoded pictures to the wanted orientation, colours and dtype, with NVIDIA DALI's arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu.header_table import BMP, PNG, PNM, TIFF, Header

Array = npt.NDArray[Any]
#: First and last gamma, in hundred-thousandths, that libpng takes for 1: they and their inverses are 5 % off at most.
STRAIGHT = (95_238, 105_000)


def upright(array: Array, orientation: int) -> Array:
    """A view of `array` (HWC) turned and mirrored as its EXIF orientation says."""
    if orientation in (5, 6, 7, 8):
        array = array.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    return array


def to_colors(array: Array, output_type: str, header: Header) -> Array:
    """Channels of a picture as `output_type` wants them; YCbCr stays RGB until :func:`to_dtype`.

    Parameters
    ----------
    array
        HWC with grey, grey and alpha, RGB or RGBA, at the file's own depth. Alpha is dropped except by ``ANY_DATA``.
    output_type
        ``RGB``, ``BGR``, ``GRAY``, ``YCbCr`` or ``ANY_DATA``.
    header
        The picture's: decoders for different formats round their grey differently.
    """
    if output_type == "ANY_DATA":
        return array
    if array.shape[2] < 3:
        array = array[..., :1]
        return array if output_type == "GRAY" else np.repeat(array, 3, axis=2)
    if output_type == "GRAY":
        if header.format == PNG and _is_curved(header.gamma):
            return _gray_of_light(array, header.gamma, header.significant)
        return _gray(array, header)
    array = array[..., :3]
    return array[..., ::-1] if output_type == "BGR" else array


def _gray(rgb: Array, header: Header) -> Array:
    """Luma from RGB, by the weights of the library that decodes the format in NVIDIA DALI.

    They have 15 bits: libpng's (cut off at 8 bits) in PNG, else OpenCV's or nvImageCodec's, rounded. Real numbers are
    weighed as they are, and so are TIFFs that nvImageCodec need not arrange otherwise.
    """
    kind = header.format
    if rgb.dtype.kind == "f":
        return np.asarray(_weighed(rgb), rgb.dtype)[..., None]
    if kind == TIFF and rgb.dtype.itemsize < 4 and not header.planar and header.orientation == 1:
        return np.floor(_weighed(rgb) + np.float32(0.5)).astype(rgb.dtype)[..., None]
    red, green, blue = (9798, 19234, 3736) if kind in (BMP, PNM, TIFF) else (9798, 19235, 3735)
    if kind == PNG:
        red, green, blue = 9797, 19234, 3737
    wide = np.uint64 if rgb.dtype.itemsize > 2 else np.uint32
    total: Any = rgb[..., 0] * wide(red)
    total += rgb[..., 1] * wide(green)
    total += rgb[..., 2] * wide(blue)
    if kind != PNG or rgb.dtype != np.uint8:
        total += wide(1 << 14)
    return (total >> wide(15)).astype(rgb.dtype)[..., None]  # type: ignore[no-any-return]


def _weighed(rgb: Array) -> Array:
    real = rgb.dtype.type if rgb.dtype.kind == "f" else np.float32
    total: Array = rgb[..., 0] * real(0.299) + rgb[..., 1] * real(0.587) + rgb[..., 2] * real(0.114)
    return total


def _inverse(gamma: int) -> int:
    """One through a gamma in hundred-thousandths, as libpng rounds it."""
    return int(np.floor(1e10 / gamma + 0.5))


def _is_far(power: int) -> bool:
    """Whether libpng takes account of a power, which must be 5 % off 1 for that."""
    return abs(power - 100_000) > 5_000


def _is_curved(gamma: int) -> bool:
    """Whether a gamma shows, and is one that libpng believes."""
    return 16 <= gamma <= 625_000_000 and not STRAIGHT[0] <= gamma <= STRAIGHT[1]


def _gray_of_light(rgb: Array, gamma: int, significant: int) -> Array:
    """Luma of a PNG with a gamma: libpng weighs light, by tables of as many bits as the picture has.

    Tables of 16 bits resolve only the upper `significant` bits (0 stands for all), but at least 8.
    """
    limit = int(np.iinfo(rgb.dtype).max)
    skipped = min(16 - significant, 8) if limit > 255 and 0 < significant < 16 else 0
    steps = np.arange(limit + 1) >> skipped
    values = steps / (limit >> skipped)
    to_light, from_light = (
        np.floor(limit * values ** (power * 0.00001 if _is_far(power) else 1.0) + 0.5).astype(np.uint32)
        for power in (_inverse(gamma), _inverse(_inverse(gamma)))
    )
    red, green, blue = (rgb[..., channel] for channel in range(3))
    total = to_light[red] * np.uint32(9797) + to_light[green] * np.uint32(19234) + to_light[blue] * np.uint32(3737)
    gray = from_light[(total + np.uint32(1 << 14)) >> np.uint32(15)].astype(rgb.dtype)
    same = np.floor(limit * values + 0.5).astype(rgb.dtype)[red]
    return np.where((red == green) & (red == blue), same, gray)[..., None]


def gray_from_cmyk(rgb: Array) -> Array:
    """Luma of RGB that came from a CMYK JPEG: summed in float32 and cut off, as NVIDIA DALI does."""
    return _weighed(rgb).astype(np.uint8)[..., None]


def to_dtype(array: Array, output_type: str, dtype: npt.DTypeLike) -> Array:
    """Values of `array` in the range of `dtype`; RGB becomes YCbCr where that is `output_type`.

    Integers are scaled by the ratio of their types' largest values and rounded, halves away from zero;
    real numbers lie between 0 and 1. The YCbCr is that of ITU-R BT.601, 16 to 235 for Y.

    Parameters
    ----------
    array
        HWC.
    output_type
        As asked for.
    dtype
        Of the result.
    """
    wanted = np.dtype(dtype)
    if output_type == "YCbCr":
        return _ycbcr(array, wanted)
    if array.dtype == wanted:
        return array
    if array.dtype == np.uint8 and wanted == np.uint16:
        return np.multiply(array, np.uint16(257), order="C", dtype=np.uint16)
    precise = array.dtype in _WIDE or wanted == np.float64
    values = np.multiply(
        array, _scale(array.dtype, wanted, precise), order="C", dtype=np.float64 if precise else np.float32
    )
    return _saturated(values, wanted)


_WIDE = (np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.float64))


def _largest(dtype: np.dtype[Any]) -> float:
    return 1.0 if dtype.kind == "f" else float(np.iinfo(dtype).max)


def _scale(stored: np.dtype[Any], wanted: np.dtype[Any], precise: bool = False) -> np.floating[Any]:
    real = np.float64 if precise else np.float32
    return real(real(_largest(wanted)) / real(_largest(stored)))


def _saturated(values: Array, wanted: np.dtype[Any]) -> Array:
    """Round halves away from zero and clamp, in place; real types take the values as they are."""
    if wanted.kind == "f":
        return values.astype(wanted, copy=False)
    # The largest float below one half: adding 0.5 would carry values just below a half over it.
    half = np.nextafter(values.dtype.type(0.5), values.dtype.type(0))
    values += np.copysign(half, values)
    limits = np.iinfo(wanted)
    # NaN, which a file of real numbers may hold, becomes zero.
    np.nan_to_num(values, copy=False, nan=0.0)
    if wanted.itemsize >= 4:
        # The largest of these numbers are none of float32.
        values = values.astype(np.float64)
    return np.clip(values, limits.min, limits.max, out=values).astype(wanted)


_LUMA = (0.299, 0.587, 0.114)
# Rows Y, Cb and Cr of ITU-R BT.601: luma over 219 steps of 255, colour differences over 224.
_BT601 = np.array(
    [
        [w * 219 / 255 for w in _LUMA],
        [-0.299 / 1.772 * 224 / 255, -0.587 / 1.772 * 224 / 255, 0.5 * 224 / 255],
        [0.5 * 224 / 255, -0.587 / 1.402 * 224 / 255, -0.114 / 1.402 * 224 / 255],
    ],
    np.float32,
)


def _ycbcr(rgb: Array, wanted: np.dtype[Any]) -> Array:
    """Scale, matrix and offset in the order in which NVIDIA DALI rounds them, so that float32 agrees to the bit."""
    # Unlike that of plain channels, this scale is rounded once.
    weights = _BT601 * np.float32(_largest(wanted) / _largest(rgb.dtype))
    steps = 1.0 if wanted.kind == "f" else _largest(wanted) + 1
    channels = rgb.astype(np.float32)
    out = np.empty(rgb.shape, np.float32)
    for row, offset in enumerate((0.0625, 0.5, 0.5)):
        red, green, blue = (channels[..., c] * weights[row, c] for c in range(3))
        np.add(red + green + blue, np.float32(offset * steps), out=out[..., row])
    return _saturated(out, wanted)
