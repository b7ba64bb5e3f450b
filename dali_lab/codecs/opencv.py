"""OpenCV: encoding, and JPEG, BMP and TIFF where nvImageCodec has no wheel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import ImageInfo


def module() -> Any:
    """OpenCV, with the settings that the process has given it.

    Raises
    ------
    CodecError
        If it is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise CodecError("this needs OpenCV (package 'opencv-python-headless'), which is not installed") from None
    return cv2


@contextmanager
def reporting_by_errors(cv2: Any) -> Iterator[None]:
    """Turn off OpenCV's messages while a picture is decoded or encoded: an exception reports the fault."""
    logging = cv2.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        # Silent: it was turned off by the process, or by another thread that is here and turns it on again.
        if level != logging.LOG_LEVEL_SILENT:
            logging.setLogLevel(level)


def decode(data: Buffer, info: ImageInfo, output_type: str) -> npt.NDArray[Any]:
    """HWC pixels as stored (before the orientation), ``RGB``, ``BGR``, ``GRAY`` or ``ANY_DATA``.

    Raises
    ------
    CodecError
        If OpenCV does not decode it.
    """
    cv2 = module()
    if output_type == "GRAY":
        flags = cv2.IMREAD_GRAYSCALE
    elif output_type == "ANY_DATA":
        flags = cv2.IMREAD_UNCHANGED
    else:
        flags = cv2.IMREAD_COLOR
    try:
        with reporting_by_errors(cv2):
            array = cv2.imdecode(
                np.frombuffer(data, np.uint8), flags | cv2.IMREAD_ANYDEPTH | cv2.IMREAD_IGNORE_ORIENTATION
            )
    except cv2.error as error:
        raise CodecError(str(error).strip().splitlines()[-1]) from None
    if array is None:
        raise CodecError("OpenCV does not decode it")
    if array.ndim == 2:
        return array[..., None]  # type: ignore[no-any-return]
    if output_type == "BGR":
        return array  # type: ignore[no-any-return]
    return array[..., [2, 1, 0, 3][: array.shape[2]]] if array.shape[2] >= 3 else array  # type: ignore[no-any-return]
