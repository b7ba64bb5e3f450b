"""Shared by operators that mix samples: partners, shares, labels, shapes of images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import GeneratorState, open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.schema import Call, Input, Operator, Output, number

IMAGES = Input("images", layouts=("HWC", "CHW"), doc="Images of any type.")
LABELS = Input("labels", kind="tensor", doc="FLOAT shares of classes (one-hot), ``(classes,)``.", optional=True)
MIXED = (
    Output("images", doc="The mixed images, with the shape, type and layout of the input."),
    Output("labels", kind="tensor", doc="With labels: mixed like the images.", dtype=FLOAT),
)
ALPHA = number(
    "alpha",
    1.0,
    "Both parameters of the beta distribution that shares are drawn from.",
    tensor=True,
    minimum=0.0,
    exclusive_minimum=True,
    important=True,
    slider=(None, 2.0, 0.1),
)
_PERMUTATION = 0x6D6978696E67
"""Seed modifier that keeps the stream of partners apart from the stream of shares."""


def _apart(call: Call, modifier: int) -> GeneratorState:
    """The operator's generator with another seed."""
    return replace(call.generator, key=call.generator.key ^ modifier)


class Mixing(Operator):
    """Operators that make each sample of two or more samples of its batch."""

    random = True
    whole_batch = True
    beyond_dali = True
    tested_elsewhere = "tests/unit/mixing"

    @classmethod
    def output_count(cls, values: object) -> int:
        return 1

    @classmethod
    def count_outputs(cls, values: object, inputs: int) -> int:
        return inputs

    def stream(self, call: Call) -> Any:
        """The random words of the samples."""
        return open_stream(call.generator, call.indices)

    def partners(self, call: Call, number: int = 0) -> npt.NDArray[np.int64]:
        """A permutation of the batch: the partner of each sample."""
        from dali_lab.kernels.cpu.draws import permutation

        return permutation(_apart(call, _PERMUTATION + number), call.count)

    def shares(self, call: Call) -> npt.NDArray[np.float32]:
        """Share of each sample in its mixture, drawn from ``Beta(alpha, alpha)``."""
        from dali_lab.kernels.cpu.draws import fill_beta

        alphas = call.numbers("alpha")
        call.refuse(~(alphas > 0) | ~np.isfinite(alphas), "must be positive, got {:g}", alphas, argument="alpha")
        shares = np.empty(call.count, np.float32)
        addresses = shares.ctypes.data + 4 * np.arange(call.count, dtype=np.int64)
        fill_beta(self.stream(call), addresses, np.ones(call.count, np.int64), alphas, alphas)
        return shares

    def uniform(self, call: Call, count: int) -> npt.NDArray[np.float32]:
        """`count` numbers from 0 to 1 for each sample, ``float32[N, count]``, apart from those of :meth:`shares`."""
        from dali_lab.kernels.cpu.draws import fill_uniform

        numbers = np.empty((call.count, count), np.float32)
        addresses = numbers.ctypes.data + 4 * count * np.arange(call.count, dtype=np.int64)
        stream = open_stream(_apart(call, ~_PERMUTATION), call.indices)
        zeros = np.zeros(call.count, np.float32)
        fill_uniform(stream, addresses, np.full(call.count, count), zeros, zeros + 1)
        return numbers

    def mixed_labels(
        self, call: Call, labels: Batch, partners: npt.NDArray[np.int64], shares: npt.NDArray[np.float32]
    ) -> Batch:
        """The labels of each pair in its shares."""
        if labels.dtype != FLOAT or labels.ndim != 1:
            raise call.problem(
                f"takes labels of FLOAT, (classes,), got {labels.ndim} dimensions of {labels.dtype.name}"
            )
        if not labels.is_uniform():
            raise call.problem("the labels of all samples must have as many classes")
        table = labels.stacked()
        mixed = table * shares[:, None] + table[partners] * (1 - shares[:, None])
        return Batch.dense(np.ascontiguousarray(mixed, np.float32), labels.layout, FLOAT)


def picture_shapes(call: Call, images: Batch) -> npt.NDArray[np.int64]:
    """Planes, height, width and bytes of a pixel of each image, ``int64[N, 4]``."""
    if images.layout not in ("HWC", "CHW", "HW", ""):
        raise call.problem(f"takes images of layout HWC, CHW or HW, got {images.layout!r}")
    if images.ndim not in (2, 3):
        raise call.problem(f"takes images of 2 or 3 dimensions, got {images.ndim}")
    table = np.ones((len(images), 4), np.int64)
    if images.layout == "CHW":
        table[:, :3] = images.shapes
        table[:, 3] = images.itemsize
    else:
        table[:, 1:3] = images.shapes[:, :2]
        table[:, 3] = images.itemsize * images.shapes[:, 2:].prod(axis=1)
    return table


def need_one_shape(call: Call, images: Batch) -> None:
    """Raise unless all images have the same shape."""
    first = np.broadcast_to(images.shapes[:1], images.shapes.shape)
    message = "takes images of one shape, got {:t} beside {:t}; resize them first"
    call.refuse(images.shapes != first, message, images.shapes, first)
