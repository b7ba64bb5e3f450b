"""Shared by dilation and erosion: arguments, border modes, and the kernel call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, UINT8, UINT16
from dali_lab.operators.filters.pictures import LAYOUTS
from dali_lab.schema import Call, ErrorCase, Input, Operator, Output, choice, integer, integers, samples

DTYPES = (UINT8, UINT16, INT16, FLOAT)
BORDERS = ("constant", "replicate", "reflect", "wrap", "reflect_101")
MORPHING = (
    integers(
        "mask_size",
        (3, 3),
        "Width and height of the neighbourhood.",
        length=2,
        per_frame=True,
        unit="px",
        minimum=1,
        maximum=65535,
        important=True,
        slider=(None, 31),
    ),
    integers(
        "anchor",
        (-1, -1),
        "Which column and row of the neighbourhood lie on the result's place; −1 is the middle.",
        length=2,
        per_frame=True,
        minimum=-1,
    ),
    integer("iterations", 1, "How many times it is done.", minimum=0, maximum=32767, important=True, slider=(None, 10)),
    choice(
        "border_mode",
        "constant",
        BORDERS,
        "What is outside: nothing that counts, the edge repeated, the image mirrored with its edge or without it, or"
        " the image repeated.",
    ),
)


class Morphing(Operator):
    """Dilation and erosion."""

    inputs = (Input("data", dtypes=DTYPES, layouts=LAYOUTS, doc="Images or sequences of {types}."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    frames = True
    on_gpu = True
    arguments = MORPHING
    differs = (
        "It runs on the CPU too; INT16 and any number of channels are taken. Where a NaN is in the window, the CPU and"
        " a GPU may take different ones of its elements."
    )
    tested_elsewhere = "tests/unit/operators/test_morphology.py"
    greatest: ClassVar[bool] = False

    def run(self, call: Call, data: Batch) -> Batch:
        sizes = call.vectors("mask_size", 2, np.int64)
        anchors = call.vectors("anchor", 2, np.int64)
        call.refuse(sizes < 1, "{} is not positive", sizes, argument="mask_size")
        outside = (anchors < -1) | (anchors >= sizes)
        call.refuse(outside, "{} lies outside the mask {}", anchors, sizes, argument="anchor")
        out = call.allocate(data.shapes, data.dtype, data.layout)
        # Doing it several times is the same as doing it once with a larger mask.
        times = self.value("iterations")
        middles = np.where(anchors < 0, sizes // 2, anchors)
        call.kernels("morphology").extremes(
            data, out, (sizes - 1) * times + 1, middles * times,
            greatest=self.greatest, border=self.value("border_mode"),
        )  # fmt: skip
        return out

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        yield ErrorCase((pictures,), {"mask_size": (0, 3)}, words=("mask_size", "0", "1, 65535"))
        yield ErrorCase((pictures,), {"anchor": (3, 0)}, words=("anchor", "[3, 0]", "outside"))
        yield ErrorCase((pictures,), {"border_mode": "mirror"}, words=("border_mode", "'mirror'"))
        yield ErrorCase((samples.pictures(dtype=np.int32),), words=("INT32", "UINT8"))
