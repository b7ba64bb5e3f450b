"""simplejpeg: whole upright JPEG pictures, a seventh faster than nvImageCodec and with the same pixels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dali_lab.codecs.encoded import Buffer
from dali_lab.codecs.job import Job


@functools.cache
def _function() -> Any:
    try:
        from simplejpeg import decode_jpeg
    except ImportError:
        return None
    return decode_jpeg


def available() -> bool:
    """Whether simplejpeg is installed."""
    return _function() is not None


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode JPEG pictures of 8 bits and one or three channels in which libjpeg-turbo finds nothing wrong."""
    left = []
    for index in which:
        whole = job.region(index) is None
        out = job.out.array(index) if whole and job.wanted.direct else None
        color = job.color(index)
        try:
            array = _function()(job.data.array(index), color, fastdct=job.wanted.use_fast_idct, buffer=out)
        except ValueError:
            left.append(index)
            continue
        if out is None:
            job.as_displayed(index, job.cropped(index, array))
    return left


def complaint(data: Buffer) -> str:
    """libjpeg-turbo's message about a damaged file, or an empty string."""
    if available():
        try:
            _function()(np.asarray(data), "RGB")
        except ValueError as error:
            return str(error)
    return ""
