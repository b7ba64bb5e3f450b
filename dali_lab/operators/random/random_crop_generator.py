"""Draws random windows for pictures of given shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.model.dtypes import INT32
from dali_lab.operators.decoders.image_random_crop import RANDOM_WINDOW, random_windows, verify_random_window
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, register, samples


@register
class RandomCropGenerator(Operator):
    """Draws a random window for each picture from its shape, as random crops do, without cutting it."""

    name = "random_crop_generator"
    title = "Random crop window"
    inputs = (
        Input(
            "shape",
            kind="tensor",
            dims=(1,),
            doc="Height and width of each picture first, such as from ``peek_image_shape``.",
        ),
    )
    outputs = (
        Output("anchor", kind="tensor", doc="Top and left."),
        Output("shape", kind="tensor", doc="Height and width."),
    )
    devices = ("cpu",)
    random = True
    arguments = RANDOM_WINDOW
    example = """
    >>> anchor, shape = fn.random_crop_generator(fn.peek_image_shape(encoded), random_area=[0.1, 1.0])
    >>> images = fn.decoders.image_slice(encoded, start=anchor, shape=shape, axes=[0, 1])
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        verify_random_window(values)

    def run(self, call: Call, shape: Batch) -> tuple[Batch, ...]:
        wanted = "needs height and width, and maybe channels. Expected a 1D tensor with 2 or 3 values, got {} numbers"
        call.refuse(~np.isin(shape.sizes, (2, 3)), wanted, shape.sizes)
        starts = np.cumsum(shape.sizes) - shape.sizes
        sizes = flat(gathered(shape))[starts[:, None] + np.arange(2)]
        call.refuse((sizes < 0) | (sizes >= 2**31), "{} is not a height and width from 0 to 2^31 − 1", sizes)
        sizes = sizes.astype(np.int64)
        # The window of a picture without pixels has none.
        windows = random_windows(call, np.maximum(sizes, 1)).astype(np.int32)
        windows[(sizes == 0).any(axis=1)] = 0
        anchor, extent = windows[:, :2], windows[:, 2:] - windows[:, :2]
        return Batch.dense(np.ascontiguousarray(anchor), dtype=INT32), Batch.dense(
            np.ascontiguousarray(extent), dtype=INT32
        )

    @classmethod
    def cases(cls) -> Iterable[Case]:
        shapes = [np.array(row, np.int64) for row in ((100, 200, 3), (480, 320, 3), (20, 20, 1))]
        yield Case((shapes,), {}, batches=3)
        yield Case((shapes,), {"random_area": (0.1, 0.2), "num_attempts": 2}, batches=3)
        yield Case(([row.astype(np.int32) for row in shapes],), {"seed": 11}, batches=2)
        yield Case(([np.array(row, np.int64) for row in ((0, 7), (9, 7), (0, 0))],), {"seed": 11}, batches=2)
        yield from Case.each(
            (shapes,),
            {"num_attempts": 0},
            {"num_attempts": -1},
            {"random_area": (0.0, 1.0)},
            {"random_area": 0.5},
            {"random_aspect_ratio": [1.0]},
            batches=2,
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase(([np.array([5], np.int64)],), words=("height and width",))
        yield ErrorCase(([np.array([5, 6, 7, 8], np.int64)],), words=("1D tensor with 2 or 3 values", "4"))
        yield ErrorCase((samples.pictures(),), words=("takes 1 dimension", "got 3"))
        yield ErrorCase(([np.array([5, 1 << 40], np.int64)],), words=("sample 0", "[5, 1099511627776]"))
        yield ErrorCase(([np.array([-1, 7], np.int64)],), words=("sample 0", "[-1, 7]"))
