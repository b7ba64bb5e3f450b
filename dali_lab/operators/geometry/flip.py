"""Mirrors images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.batch.batch import Batch
from dali_lab.schema import Arg, Call, Case, Input, Operator, Output, register, samples
from dali_lab.schema.operator import PerSample


@register
class Flip(Operator):
    """Mirrors images or volumes along the chosen axes."""

    name = "flip"
    family = "geometry"
    title = "Flip"
    inputs = (Input("images", layouts=("HWC", "DHWC", "CHW", "CDHW"), doc="Images, volumes or sequences."),)
    outputs = (Output("images"),)
    devices = ("cpu", "gpu")
    frames = True
    arguments = (
        Arg("horizontal", "int", 1, "Mirror left and right.", tensor=True, per_frame=True, widget="switch", important=True),
        Arg("vertical", "int", 0, "Mirror top and bottom.", tensor=True, per_frame=True, widget="switch", important=True),
        Arg("depthwise", "int", 0, "Mirror front and back of a volume.", tensor=True, per_frame=True, widget="switch"),
    )

    def run(self, call: Call, images: Batch) -> Batch:
        out = call.allocate(images.shapes, images.dtype, images.layout)
        flags = {letter: call.numbers(name, bool) for letter, name in (("W", "horizontal"), ("H", "vertical"), ("D", "depthwise"))}
        for index in range(len(images)):
            step = tuple(slice(None, None, -1) if letter in flags and flags[letter][index] else slice(None) for letter in images.layout)
            out.array(index)[...] = images.array(index)[step]
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.pictures(),), {"horizontal": 0, "vertical": 1})
        yield Case((samples.pictures(dtype=np.float32),), {"horizontal": PerSample([np.int32(1), np.int32(0), np.int32(1)])})
        yield Case((samples.planar(),), {"vertical": 1})
        yield Case((samples.sequences(),), {"horizontal": 1})
        yield Case((samples.volumes(),), {"depthwise": 1})
        yield Case((samples.pictures(((1, 1), (1, 5), (6, 1)), channels=1),), {"vertical": 1})
