"""OpenCV: what nvImageCodec and imagecodecs decode where those have no wheel, palettes of TIFF, and encoding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends.reasons import is_cut_off, reason
from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.job import Job
from dali_lab.kernels.cpu.header_table import BMP, JPEG, TIFF


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


def available() -> bool:
    """Always: where OpenCV is missing, decoding says so."""
    return True


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode pictures whole: JPEG of 8 bits and BMP in the colours that are wanted, all others as stored.

    Pictures in CMYK, and with palettes of 16 bits, are a level off NVIDIA DALI's.
    """

    def one(index: int) -> None:
        data, header, color = job.data.array(index), job.headers[index], job.wanted.colors
        if header.format != BMP and not (header.format == JPEG and header.bits == 8 and color != "ANY_DATA"):
            array = _pixels(data, "ANY_DATA")
            # OpenCV rotates TIFF regardless of its flags.
            job.as_stored(index, array, upright=header.format == TIFF)
        elif is_cut_off(data, header):
            # OpenCV fills in the rest.
            raise reason(data, header)
        else:
            job.as_stored(index, _pixels(data, color), colored=True)

    return job.each(which, one)


def _pixels(data: Buffer, color: str) -> npt.NDArray[Any]:
    """HWC before the orientation."""
    cv2 = module()
    flags = {"GRAY": cv2.IMREAD_GRAYSCALE, "ANY_DATA": cv2.IMREAD_UNCHANGED}.get(color, cv2.IMREAD_COLOR)
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
    if color == "BGR" or array.shape[2] < 3:
        return array  # type: ignore[no-any-return]
    return array[..., [2, 1, 0, 3][: array.shape[2]]]  # type: ignore[no-any-return]
