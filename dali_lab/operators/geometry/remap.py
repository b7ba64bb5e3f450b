"""Moves pixels by maps of coordinates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import (
    FLOAT,
    INT16,
    INTERP_CUBIC,
    INTERP_GAUSSIAN,
    INTERP_LANCZOS3,
    INTERP_LINEAR,
    INTERP_NN,
    UINT8,
    UINT16,
)
from dali_lab.schema import Arg, Call, ErrorCase, Input, Operator, Output, choice, register, samples

DTYPES = (UINT8, UINT16, INT16, FLOAT)
_TAPS = {INTERP_NN: 1, INTERP_LINEAR: 2, INTERP_CUBIC: 4, INTERP_LANCZOS3: 8}


@register
class Remap(Operator):
    """Takes each pixel from the position in two maps: ``out(x, y) = in(mapx(x, y), mapy(x, y))``.

    The maps have the size of the result. Outside the image there is 0.
    """

    name = "experimental.remap"
    inputs = (
        Input("data", dtypes=DTYPES, layouts=("HWC",), doc="Images or sequences of {types}."),
        Input("mapx", kind="tensor", doc="Column of the source for each pixel of the result: FLOAT, two axes."),
        Input("mapy", kind="tensor", doc="Row of the source for each pixel of the result: FLOAT, two axes."),
    )
    outputs = (Output("data", doc="Images of the size of the maps, with the type, channels and layout of the input."),)
    frames = True
    on_gpu = True
    gpu_tolerance = (
        1.0,
        "nearest and linear are equal; for cubic and Lanczos interpolation OpenCV sums otherwise, and in fixed point"
        " for UINT8: a level in 1 of 50 elements, 1e-5 for FLOAT up to 1",
    )
    arguments = (
        Arg("interp", "interp_type", INTERP_LINEAR, "Interpolation.", choices=tuple(_TAPS), important=True),
        choice(
            "pixel_origin",
            "corner",
            ("corner", "center"),
            "Where ``(0, 0)`` is: at the corner of the first pixel, or in its centre, as OpenCV has it.",
        ),
    )
    example = '>>> fn.experimental.remap(images, mapx, mapy, pixel_origin="center")'
    differs = "It runs on the CPU too, as in OpenCV, with 8 × 8 neighbours rather than 6 × 6 for INTERP_LANCZOS3."
    tested_elsewhere = "tests/unit/operators/test_remap.py"

    def run(self, call: Call, data: Batch, mapx: Batch, mapy: Batch) -> Batch:
        call.refuse(data.sizes == 0, "takes images that are not empty")
        maps = (mapx, mapy)
        for batch in maps:
            if batch.dtype != FLOAT or batch.ndim != 2:
                raise call.problem(f"takes maps of FLOAT with two axes, got {batch.dtype.name} with {batch.ndim}")
        call.refuse(maps[0].shapes != maps[1].shapes, "the two maps differ in size")
        shift = np.float32(0.5 if self.value("pixel_origin") == "corner" else 0)
        out = call.allocate(np.column_stack([maps[0].shapes, data.shapes[:, 2]]), data.dtype, data.layout)
        call.kernels("remap").remap(
            data.addresses, out.addresses, maps[0].addresses, maps[1].addresses, data.shapes, maps[0].sizes,
            _TAPS[self.value("interp")], shift, data.kind,
        )  # fmt: skip
        return out

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        maps = samples.tensors(((9, 8),) * 3)
        yield ErrorCase((pictures, maps, samples.tensors(((9, 9),) * 3)), words=("differ in size", "sample 0"))
        yield ErrorCase((pictures, maps, [m.astype(np.float64) for m in maps]), words=("FLOAT64",))
        yield ErrorCase((pictures, maps, maps), {"interp": INTERP_GAUSSIAN}, words=("interp", "INTERP_GAUSSIAN"))
        yield ErrorCase((pictures, maps, maps), {"pixel_origin": "middle"}, words=("pixel_origin", "'middle'"))
