"""Equalises histograms."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import Call, Case, Input, Operator, Output, register, samples


@register
class Equalize(Operator):
    """Spreads the levels of each channel of an image, so that they are about equally frequent."""

    name = "equalize"
    inputs = (Input("data", dtypes=(UINT8,), layouts=("HW", "HWC", "CHW"), doc="Images or sequences of {types}."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    frames = True
    on_gpu = True
    example = ">>> fn.equalize(images)"

    def run(self, call: Call, data: Batch) -> Batch:
        out = call.allocate(data.shapes, UINT8, data.layout)
        one = np.ones(len(data), np.int64)
        channel = data.layout.find("C")
        channels = data.shapes[:, channel] if channel >= 0 else one
        pixels = np.delete(data.shapes, channel, axis=1).prod(axis=1) if channel >= 0 else data.sizes
        outer, inner = (channels, one) if channel == 0 else (one, channels)
        call.kernels("histogram").equalize(data.addresses, out.addresses, outer, pixels, inner)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.pictures(channels=1),))
        yield Case((samples.pictures(channels=5),))
        yield Case((samples.planar(),))
        yield Case((samples.sequences(),))
        yield Case(([array[..., 0].copy() for array in samples.pictures()[0]],))
        yield Case((([np.full((4, 5, 2), value, np.uint8) for value in (0, 77, 255)], "HWC"),))
        yield Case((samples.pictures(((1, 1), (1, 2), (9, 1))),))
        yield Case((([np.array([[[9], [9], [10]]], np.uint8)] * 3, "HWC"),))
        yield Case((([samples.noise((64, 70, 3), seed=seed) // (1 + seed) for seed in range(3)], "HWC"),))
        noise = [samples.noise((2, 3, 12, 9), seed=seed) for seed in range(3)]
        yield Case(((noise, "FCHW"),))
        noise = [samples.noise(shape) for shape in ((4, 5, 1), (0, 5, 1), (4, 0, 1))]
        yield Case(((noise, "HWC"),))
