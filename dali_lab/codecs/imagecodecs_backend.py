"""imagecodecs: PNG, JPEG 2000 and WebP by decoders that survive damaged files, and formats no other backend reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import ImageInfo

_module: Any = None
_missing = False


def available() -> bool:
    """Whether imagecodecs is installed."""
    return _load() is not None


def _load() -> Any:
    global _module, _missing
    if _module is None and not _missing:
        try:
            import imagecodecs

            _module = imagecodecs
        except ImportError:
            _missing = True
    return _module


def decode(data: Buffer, info: ImageInfo, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """The picture as stored: HWC, at its own depth, before its orientation is applied.

    `out`, an HWC array of the picture's shape and type, is filled where the decoder can; use the returned array.

    Raises
    ------
    CodecError
        With the decoder's own reason.
    """
    library = _load()
    if library is None:
        raise CodecError(f"decoding {info.format} needs the package 'imagecodecs', which is not installed")
    try:
        array = _DECODERS[info.format](library, data, info, out)
    except CodecError:
        raise
    except Exception as error:
        # Each of its decoders raises a class of its own, derived from RuntimeError or ValueError; a mutated file
        # may also trip its size checks (MemoryError, OverflowError). Whatever it is, this picture is lost, no other.
        raise CodecError(_plain(error)) from None
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise CodecError(f"pictures with {array.ndim} dimensions are not supported")
    return array


def _png(library: Any, data: Buffer, info: ImageInfo, out: Any) -> npt.NDArray[Any]:
    # spng is faster and leaves transparency by palette or key colour alone, as NVIDIA DALI does;
    # libpng is more lenient, and the one that returns 16 bits and grey with alpha.
    if info.bits <= 8 and info.channels != 2:
        try:
            return library.spng_decode(data, out=out)  # type: ignore[no-any-return]
        except library.SpngError:
            pass
    array = library.png_decode(data)
    stored = 1 if array.ndim == 2 else array.shape[2]
    return array[..., : info.channels] if stored > info.channels else array  # type: ignore[no-any-return]


def _jpeg2000(library: Any, data: Buffer, info: ImageInfo, out: Any) -> npt.NDArray[Any]:
    array = library.jpeg2k_decode(data)
    # NVIDIA DALI takes 12 bits for the lower ones of 16.
    return _over_whole_range(array, info.bits) if info.bits < 8 else array


def _webp(library: Any, data: Buffer, info: ImageInfo, out: Any) -> npt.NDArray[Any]:
    return library.webp_decode(data, hasalpha=info.channels == 4, out=out)  # type: ignore[no-any-return]


def _jpeg(library: Any, data: Buffer, info: ImageInfo, out: Any) -> npt.NDArray[Any]:
    return _over_whole_range(library.jpeg_decode(data), info.bits)


def _tiff(library: Any, data: Buffer, info: ImageInfo, out: Any) -> npt.NDArray[Any]:
    array = library.tiff_decode(data, index=0)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * np.uint8(255)
    else:
        array = _over_whole_range(array, info.bits)
    if array.ndim == 3 and array.shape[0] == info.channels and array.shape[1:] == (info.height, info.width):
        array = array.transpose(1, 2, 0)
    if info.color == "inverse gray" and array.dtype.kind == "u":
        array = np.iinfo(array.dtype).max - array
    return array  # type: ignore[no-any-return]


def _over_whole_range(array: npt.NDArray[Any], bits: int) -> npt.NDArray[Any]:
    """Values of an odd number of bits, stretched so that the largest is that of their type."""
    if array.dtype.kind != "u" or not 0 < bits < 8 * array.dtype.itemsize:
        return array
    scale = np.iinfo(array.dtype).max / ((1 << bits) - 1)
    return np.rint(array * scale).astype(array.dtype)


_DECODERS = {"png": _png, "jpeg2000": _jpeg2000, "webp": _webp, "jpeg": _jpeg, "tiff": _tiff}


def _plain(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
