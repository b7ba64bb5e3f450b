"""Draws a pixel of a mask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import BOOL, FLOAT, FLOAT64, INT64, UINT8
from dali_lab.schema import Call, Case, ErrorCase, Input, OneOf, Operator, Output, integer, number, register
from dali_lab.schema.operator import PerSample
from dali_lab.schema.ports import INTEGERS


@register
class RandomMaskPixel(Operator):
    """Draws a pixel of each mask: any one, or with `foreground` one that is above `threshold` or equal to `value`.

    In a mask without foreground, any pixel is drawn.
    """

    name = "segmentation.random_mask_pixel"
    inputs = (
        Input("mask", dtypes=(*INTEGERS, BOOL, FLOAT), kind="mask", doc="A mask of any number of axes, of {types}."),
    )
    outputs = (Output("position", kind="tensor", doc="Index along each axis, INT64.", dtype=INT64),)
    random = True
    arguments = (
        integer("foreground", 0, "Draw from the foreground, rather than from all pixels.", tensor=True, important=True),
        number("threshold", 0.0, "Pixels above it are foreground.", tensor=True),
        integer("value", None, "Pixels equal to it are foreground; excludes `threshold`.", tensor=True),
    )
    rules = (
        OneOf("threshold", "value", refused_as="Arguments ``value`` and ``threshold`` can not be provided together"),
    )
    example = ">>> centre = fn.segmentation.random_mask_pixel(masks, foreground=fn.random.coin_flip(probability=0.7))"

    def run(self, call: Call, mask: Batch) -> Batch:
        from dali_lab.kernels.cpu import boxes
        from dali_lab.kernels.cpu.memory import like

        if mask.ndim == 0:
            raise call.problem("takes masks of one or more axes, got a single number")
        call.refuse(mask.sizes == 0, "the mask is empty")
        stream = open_stream(call.generator, call.indices)
        exact = self.has("value")
        values: npt.NDArray[Any] = call.numbers("value", np.int64) if exact else call.numbers("threshold")
        if mask.dtype == BOOL:
            mask = mask.replaced(dtype=UINT8)
        elif mask.dtype not in (UINT8, FLOAT):
            mask = converted(mask, FLOAT64)
        out = np.empty((len(mask), mask.ndim), np.int64)
        boxes.mask_pixels(
            stream.key, stream.highs, mask.addresses, mask.shapes.copy(), call.numbers("foreground", np.int64) != 0,
            exact, values.astype(np.float64), out, like(mask.kind),
        )  # fmt: skip
        return Batch.dense(out, dtype=INT64)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        masks = _masks(np.uint8)
        flags = PerSample.of(1, 0, 1, 1, dtype=np.int32)
        yield from Case.each(
            (masks,),
            {},
            {"foreground": 1},
            {"foreground": flags},
            {"foreground": 1, "value": 2},
            {"foreground": 1, "threshold": 1.5},
            {"foreground": 1, "value": PerSample.of(1, 2, 3, 9, dtype=np.int32)},
            {"foreground": flags, "threshold": PerSample.of(0, 1, 2, 2.9)},
            {"foreground": 1, "seed": 7},
            batches=3,
        )
        for dtype in (np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64, np.uint64, np.float32, np.bool_):
            yield Case((_masks(dtype),), {"foreground": 1}, batches=2)
        yield Case(
            ([np.arange(24, dtype=np.uint8).reshape(2, 3, 4)] * 3,), {"foreground": 1, "threshold": 9.0}, batches=2
        )
        yield Case(([np.arange(9, dtype=np.int32)] * 3,), {"foreground": 1, "value": 5}, batches=2)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        masks = _masks(np.uint8)
        yield ErrorCase((masks,), {"threshold": 1.0, "value": 2}, words=("value", "threshold"))
        yield ErrorCase(([np.zeros((0, 3), np.uint8)],), words=("empty", "sample 0"))
        yield ErrorCase(([np.uint8(3)],), words=("axes",))


def _masks(dtype: npt.DTypeLike) -> list[npt.NDArray[Any]]:
    """Masks of labels 0 to 3, one of them without foreground."""
    rows = []
    for seed, shape in enumerate(((13, 17), (5, 9), (1, 30), (20, 6))):
        labels = np.random.default_rng(seed).choice(4, shape, p=(0.7, 0.1, 0.1, 0.1))
        rows.append((labels * (seed != 1)).astype(dtype))
    return rows
