"""Replaces pixels by the median of a window."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8, UINT16
from dali_lab.operators.filters.pictures import LAYOUTS
from dali_lab.schema import Call, ErrorCase, Input, Operator, Output, integers, register, samples

DTYPES = (UINT8, UINT16, INT16, INT32, FLOAT)


@register
class MedianBlur(Operator):
    """Replaces each element by the median of a window around it, in each channel; the edge is repeated outside."""

    name = "experimental.median_blur"
    inputs = (Input("data", dtypes=DTYPES, layouts=LAYOUTS, doc="Images or sequences of {types}."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    frames = True
    on_gpu = True
    arguments = (
        integers(
            "window_size",
            (3, 3),
            "Width and height of the window, odd numbers.",
            length=2,
            tensor=True,
            unit="px",
            minimum=1,
            maximum=255,
            important=True,
            slider=(None, 31, 2),
        ),
    )
    example = ">>> fn.experimental.median_blur(images, window_size=(5, 5))"
    differs = (
        "It runs on the CPU too; INT16 and any number of channels are taken. Where a NaN is in the window, the CPU and"
        " a GPU may take different ones of its elements."
    )
    tested_elsewhere = "tests/unit/operators/test_median_blur.py"

    def run(self, call: Call, data: Batch) -> Batch:
        sizes = call.vectors("window_size", 2, np.int64)
        call.refuse((sizes < 1) | (sizes % 2 == 0), "must be odd, got {}", sizes, argument="window_size")
        out = call.allocate(data.shapes, data.dtype, data.layout)
        call.kernels("morphology").medians(data, out, sizes)
        return out

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        yield ErrorCase((pictures,), {"window_size": (4, 3)}, words=("window_size", "odd", "[4, 3]"))
        yield ErrorCase((pictures,), {"window_size": (0, 3)}, words=("window_size", "0"))
        yield ErrorCase((samples.pictures(dtype=np.float64),), words=("FLOAT64", "UINT8"))
