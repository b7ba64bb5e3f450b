"""Mirrors images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, PerSample, integer, register, samples


@register
class Flip(Operator):
    """Mirrors images, volumes or sequences along the chosen axes."""

    name = "flip"
    inputs = (Input("data", layouts=("HWC", "DHWC", "CHW", "CDHW"), doc="Images, volumes or sequences of any type."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    on_gpu = True
    frames = True
    arguments = (
        integer("horizontal", 1, "Mirror left and right.", per_frame=True, widget="switch", important=True),
        integer("vertical", 0, "Mirror top and bottom.", per_frame=True, widget="switch", important=True),
        integer("depthwise", 0, "Mirror front and back of a volume.", per_frame=True, widget="switch"),
    )
    example = ">>> fn.flip(images, horizontal=fn.random.coin_flip())"

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "_window_chain"

    def run(self, call: Call, data: Batch) -> Batch:
        out = call.allocate(data.shapes, data.dtype, data.layout)
        flips = self.flips(call, data.layout)
        call.kernels("copy").flip(data.addresses, out.addresses, data.shapes, flips, data.itemsize)
        return out

    def flips(self, call: Call, layout: str) -> npt.NDArray[np.bool_]:
        """Mask of the axes along which each sample is mirrored, ``bool[N, ndim]``."""
        result = np.zeros((call.count, len(layout)), bool)
        for letter, name in (("W", "horizontal"), ("H", "vertical"), ("D", "depthwise")):
            wanted = call.numbers(name, np.int64) != 0
            if letter in layout:
                result[:, layout.index(letter)] = wanted
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        mirrored = PerSample.of(1, 0, 1, dtype=np.int32)
        yield Case((samples.pictures(),))
        yield Case((samples.pictures(),), {"horizontal": 0, "vertical": 1})
        yield Case((samples.pictures(dtype=np.float32),), {"horizontal": mirrored})
        yield Case((samples.pictures(dtype=np.int16),), {"horizontal": mirrored, "vertical": mirrored})
        yield Case((samples.planar(),), {"vertical": 1})
        yield Case((samples.sequences(),), {"horizontal": 1})
        yield Case((samples.sequences(),), {"vertical": mirrored})
        yield Case((samples.volumes(),), {"depthwise": 1})
        yield Case((samples.volumes(dtype=np.float32),), {"depthwise": 1, "horizontal": 1, "vertical": 1})
        yield Case((samples.pictures(((1, 1), (1, 5), (6, 1)), channels=1),), {"vertical": 1})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        two = PerSample([np.zeros(2, np.int32)] * 3)
        yield ErrorCase((samples.pictures(),), {"depthwise": two}, words=("depthwise", "1 element, got: 2"))
