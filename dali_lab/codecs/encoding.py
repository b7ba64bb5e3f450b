"""Encoding as JPEG, and a JPEG round trip for its artefacts."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

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
    return encode(array, "JPEG", quality=int(quality), subsampling="4:2:0")


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
    from simplejpeg import decode_jpeg

    return np.asarray(decode_jpeg(encode_jpeg(array, quality), "RGB"))


def encode(array: Array, form: str, **options: Any) -> bytes:
    """Encode a picture in a format of Pillow, with its options; arrays are those of :func:`encode_jpeg`."""
    from PIL import Image

    channels = array.shape[2] if array.ndim == 3 else 1
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or channels not in (1, 3, 4) or not array.size:
        raise CodecError(f"cannot encode an array of shape {array.shape} and type {array.dtype}: uint8 HWC is needed")
    pixels = array[..., 0] if array.ndim == 3 and channels == 1 else array[..., :3] if channels == 4 else array
    file = io.BytesIO()
    try:
        Image.fromarray(np.ascontiguousarray(pixels)).save(file, form, **options)
    except (OSError, ValueError) as error:
        height, width = array.shape[:2]
        raise CodecError(f"cannot encode a picture of {height} x {width} pixels as {form}: {error}") from None
    return file.getvalue()
