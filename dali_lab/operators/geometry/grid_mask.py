"""Blanks the squares of a grid."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import integer, number, radians, share

DTYPES = (UINT8, INT16, INT32, FLOAT)


def _shift(name: str, direction: str) -> Arg:
    return number(
        name,
        0.0,
        f"Shift of the grid along {direction}, after its rotation.",
        tensor=True,
        unit="px",
        slider=(-100.0, 100.0, 1.0),
    )


@register
class GridMask(Operator):
    """Sets pixels in the squares of a grid to zero, as in Chen et al., "GridMask data augmentation" (2020).

    Squares repeat with a period of `tile` pixels in both directions, from the first pixel of the image; the grid may
    be rotated about it and shifted.
    """

    name = "grid_mask"
    inputs = (
        Input("data", dtypes=DTYPES, doc="Images, planes, volumes or sequences of {types}; HWC without a layout."),
    )
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    on_gpu = True
    arguments = (
        integer(
            "tile",
            100,
            "Period of the grid: width of a square and of the space to the next one.",
            tensor=True,
            unit="px",
            minimum=1,
            important=True,
            slider=(None, 300),
        ),
        share("ratio", 0.5, "Width of a square as a share of the period.", tensor=True, important=True),
        radians("angle", 0.0, "Rotation of the grid, in radians.", tensor=True),
        _shift("shift_x", "x"),
        _shift("shift_y", "y"),
    )
    example = ">>> fn.grid_mask(images, tile=60, ratio=0.4, angle=fn.random.uniform(range=(-0.3, 0.3)))"
    differs = (
        "Sequences, volumes and planes are taken; NVIDIA DALI takes the first three axes for height, width, channels,"
        " whatever the layout says."
    )

    def run(self, call: Call, data: Batch) -> Batch:
        tile = call.numbers("tile", np.int64)
        call.refuse(tile <= 0, "must be at least 1, got {}", tile, argument="tile")
        first = self._height(call, data)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        # Frames, slices and planes of channels are pictures of their own, all with the grid of their sample.
        planes = data.shapes[:, :first].prod(axis=1)
        pixels = data.shapes[:, first + 2 :].prod(axis=1)
        owner, plane = rows_of(planes)
        shapes = np.stack([data.shapes[:, first], data.shapes[:, first + 1], pixels], axis=1)
        offsets = plane * (shapes.prod(axis=1) * data.itemsize)[owner]
        call.kernels("grid").grid_mask(
            data.addresses[owner] + offsets,
            out.addresses[owner] + offsets,
            shapes[owner],
            tile.astype(np.float32)[owner],
            *(call.numbers(name)[owner] for name in ("ratio", "angle", "shift_x", "shift_y")),
            data.itemsize,
        )
        return out

    @staticmethod
    def _height(call: Call, data: Batch) -> int:
        """The axis of the height; that of the width follows."""
        first = data.layout.find("HW") if data.layout else max(data.ndim - 3, 0)
        if first < 0 or data.ndim < 2:
            given = f"layout {data.layout}" if data.layout else f"{data.ndim} dimensions"
            raise call.problem(f"takes samples with height and width next to each other, got {given}")
        return first

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        angles = PerSample.of(0.1, -1.3, 2.9)
        yield from Case.each(
            (pictures,),
            {"tile": 10},
            {"tile": 7, "ratio": 0.2},
            {"tile": 9, "ratio": 0.9},
            {"tile": 10, "shift_x": 3.0},
            {"tile": 10, "shift_y": -2.5},
            {"tile": 11, "angle": 0.4, "shift_x": 3.3, "shift_y": -2.5},
            {"tile": 6, "angle": angles},
            {"tile": PerSample.of(3, 8, 20, dtype=np.int32), "ratio": PerSample(angles.values)},
            {"tile": 8, "ratio": 0.0},
            {"tile": 8, "ratio": 1.0},
            {},
        )
        for dtype in (np.int16, np.int32, np.float32):
            yield Case((samples.pictures(dtype=dtype),), {"tile": 10, "angle": 0.7})
        yield Case((samples.pictures(channels=1),), {"tile": 10, "angle": 0.7})
        yield Case((samples.pictures(((1, 1), (1, 9), (17, 2))),), {"tile": 3})
        yield Case((samples.pictures()[0],), {"tile": 5, "angle": 0.3})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.tensors(((5,),) * 3),), words=("height", "1 dimensions"))
        zero = PerSample.of(3, -8, 20, dtype=np.int32)
        yield ErrorCase((samples.pictures(),), {"tile": zero}, words=("tile", "-8", "sample 1"))
