"""Puts four images of a batch together into one, with their boxes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.conversion import elements
from dali_lab.model.dense import flat, is_contiguous
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.boxes.coordinates import box_table, labels_out, table_out
from dali_lab.operators.mixing.partners import IMAGES, Mixing, picture_shapes
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, Output, fraction, integers, register, samples
from dali_lab.schema.presets import number

Array = npt.NDArray[Any]


@register
class Mosaic(Mixing):
    """Makes a canvas of each image and three others of its batch, which meet in a point (`arXiv:2004.10934`).

    The image itself lies to the upper left of the point, the others to its upper right, lower left and lower right;
    each with its corner at the point, cut off at the edge of the canvas. The uncovered rest has `fill_value`.
    Boxes of all four move along, are cut likewise, and are left out if less than `prune_threshold` of them remains.
    """

    name = "mixing.mosaic"
    inputs = (
        IMAGES,
        Input(
            "boxes",
            dtypes=(FLOAT,),
            kind="boxes",
            doc="Left, top, right, bottom from 0 to 1, FLOAT ``(n, 4)``.",
            optional=True,
        ),
        Input("labels", kind="tensor", doc="Labels of the boxes, ``(n,)`` or ``(n, 1)``.", optional=True),
    )
    outputs = (
        Output("images", doc="``HWC`` of `size`, with the type and channels of the input."),
        Output("boxes", kind="boxes", doc="With boxes: those that are left.", dtype=FLOAT),
        Output("labels", kind="tensor", doc="With labels: those of the boxes that are left."),
    )
    arguments = (
        integers("size", REQUIRED, "Height and width of the canvas.", length=2, minimum=1, unit="px", important=True),
        fraction(
            "center_range",
            (0.25, 0.75),
            "Where the four images may meet, as shares of height and width.",
            vector=True,
            length=2,
        ),
        number("fill_value", 114.0, "Value where there is no image."),
        fraction("prune_threshold", 0.1, "Part of the area of a box that must remain."),
    )
    start = {"size": [512, 512]}
    example = ">>> images, boxes, labels = fn.mixing.mosaic(images, boxes, labels, size=(640, 640))"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        range_ = values.get("center_range", (0.25, 0.75))
        if len(range_) != 2 or range_[0] > range_[1]:
            raise ArgumentError(f"{list(range_)} is not a range", argument="center_range")

    def run(self, call: Call, images: Batch, *others: Batch) -> tuple[Batch, ...]:
        shapes = picture_shapes(call, images)
        if (shapes[:, [0, 3]] != shapes[:1, [0, 3]]).any():
            raise call.problem("takes images with the same number of channels")
        size = np.broadcast_to(np.array(self.value("size"), np.int64), (2,))
        low, high = self.value("center_range")
        centre = np.floor((low + self.uniform(call, 2) * (high - low)) * size + 0.5).astype(np.int64)
        members = np.stack([np.arange(call.count), *(self.partners(call, number) for number in range(3))], axis=1)
        places = [self._places(shapes[members[:, corner], 1:3], centre, size, corner) for corner in range(4)]
        out = self._draw(call, images, shapes, size, members, places)
        if not others:
            return (out,)
        return (out, *self._boxes(call, others, members, places, shapes, size))

    @staticmethod
    def _places(sizes: Array, centre: Array, size: Array, corner: int) -> Array:
        """Windows of the images in one corner: y and x in the source and on the canvas, height and width."""
        places = np.empty((len(sizes), 6), np.int64)
        for axis, after in ((0, corner // 2), (1, corner % 2)):
            if after:
                length = np.minimum(sizes[:, axis], size[axis] - centre[:, axis])
                source, target = np.zeros_like(length), centre[:, axis]
            else:
                length = np.minimum(sizes[:, axis], centre[:, axis])
                source, target = sizes[:, axis] - length, centre[:, axis] - length
            places[:, axis], places[:, 2 + axis], places[:, 4 + axis] = source, target, length
        return places

    def _draw(
        self, call: Call, images: Batch, shapes: Array, size: Array, members: Array, places: list[Array]
    ) -> Batch:
        from dali_lab.kernels.cpu import mixing
        from dali_lab.kernels.cpu.memory import like

        result_shapes = images.shapes.copy()
        first = 1 if images.layout == "CHW" else 0
        result_shapes[:, first : first + 2] = size
        out = call.allocate(result_shapes, images.dtype, images.layout)
        value = elements((self.value("fill_value"),), images.dtype).view(images.kind)[0]
        for target in [flat(out)] if is_contiguous(out) else out.arrays():
            target[...] = value
        canvas = shapes.copy()
        canvas[:, 1:3] = size
        for corner in range(4):
            chosen = members[:, corner]
            mixing.paste(
                images.addresses[chosen], shapes[chosen], out.addresses, canvas, places[corner], like(np.uint8)
            )
        return out

    def _boxes(
        self, call: Call, others: tuple[Batch, ...], members: Array, places: list[Array], shapes: Array, size: Array
    ) -> tuple[Batch, ...]:
        """Boxes, and labels if there are any, on the canvas."""
        table, counts = box_table(call, others[0])
        starts = np.cumsum(counts) - counts
        labels = others[1] if len(others) > 1 else None
        if labels is not None and labels.ndim < 1:
            raise call.problem("takes labels with an axis of boxes, (N,) or (N, 1), got single numbers", sample=0)
        if labels is not None:
            call.refuse(labels.sizes != counts, "got {} labels for {} boxes", labels.sizes, counts)
        # One row for each box of each of the four images of each sample.
        part, place = rows_of(counts[members.ravel()])
        row = starts[members.ravel()][part] + place
        source_y, source_x, y, x, height, width = np.stack(places, axis=1).reshape(-1, 6)[part].T
        image = members.ravel()[part]
        scale = np.stack([shapes[image, 2], shapes[image, 1]] * 2, axis=1)
        boxes = table[row].astype(np.float64) * scale + np.stack([x - source_x, y - source_y] * 2, axis=1)
        cut = np.clip(boxes, np.stack([x, y] * 2, axis=1), np.stack([x + width, y + height] * 2, axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            left = (cut[:, 2:] - cut[:, :2]).prod(axis=1) / (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        kept = (left > 0) & (left >= self.value("prune_threshold"))
        found = np.bincount(part[kept] // 4, minlength=call.count).astype(np.int64)
        shares = (cut[kept] / [size[1], size[0], size[1], size[0]]).astype(np.float32)
        result = table_out(call, shares, found, others[0].layout, output=1)
        return (result,) if labels is None else (result, labels_out(call, labels, row[kept], found, output=2))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"size": (40, 50)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        boxes = [np.zeros((2, 4), np.float32)] * 3
        yield ErrorCase((pictures,), {"size": (9, 9), "center_range": (0.8, 0.2)}, words=("center_range", "0.8"))
        yield ErrorCase((pictures, [np.zeros((2, 3), np.float32)] * 3), {"size": (9, 9)}, words=("4 numbers",))
        yield ErrorCase((pictures, boxes, [np.zeros(3, np.int32)] * 3), {"size": (9, 9)}, words=("3 labels", "2 boxes"))
        yield ErrorCase((pictures, boxes, [np.int32(1)] * 3), {"size": (9, 9)}, words=("labels with an axis",))
