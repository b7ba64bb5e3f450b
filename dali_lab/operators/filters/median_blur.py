"""Replaces pixels by the median of a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.operators.filters.pictures import LAYOUTS, each, groups
from dali_lab.schema import Arg, Call, ErrorCase, Input, Operator, Output, register, samples
from dali_lab.types import FLOAT, INT16, INT32, UINT8, UINT16

DTYPES = (UINT8, UINT16, INT16, INT32, FLOAT)
_ROWS = 32
_NETWORKS = (3, 5)
_SORTED = (UINT8, UINT16, INT16, FLOAT)
"""Windows and types for which OpenCV has sorting networks."""


@register
class MedianBlur(Operator):
    """Replaces each element by the median of a window around it, in each channel; the edge is repeated outside."""

    name = "experimental.median_blur"
    family = "filters"
    title = "Median blur"
    inputs = (Input("data", layouts=LAYOUTS, doc="Images or sequences of UINT8, UINT16, INT16, INT32 or FLOAT."),)
    outputs = (Output("data"),)
    devices = ("cpu", "gpu")
    frames = True
    on_gpu = True
    arguments = (
        Arg(
            "window_size",
            "int",
            (3, 3),
            "Width and height of the window, odd numbers.",
            vector=True,
            length=2,
            tensor=True,
            unit="px",
            minimum=1,
            soft_maximum=31,
            step=2,
            important=True,
        ),
    )
    example = """
    >>> fn.experimental.median_blur(images, window_size=(5, 5))
    """
    differs = "It runs on the CPU too; INT16 and any number of channels are taken."
    tested_elsewhere = "tests/unit/operators/test_median_blur.py"

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype not in DTYPES:
            raise call.problem(f"takes {', '.join(dtype.name for dtype in DTYPES)}, got {data.dtype.name}")
        sizes = call.vectors("window_size", 2, np.int64)
        wrong = (sizes < 1) | (sizes % 2 == 0)
        if wrong.any():
            index = int(wrong.any(axis=1).argmax())
            raise call.problem(f"must be odd, got {sizes[index].tolist()}", argument="window_size", sample=index)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        if call.gpu is not None:
            call.kernels("morphology").medians(data, out, sizes)
            return out
        windows = sizes.tolist()
        for index, source, target in each(call, data, out):
            width, height = windows[index]
            if width == height and width in _NETWORKS and data.dtype in _SORTED:
                _sorted(source, width, target)
                continue
            for channel in range(source.shape[2]) if source.ndim == 3 else (slice(None),):
                plane, goal = (source[..., channel], target[..., channel]) if source.ndim == 3 else (source, target)
                _median(np.ascontiguousarray(plane), width, height, goal)
        return out

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        yield ErrorCase((pictures,), {"window_size": (4, 3)}, words=("window_size", "odd", "[4, 3]"))
        yield ErrorCase((pictures,), {"window_size": (0, 3)}, words=("window_size", "0"))
        yield ErrorCase((samples.pictures(dtype=np.float64),), words=("FLOAT64", "UINT8"))


def _sorted(source: npt.NDArray[Any], window: int, target: npt.NDArray[Any]) -> None:
    """The median of square windows in all channels of `source`, into `target`, by OpenCV's sorting networks.

    With bytes it chooses slower ways, by far for one channel and by half for windows of 5 × 5: 16 bits hold them too.
    """
    from dali_lab.codecs.opencv import module

    cv2 = module()
    channels = source.shape[2] if source.ndim == 3 else 1
    wide = source.dtype == np.uint8 and (channels == 1 or window == 5)
    if channels <= 4 and not wide:
        cv2.medianBlur(source, window, target)
        return
    for part in groups(channels):
        some = source[..., part] if source.ndim == 3 else source
        some = some.astype(np.uint16) if wide else np.ascontiguousarray(some)
        result = cv2.medianBlur(some, window)
        if source.ndim == 3:
            target[..., part] = result.reshape(some.shape)
        else:
            target[...] = result


def _median(plane: npt.NDArray[Any], width: int, height: int, target: npt.NDArray[Any]) -> None:
    """The median of windows of `plane`, into `target`; by OpenCV where it has the type and the window."""
    from dali_lab.codecs.opencv import module

    if width == height == 1:
        target[...] = plane
        return
    if width == height and plane.dtype == np.uint8:
        target[...] = module().medianBlur(plane, width)
        return
    padded = np.pad(plane, ((height // 2,) * 2, (width // 2,) * 2), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width))
    middle = width * height // 2
    for start in range(0, plane.shape[0], _ROWS):
        part = windows[start : start + _ROWS].reshape(-1, plane.shape[1], width * height)
        target[start : start + _ROWS] = np.partition(part, middle, axis=-1)[..., middle]
