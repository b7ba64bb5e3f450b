"""Cuts a random window and resizes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INTERP_CUBIC, INTERP_NN
from dali_lab.operators.decoders.image_random_crop import RANDOM_WINDOW, random_windows, verify_random_window
from dali_lab.operators.geometry.resizing import DTYPES, FILTERS, Resampling, Resizing, extents_of
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, integers, register, samples


@register
class RandomResizedCrop(Resizing):
    """Cuts a random window out of each image and resizes it to one size."""

    name = "random_resized_crop"
    takes_undecoded = True
    inputs = (
        Input(
            "data", dtypes=DTYPES, layouts=("HWC", "CHW", "FHWC", "FCHW", "CFHW"), doc="Images or sequences of {types}."
        ),
    )
    random = True
    without_draws = "resize"
    arguments = (
        integers(
            "size",
            REQUIRED,
            "Height and width of the result, or one number for both.",
            minimum=1,
            lengths=(1, 2),
            unit="px",
            important=True,
            slider=(1, 512),
        ),
        *RANDOM_WINDOW,
        *FILTERS,
    )
    start = {"size": [224, 224]}
    example = ">>> fn.random_resized_crop(images, size=(224, 224), random_area=(0.1, 1.0))"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        verify_random_window(values)

    def run(self, call: Call, data: Batch) -> Batch:
        return self.resample(call, data, self.plan(call, data))

    def plan(self, call: Call, data: Batch) -> Resampling:
        windows = random_windows(call, extents_of(data)).astype(np.float64)
        size = np.broadcast_to(np.asarray(self.value("size"), np.int64), (len(data), 2))
        return Resampling(windows[:, :2], windows[:, 2:], size)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield from Case.each(
            (pictures,),
            {"size": (20, 24)},
            {"size": (32,), "random_area": (0.3, 0.5)},
            {"size": (20, 24), "interp_type": INTERP_CUBIC},
            {"size": (20, 24), "interp_type": INTERP_NN, "seed": 5},
            {"size": (20, 24), "antialias": False},
            {"size": (10, 10), "random_aspect_ratio": (0.2, 0.4)},
            batches=3,
        )
        yield Case((pictures,), {"size": (20, 24), "dtype": FLOAT}, batches=2)
        yield Case((samples.planar(),), {"size": (20, 24)}, batches=2)
        yield Case((samples.sequences(),), {"size": (20, 24)}, batches=2)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"size": (5, 5), "random_area": (-1.0, 1.0)}, words=("random_area",))
