"""Encoding as JPEG, and a JPEG round trip for its artefacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends import opencv
from dali_lab.codecs.encoded import CodecError

Array = npt.NDArray[Any]


def encode_jpeg(array: Array, quality: int = 85) -> bytes:
    """Encode a picture as baseline JPEG with colours at half resolution.

    Parameters
    ----------
    array
        ``uint8`` HW or HWC with 1, 3 (RGB) or 4 channels; alpha is dropped.
    quality
        1 to 100.

    Raises
    ------
    CodecError
        If the array is no such picture, or has more than 65,500 rows or columns.
    ValueError
        If `quality` is out of range.
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"quality must be from 1 to 100, not {quality}")
    return _jpeg(_bgr(array), quality).tobytes()


def jpeg_round_trip(array: Array, quality: int) -> Array:
    """An RGB picture (``uint8`` HWC) after JPEG compression of a quality from 1 to 100; equal to NVIDIA DALI's.

    Raises
    ------
    CodecError
        If the array is no such picture.
    ValueError
        If `quality` is out of range.
    """
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or not array.size:
        raise CodecError(f"an RGB picture with layout HWC was expected, not {array.dtype} of shape {array.shape}")
    if not 1 <= quality <= 100:
        raise ValueError(f"quality must be from 1 to 100, not {quality}")
    cv2 = opencv.module()
    encoded = _jpeg(cv2.cvtColor(array, cv2.COLOR_RGB2BGR), quality)
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)  # type: ignore[no-any-return]


def _bgr(array: Array) -> Array:
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or channels not in (1, 3, 4) or not array.size:
        raise CodecError(f"cannot encode an array of shape {array.shape} and type {array.dtype}: uint8 HWC is needed")
    return array if channels < 3 else array[..., 2::-1]


def _jpeg(array: Array, quality: int) -> npt.NDArray[np.uint8]:
    """The bytes of a file that holds a picture with the channels in OpenCV's order."""
    cv2 = opencv.module()
    try:
        with opencv.reporting_by_errors(cv2):
            done, encoded = cv2.imencode(".jpg", np.ascontiguousarray(array), [cv2.IMWRITE_JPEG_QUALITY, int(quality)])
    except cv2.error as error:
        raise CodecError(str(error).strip().splitlines()[-1]) from None
    if not done:
        raise CodecError(f"cannot encode a picture of {array.shape[0]} x {array.shape[1]} pixels as JPEG")
    return encoded  # type: ignore[no-any-return]
