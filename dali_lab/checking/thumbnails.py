"""Small pictures of samples, decoded by the same executor."""

from __future__ import annotations

import base64
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab import fn, types
from dali_lab.checking.walk import Walk
from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline

SIDE = 96
"""Pixels of the longer side."""
_MOST_BYTES = 64 << 20

Array = npt.NDArray[np.generic]


def thumbnails(walk: Walk, reader: str, places: Iterable[int]) -> dict[int, str]:
    """Pictures of samples as addresses (``data:``) of JPEG files, by their places; without those that have none.

    Parameters
    ----------
    walk
        Reads the samples anew.
    """
    found: dict[int, str] = {}
    encoded, raw = _decoder(encoded=True), _decoder(encoded=False)
    try:
        for place, data in walk.samples(reader, sorted(set(places))):
            content = _as_picture(data)
            if content is None or content.nbytes > _MOST_BYTES:
                continue
            picture = _run(encoded if content.ndim == 1 else raw, content)
            if picture is not None:
                found[place] = _address(picture)
    finally:
        encoded.close()
        raw.close()
    return found


def _decoder(*, encoded: bool) -> Pipeline:
    pipeline = Pipeline(1, 1, None, exec_pipelined=False, exec_async=False, prefetch_queue_depth=1)
    with pipeline:
        layout = None if encoded else "HWC"
        data = fn.external_source(name="data", layout=layout, device="cpu")
        pictures = fn.decoders.image(data, output_type=types.RGB) if encoded else data
        pipeline.set_outputs(fn.resize(pictures, resize_longer=SIDE, antialias=True, dtype=types.UINT8))
    pipeline.build()
    return pipeline


def _run(pipeline: Pipeline, content: Array) -> Array | None:
    try:
        pipeline.feed_input("data", [content])
        (output,) = pipeline.run()
    except (DaliLabError, ValueError, MemoryError):
        return None
    return np.array(output.at(0))


def _as_picture(data: Array) -> Array | None:
    """Encoded bytes, or the first frame of pixels; `None` for what is no picture."""
    if data.dtype != np.uint8 or not data.size:
        return None
    if data.ndim == 1:
        return data
    while data.ndim > 3:
        data = data[0]
    if data.ndim == 2:
        data = data[:, :, None]
    if data.shape[2] not in (1, 3):
        return None
    return np.ascontiguousarray(np.repeat(data, 3, axis=2) if data.shape[2] == 1 else data)


def _address(picture: Array) -> str:
    from dali_lab.codecs.encoding import encode_jpeg

    return f"data:image/jpeg;base64,{base64.b64encode(encode_jpeg(np.asarray(picture, np.uint8), 80)).decode()}"
