"""Turns boxes along with their image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.boxes.coordinates import (
    LABELS,
    LABELS_LEFT,
    box_table,
    corners_of,
    labels_out,
    per_box,
    sample_boxes,
    sample_boxes_by_size,
    table_out,
)
from dali_lab.operators.geometry.warping import SIZE_TYPES
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import choice, flag, fraction, integers, number, numbers

Coordinates = npt.NDArray[np.float32]
MODES = ("expand", "halfway", "fixed")


@register
class BBoxRotate(Operator):
    """Turns boxes along with their image, before `rotate` turns the image itself.

    A turned box is enclosed by an upright one, cut at the edge of the canvas. It is left out, with its label, if less
    than `remove_threshold` of its area remains.
    """

    name = "bbox_rotate"
    schema_name = "BBoxRotate"
    title = "Rotate boxes"
    differs = (
        "Values agree to within 1e-6 of the picture's size: products of coordinates, sines and cosines are formed "
        "in another order."
    )
    inputs = (
        Input("boxes", dtypes=(FLOAT,), kind="boxes", doc="Boxes of {types}, ``(n, 4)``."),
        LABELS,
    )
    outputs = (
        Output("boxes", kind="boxes", dtype=FLOAT, doc="``(M, 4)``: the boxes around the rotated ones that are left."),
        LABELS_LEFT,
    )
    arguments = (
        number("angle", REQUIRED, "Angle, counter-clockwise.", tensor=True, unit="deg", important=True),
        integers(
            "input_shape", REQUIRED, "Shape of the image before it is turned, in pixels.", tensor=True, fed=INTEGERS
        ),
        Arg("shape_layout", "layout", "HW", "What the numbers of `input_shape` are; it holds H and W."),
        Arg(
            "bbox_layout",
            "layout",
            "xyXY",
            "Left, top, right, bottom ('xyXY'), or left, top, width, height ('xyWH').",
            choices=("xyXY", "xyWH"),
        ),
        flag("bbox_normalized", "Boxes go from 0 to 1, rather than in pixels.", default=True),
        flag("keep_size", "The canvas keeps the size of the image.", important=True),
        numbers(
            "size",
            (),
            "Height and width of the canvas in pixels, as given to `rotate`.",
            lengths=(0, 2),
            tensor=True,
            fed=SIZE_TYPES,
        ),
        choice(
            "mode",
            "expand",
            MODES,
            "Size of a result: 'expand' encloses the turned box, 'fixed' keeps the size, 'halfway' is their mean.",
        ),
        fraction("remove_threshold", 0.1, "Part of the area that must remain within the canvas, less than 1."),
    )
    start = {"angle": 15.0, "input_shape": [512, 512]}
    example = """
    >>> boxes, labels = fn.bbox_rotate(boxes, labels, angle=angle, input_shape=images.shape(), keep_size=True)
    >>> images = fn.rotate(images, angle=angle, keep_size=True)
    """

    @classmethod
    def count_outputs(cls, values: Mapping[str, Any], inputs: int) -> int:
        return inputs

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        layout = values.get("shape_layout", "HW")
        if "H" not in layout or "W" not in layout:
            raise ArgumentError(f"{layout!r} does not hold both H and W", argument="shape_layout")
        if values.get("remove_threshold") == 1.0:
            raise ArgumentError("1 is not in [0, 1[", argument="remove_threshold")
        size = values.get("size") or ()
        if values.get("keep_size") and (size or "size" in connected):
            raise ArgumentError("cannot be given together with 'keep_size'", argument="size")

    def run(self, call: Call, boxes: Batch, labels: Batch | None = None) -> Batch | tuple[Batch, Batch]:
        table, counts = box_table(call, boxes)
        if labels is not None:
            call.refuse(labels.sizes != counts, "got {} labels for {} boxes", labels.sizes, counts)
        sizes = self._sizes(call)
        low, high = corners_of(table, self.value("bbox_layout") == "xyXY")
        turned, canvas, kept = self._turned(call, low, high, counts, sizes)
        if self.value("bbox_layout") == "xyWH":
            turned[:, 2:] -= turned[:, :2]
        if self.value("bbox_normalized"):
            turned *= np.tile(1 / canvas[:, ::-1], 2)
        owner = np.repeat(np.arange(len(counts)), counts)
        left = np.bincount(owner[kept], minlength=len(counts)).astype(np.int64)
        out = table_out(call, turned[kept], left, boxes.layout)
        return out if labels is None else (out, labels_out(call, labels, kept, left, output=1))

    def _sizes(self, call: Call) -> npt.NDArray[np.int64]:
        """Height and width of each image."""
        layout = self.value("shape_layout")
        rows = call.lists("input_shape", np.int64) or []
        sizes = np.empty((call.count, 2), np.int64)
        for index, row in enumerate(rows):
            if len(row) < max(layout.index("H"), layout.index("W")) + 1:
                message = f"has {len(row)} numbers for the layout {layout!r}"
                raise call.problem(message, argument="input_shape", sample=index)
            sizes[index] = row[layout.index("H")], row[layout.index("W")]
        call.refuse(sizes < 1, "{} is not positive", sizes, argument="input_shape")
        return sizes

    def _turned(
        self,
        call: Call,
        low: Coordinates,
        high: Coordinates,
        counts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
    ) -> tuple[Coordinates, Coordinates, npt.NDArray[np.bool_]]:
        """Upright boxes on the canvas in pixels, the canvas of each, and which of them to keep.

        All in float32 and in NVIDIA DALI's order, which decides about boxes that are turned by 45 degrees.
        """
        angles = call.numbers("angle")
        canvas = per_box(self._canvas(call, angles, sizes), counts).astype(np.float32)
        size = per_box(sizes, counts)[:, ::-1].astype(np.float32)
        radians = per_box(angles * np.float32(np.pi / 180), counts)
        cos, sin = np.cos(radians)[:, None], np.sin(radians)[:, None]
        if self.value("bbox_normalized"):
            low, high = (low - np.float32(0.5)) * size, (high - np.float32(0.5)) * size
        else:
            low, high = (np.asarray(corner - size / 2, np.float32) for corner in (low, high))
        before = high - low
        x = np.stack([low[:, 0], high[:, 0], low[:, 0], high[:, 0]], axis=1)
        y = np.stack([low[:, 1], low[:, 1], high[:, 1], high[:, 1]], axis=1)
        across = np.asarray(x * cos + y * sin + canvas[:, 1:] / 2, np.float32)
        down = np.asarray(y * cos - x * sin + canvas[:, :1] / 2, np.float32)
        first = np.stack([across.min(axis=1), down.min(axis=1)], axis=1)
        last = np.stack([across.max(axis=1), down.max(axis=1)], axis=1)
        if self.value("mode") != "expand":
            after = last - first
            # The sides count as swapped where the longer one has become the shorter one.
            swapped = (before[:, 0] < before[:, 1]) ^ (after[:, 0] < after[:, 1])
            less = (after - np.where(swapped[:, None], before[:, ::-1], before)) / 2
            if self.value("mode") == "halfway":
                less /= 2
            first, last = first + less, last - less
        area = (last - first).prod(axis=1)
        limit = canvas[:, ::-1]
        first, last = np.clip(first, 0, limit), np.clip(last, 0, limit)
        with np.errstate(invalid="ignore", divide="ignore"):
            kept = np.asarray((last - first).prod(axis=1) / area >= np.float32(self.value("remove_threshold")))
        return np.concatenate([first, last], axis=1), canvas, kept

    def _canvas(
        self, call: Call, angles: npt.NDArray[np.float32], sizes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Height and width of each canvas."""
        from dali_lab.kernels.cpu import warp

        if self.value("keep_size"):
            return sizes
        if "size" in self.connected or self.values["size"]:
            wanted = call.vectors("size", 2).astype(np.int64)
            call.refuse(wanted < 1, "{} is not positive", wanted, argument="size")
            return np.asarray(wanted)
        return np.asarray(warp.rotated_sizes(angles, sizes))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        reason = "float32 products of coordinates, sines and cosines in another order"
        boxes = sample_boxes()
        labels = [np.arange(len(row), dtype=np.int32) + 10 for row in boxes]
        columns = [row[:, None] for row in labels]
        angles = PerSample.of(10, 90, 44, -133.3)
        shapes = PerSample.of((100, 200), (31, 40), (60, 61), (77, 20), dtype=np.int32)
        pair = {"input_shape": (100, 200)}
        yield from Case.each(
            (boxes, labels),
            {"angle": 30.0, **pair},
            {"angle": -75.0, "mode": "fixed", **pair},
            {"angle": -75.0, "mode": "halfway", **pair},
            {"angle": 120.0, "keep_size": True, **pair},
            {"angle": 30.0, "size": (50.0, 80.9), **pair},
            {"angle": 30.0, "keep_size": True, "remove_threshold": 0.8, **pair},
            {"angle": 30.0, "keep_size": True, "remove_threshold": 0.0, "mode": "fixed", **pair},
            {"angle": 30.0, "input_shape": (3, 50, 70), "shape_layout": "CHW"},
            {"angle": 30.0, "input_shape": (50, 70, 3), "mode": "halfway"},
            {"angle": 0.0, **pair},
            {"angle": -45.0, "mode": "fixed", **pair},
            {"angle": 45.0, "mode": "halfway", "keep_size": True, "input_shape": (85, 77)},
            {"angle": angles, "input_shape": shapes},
            {"angle": angles, "input_shape": shapes, "keep_size": True, "mode": "fixed"},
            tolerance=1e-6,
            reason=reason,
        )
        arguments = {"angle": angles, "input_shape": shapes, "bbox_layout": "xyWH"}
        yield Case((sample_boxes_by_size(), columns), arguments, tolerance=1e-6, reason=reason)
        yield Case((boxes,), {"angle": 30.0, "keep_size": True, **pair}, tolerance=1e-6, reason=reason)
        pixels = [row * np.array([200, 100, 200, 100], np.float32) for row in boxes]
        arguments = {"angle": -45.0, "bbox_normalized": False, **pair}
        yield Case((pixels, labels), arguments, tolerance=1e-4, reason=reason)
        beyond = [np.array([[-0.5, 0.5, 1.4, 1.4], [1.2, 0.1, 1.4, 0.4]], np.float32)]
        yield Case((beyond,), {"angle": 30.0, **pair}, tolerance=1e-6, reason=reason)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        boxes = sample_boxes()
        good = {"angle": 3.0, "input_shape": (10, 20)}
        yield ErrorCase((boxes,), {**good, "size": (5.0, 5.0), "keep_size": True}, words=("size", "keep_size"))
        yield ErrorCase((boxes,), {"angle": 3.0, "input_shape": (10,)}, words=("input_shape", "HW"))
        labels = [np.zeros(7, np.int32)] * len(boxes)
        yield ErrorCase((boxes, labels), good, words=("7 labels", "5 boxes"))
