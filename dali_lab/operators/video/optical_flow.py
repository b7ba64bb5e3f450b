"""Measures how pixels move between the frames of a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import extras
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import ANY_DATA, BGR, FLOAT, GRAY, RGB, UINT8
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Arg, Call, ErrorCase, Input, Operator, Output, flag, integer, number, register, samples

LEAST = 12
GRIDS = (1, 2, 4, 8)
Array = npt.NDArray[Any]


@register
class OpticalFlow(Operator):
    """Measures how far each pixel moves from every frame of a sequence to the next one.

    The result has one frame less, and for each cell of `output_grid` pixels one vector: columns and rows, in pixels of
    the frames whatever the grid is.
    """

    name = "optical_flow"
    inputs = (
        Input("frames", dtypes=(UINT8,), layouts=("FHWC",), doc="Sequences of {types}, of at least 12 × 12 pixels."),
        Input("hints", kind="tensor", doc="With `enable_external_hints`: flows as a start.", optional=True),
    )
    outputs = (
        Output(
            "flow",
            kind="tensor",
            layout="FHWC",
            dtype=FLOAT,
            doc="The vectors, FLOAT: ``(frames − 1, rows of cells, columns of cells, 2)``, layout FHWC.",
        ),
    )
    devices = ("cpu", "gpu")
    arguments = (
        number(
            "preset",
            0.0,
            "Speed and quality: 0 for the best quality, 0.5 for a medium one, 1 for the highest speed.",
            minimum=0.0,
            maximum=1.0,
            important=True,
            slider=(None, None, 0.5),
        ),
        integer("output_grid", 4, "Width of the cells of the result: 1, 2, 4 or 8.", unit="px", important=True),
        integer("hint_grid", 4, "Width of the cells of hints: 1, 2, 4 or 8.", unit="px"),
        flag("enable_temporal_hints", "Start from the flow of the frames before."),
        flag("enable_external_hints", "Start from the flows that the second input gives."),
        Arg("image_type", "image_type", RGB, "Colours of the frames.", choices=(RGB, BGR, GRAY)),
        Arg("output_format", "int", None, "", renamed_to="output_grid"),
    )
    example = ">>> fn.optical_flow(video, output_grid=4)"
    differs = (
        "It runs on the CPU, by the dense inverse search of OpenCV; NVIDIA DALI needs a GPU with a unit for it, whose"
        " vectors are not the same to the bit."
    )
    tested_elsewhere = "tests/unit/operators/test_optical_flow.py"

    def setup(self) -> None:
        for name in ("output_grid", "hint_grid"):
            if self.value(name) not in GRIDS:
                raise self.fail(f"is 1, 2, 4 or 8, not {self.value(name)}", name)

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        return "the unit that a GPU has for it is not used"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if bool(values.get("enable_external_hints")) != (inputs > 1):
            raise ArgumentError(
                f"goes with two inputs, and there {'are two' if inputs > 1 else 'is one'}",
                argument="enable_external_hints",
                operator=cls.name,
            )

    def run(self, call: Call, *inputs: Batch) -> Batch:
        extras.require("video", ("cv2",), "it")
        cv2: Any = import_module("cv2")
        frames = inputs[0]
        self._check(call, frames)
        grid = self.value("output_grid")
        # OpenCV's presets are 0 for ultrafast, 1 for fast, 2 for medium.
        preset = 2 - round(2 * self.value("preset"))
        shapes = frames.shapes.copy()
        shapes[:, 0] -= 1
        shapes[:, 1:3] = -(-shapes[:, 1:3] // grid)
        shapes[:, 3] = 2
        out = call.allocate(shapes, FLOAT, "FHWC")
        for index in range(len(frames)):
            flow_of = cv2.DISOpticalFlow_create(preset)
            pictures = [self._gray(cv2, frame) for frame in frames.array(index)]
            target = out.array(index)
            before: Array | None = None
            for step, (first, second) in enumerate(pairwise(pictures)):
                if call.cancelled():
                    return out
                start = self._start(call, inputs, index, step, first.shape, before)
                before = flow_of.calc(first, second, start)
                target[step] = _averaged(before, grid)
        return out

    def _check(self, call: Call, frames: Batch) -> None:
        channels = 1 if self.value("image_type") == GRAY else 3
        shapes = frames.shapes
        call.refuse(shapes[:, 0] < 1, "takes sequences of at least one frame, got {:x}", shapes)
        least = f"takes frames of at least {LEAST} x {LEAST} pixels, got {{:x}}"
        call.refuse(shapes[:, 1:3] < LEAST, least, shapes)
        call.refuse(shapes[:, 3] != channels, f"takes {channels} channels with this image_type, got {{:x}}", shapes)

    def _gray(self, cv2: Any, frame: Array) -> Array:
        if frame.shape[2] == 1:
            return np.ascontiguousarray(frame[..., 0])
        code = cv2.COLOR_RGB2GRAY if self.value("image_type") == RGB else cv2.COLOR_BGR2GRAY
        return np.asarray(cv2.cvtColor(frame, code))

    def _start(
        self, call: Call, inputs: tuple[Batch, ...], index: int, step: int, size: tuple[int, ...], before: Array | None
    ) -> Array | None:
        """The flow to start from, for each pixel, or `None`."""
        if len(inputs) > 1:
            hints = inputs[1].array(index)
            grid = self.value("hint_grid")
            cells = tuple(-(-extent // grid) for extent in size)
            if hints.ndim != 4 or len(hints) <= step or hints.shape[1:] != (*cells, 2):
                raise call.problem(
                    f"the hints have shape {list(hints.shape)}, not one flow of {[*cells, 2]} for each pair of frames",
                    sample=index,
                )
            full = hints[step].astype(np.float32).repeat(grid, axis=0).repeat(grid, axis=1)
            return np.ascontiguousarray(full[: size[0], : size[1]])
        if self.value("enable_temporal_hints") and before is not None:
            return before.copy()
        return None

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        video = samples.sequences((2, 2, 2))
        yield ErrorCase((video,), {"output_grid": 3}, words=("output_grid", "3"))
        yield ErrorCase((video,), {"image_type": ANY_DATA}, words=("image_type", "ANY_DATA"))
        yield ErrorCase((video,), {"image_type": GRAY}, words=("1 channels",))
        yield ErrorCase((video,), {"enable_external_hints": True}, words=("enable_external_hints",))
        yield ErrorCase((samples.sequences((2,) * 3, ((4, 30),) * 3),), words=("at least 12 x 12", "sample 0"))
        yield ErrorCase((samples.pictures(),), words=("HWC", "FHWC"))


def _averaged(flow: Array, grid: int) -> Array:
    """The mean vector of each cell; cells that the frame cuts off have fewer pixels."""
    if grid == 1:
        return flow
    rows = np.arange(0, flow.shape[0], grid)
    columns = np.arange(0, flow.shape[1], grid)
    sums = np.add.reduceat(np.add.reduceat(flow, rows, axis=0, dtype=np.float64), columns, axis=1)
    heights = np.minimum(grid, flow.shape[0] - rows)
    widths = np.minimum(grid, flow.shape[1] - columns)
    return np.asarray(sums / (heights[:, None] * widths)[..., None], np.float32)
