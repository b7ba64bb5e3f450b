"""Crops pictures with boxes, as in the training of the SSD detector."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT32, UINT8
from dali_lab.model.errors import InputError
from dali_lab.operators.boxes.coordinates import box_table, labels_out, sample_boxes, table_out
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, integer, register, samples

THRESHOLDS = (-1.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Least overlaps that are drawn from; taking the whole picture is one more choice."""


@register
class SSDRandomCrop(Operator):
    """Takes a random window of each picture, with the boxes whose centre is in it.

    An overlap is drawn from "any", 0.1, 0.3, 0.5, 0.7 and 0.9, which all boxes must have with the window, as
    intersection over union, or else the whole picture is taken; then `num_attempts` windows of 0.3 to 1 times the
    picture's height and width; and so on until there is one with a box.
    """

    name = "ssd_random_crop"
    schema_name = "SSDRandomCrop"
    title = "SSD random crop"
    inputs = (
        Input("images", dtypes=(UINT8,), dims=(3,), doc="Pictures of {types}; HWC without a layout."),
        Input("boxes", dtypes=(FLOAT,), kind="boxes", doc="Boxes of {types}, ``(n, 4)``: two corners, from 0 to 1."),
        Input("labels", dtypes=(INT32,), kind="tensor", doc="Labels of {types}, ``(n,)``."),
    )
    outputs = (
        Output("images", doc="The window of each picture.", dtype=UINT8),
        Output("boxes", kind="boxes", doc="Boxes that are left, relative to the window.", dtype=FLOAT),
        Output("labels", kind="tensor", doc="Their labels.", dtype=INT32),
    )
    random = True
    arguments = (integer("num_attempts", 1, "Windows that are drawn for one overlap.", minimum=1, maximum=1_000_000),)
    deprecated = "Use ``fn.random_bbox_crop``, which gives the window for ``fn.slice``."
    example = ">>> images, boxes, labels = fn.ssd_random_crop(images, boxes, labels)"

    def run(self, call: Call, images: Batch, boxes: Batch, labels: Batch) -> tuple[Batch, ...]:
        from dali_lab.kernels.cpu import boxes_ssd, copy

        if images.layout not in ("HWC", ""):
            raise call.problem(f"takes 'images' of the layout HWC, got {images.layout}", kind=InputError)
        table, counts = box_table(call, boxes)
        call.refuse(labels.sizes != counts, "got {} labels for {} boxes", labels.sizes, counts)
        stream = open_stream(call.generator, call.indices)
        whole, found = np.empty(call.count, np.bool_), np.zeros((call.count, 4))
        kept = np.empty(len(table), np.bool_)
        boxes_ssd.windows(
            stream.key, stream.highs, table, np.cumsum(counts) - counts, counts, np.array(THRESHOLDS, np.float32),
            self.value("num_attempts"), whole, found, kept,
        )  # fmt: skip

        found[whole] = (0, 0, 1, 1)
        extents = images.shapes[:, 1::-1]
        begin = np.floor(found[:, :2] * extents + 0.5).astype(np.int64)
        end = np.floor((found[:, :2] + found[:, 2:]) * extents + 0.5).astype(np.int64)
        starts, shapes = np.zeros_like(images.shapes), images.shapes.copy()
        starts[:, 1::-1], shapes[:, 1::-1] = begin, end - begin
        pictures = call.allocate(shapes, UINT8, images.layout)
        copy.copy_window(images.addresses, pictures.addresses, images.shapes, starts, shapes, images.itemsize)

        owner = np.repeat(np.arange(len(counts)), counts)[kept]
        left = np.bincount(owner, minlength=len(counts)).astype(np.int64)
        moved = (table[kept] - np.tile(found[owner, :2], 2)) / np.tile(found[owner, 2:], 2)
        inside = np.where(whole[owner, None], table[kept], np.clip(moved, 0, 1).astype(np.float32))
        remaining = table_out(call, inside, left, boxes.layout, output=1)
        return pictures, remaining, labels_out(call, labels, kept, left, output=2)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        boxes = [row for row in sample_boxes() if len(row)] * 4
        labels = [np.arange(len(row), dtype=np.int32) for row in boxes]
        arrays, layout = samples.pictures()
        pictures = ((arrays * len(boxes))[: len(boxes)], layout)
        yield Case((pictures, boxes, labels))
        yield Case((pictures[0], boxes, labels), {"num_attempts": 20})
        one = [np.array([[0.3, 0.2, 0.8, 0.9]], np.float32)] * len(boxes)
        yield Case((pictures, one, [np.array([7], np.int32)] * len(boxes)), {"num_attempts": 3})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        planes = [np.moveaxis(array, 2, 0) for array in samples.pictures()[0]]
        boxes = [np.array([[0.1, 0.2, 0.8, 0.9]], np.float32)] * len(planes)
        yield ErrorCase(((planes, "CHW"), boxes, [np.array([7], np.int32)] * len(planes)), words=("images", "CHW"))
