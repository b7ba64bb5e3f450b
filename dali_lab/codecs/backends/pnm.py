"""PNM pictures (PBM, PGM and PPM, as text or binary), decoded with NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.codecs.headers import Header
from dali_lab.codecs.headers.pnm import pnm_header
from dali_lab.codecs.job import Job


def available() -> bool:
    """Always."""
    return True


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode PNM pictures of any kind."""
    return job.each(which, lambda index: job.as_stored(index, _pixels(job.data.array(index), job.headers[index])))


def _pixels(data: Buffer, header: Header) -> npt.NDArray[Any]:
    """The picture as HWC; bitmaps (P1 and P4) become 0 and 255; text values with a lower maximum are scaled to 255.

    Other values stay as stored. Where the largest value has more than 8 bits but is not 65535, values lose their lower
    8 bits: so do NVIDIA DALI's, and a picture of 12 bits comes out dark there as here.

    Raises
    ------
    CodecError
        If there are fewer pixels than the header says, or text that is no number.
    """
    view = memoryview(data).cast("B")
    kind, width, height, largest, start = pnm_header(view)
    shape = (height, width, header.channels)
    count = height * width * header.channels
    dtype = np.uint16 if header.bits > 8 else np.uint8
    body = view[start - 1 :] if kind < 4 else view[start:]
    if kind == 4:
        stride = (width + 7) // 8
        bits = np.frombuffer(_enough(body, stride * height), np.uint8).reshape(height, stride)
        return np.where(np.unpackbits(bits, axis=1)[:, :width], np.uint8(0), np.uint8(255))[..., None]
    if kind >= 5:
        stored = np.dtype(">u2") if largest > 255 else np.dtype(np.uint8)
        pixels = np.frombuffer(_enough(body, count * stored.itemsize), stored)
        return _narrow(pixels.astype(dtype), largest).reshape(shape)
    text = _without_comments(bytes(body))
    if kind == 1:
        digits = np.frombuffer(text, np.uint8)
        digits = digits[(digits == 0x30) | (digits == 0x31)][:count]
        values = np.where(digits == 0x31, 0, 255)
    else:
        try:
            values = np.array(text.split(maxsplit=count)[:count], np.int64)
        except (ValueError, OverflowError):
            raise CodecError("bad PNM pixels: a number was expected") from None
        values = np.clip(values, 0, largest)
        if largest < 255:
            # Only values in text are scaled to 8 bits; fractions are cut off.
            values = values * 255 // largest
    if values.size < count:
        raise CodecError(f"truncated PNM: {values.size} of {count} values")
    return _narrow(values.astype(dtype), largest).reshape(shape)


def _narrow(values: npt.NDArray[Any], largest: int) -> npt.NDArray[Any]:
    return (values >> 8).astype(np.uint8) if 255 < largest < 65535 else values


def _enough(body: memoryview, wanted: int) -> memoryview:
    if len(body) < wanted:
        raise CodecError(f"truncated PNM: {len(body)} of {wanted} bytes of pixels")
    return body[:wanted]


def _without_comments(text: bytes) -> bytes:
    if b"#" not in text:
        return text
    return b"\n".join(line.split(b"#", 1)[0] for line in text.splitlines())
