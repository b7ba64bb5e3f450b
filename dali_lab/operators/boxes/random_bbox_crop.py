"""Draws crop windows that overlap boxes as asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.dense import flat, gathered
from dali_lab.model.dtypes import FLOAT, INT32
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.boxes.coordinates import (
    LABELS,
    LABELS_LEFT,
    labels_out,
    sample_boxes,
    sample_boxes_by_size,
    store,
    table_out,
)
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Needs, OneOf, Operator, Output, register
from dali_lab.schema.operator import PerSample
from dali_lab.schema.presets import choice, flag, fraction, integer, integers, numbers

Array = npt.NDArray[Any]
CORNERS = {2: "xyXY", 3: "xyzXYZ"}
SIZES = {2: "xyWH", 3: "xyzWHD"}
SHAPES = {2: "WH", 3: "WHD"}
GIVE_UP = 1_000_000
"""Windows drawn for a sample before it fails, where `total_num_attempts` does not say."""


@register
class RandomBBoxCrop(Operator):
    """Draws a window for each sample that overlaps its boxes as asked, and gives the boxes within the window.

    A threshold is drawn from `thresholds` (or, with `allow_no_crop`, the whole sample is taken); then `num_attempts`
    windows, of which the last one that reaches the threshold counts if it keeps a box; and so on until there is one.
    Window and boxes are relative to the sample, the window with `crop_shape` in pixels; boxes are then relative to the
    window. Give the window to `slice`.
    """

    name = "random_bbox_crop"
    schema_name = "RandomBBoxCrop"
    title = "Random crop with boxes"
    inputs = (
        Input(
            "boxes",
            dtypes=(FLOAT,),
            kind="boxes",
            doc="Boxes of FLOAT from 0 to 1, ``(n, 4)``, or ``(n, 6)`` in volumes.",
        ),
        LABELS,
    )
    outputs = (
        Output("anchor", kind="tensor", doc="Start of the window in the order x, y, z.", dtype=FLOAT),
        Output("shape", kind="tensor", doc="Extents of the window in the order x, y, z.", dtype=FLOAT),
        Output("boxes", kind="boxes", doc="Boxes that are left, relative to the window.", dtype=FLOAT),
        LABELS_LEFT,
        Output("indices", kind="tensor", doc="With `output_bbox_indices`: places of these boxes.", dtype=INT32),
    )
    random = True
    arguments = (
        fraction(
            "thresholds",
            (0.0,),
            "Least overlap of windows with boxes; one of them is drawn.",
            vector=True,
            important=True,
        ),
        choice(
            "threshold_type",
            "iou",
            ("iou", "overlap"),
            "What overlap is: intersection over union, or the part of the box within the window.",
        ),
        flag("all_boxes_above_threshold", "All boxes must reach the threshold, rather than one of them.", default=True),
        flag(
            "allow_no_crop",
            "Taking the whole sample is one more choice beside the thresholds; not where `crop_shape` is given.",
            default=True,
        ),
        numbers(
            "scaling",
            (1.0, 1.0),
            "Range of the window's extents relative to the sample.",
            lengths=(2,),
            minimum=0.0,
            important=True,
        ),
        numbers(
            "aspect_ratio",
            (1.0, 1.0),
            "Range of width over height; in volumes, one for all pairs of axes or one for each (xy, xz, yz).",
            lengths=(2, 6),
            minimum=0.0,
            important=True,
        ),
        integers("crop_shape", None, "Extents of the window in pixels, instead of a range.", tensor=True, minimum=1),
        integers("input_shape", None, "Extents of the sample.", tensor=True, minimum=1),
        Arg("shape_layout", "layout", None, "Order of these extents; WH or WHD if not given."),
        Arg("bbox_layout", "layout", None, "Order of coordinates: two corners (xyXY) or corner and size (xyWH)."),
        flag("ltrb", "Two corners, rather than corner and size; `bbox_layout` is its successor.", default=True),
        fraction(
            "bbox_prune_threshold",
            None,
            "Part of a box that must remain for it to be kept; if not given, its centre must.",
        ),
        integer("num_attempts", 1, "Windows that are drawn for one threshold.", minimum=1, maximum=1_000_000),
        integer(
            "total_num_attempts",
            -1,
            "Windows that are drawn in all before the best one is taken; -1 for no end.",
            minimum=-1,
            maximum=1_000_000,
        ),
        flag("output_bbox_indices", "Give the places of the boxes that are left, too."),
        flag("quiet", "Do not warn where the best window is taken for want of a good one."),
    )
    rules = (
        Needs("crop_shape", "input_shape"),
        OneOf("crop_shape", "scaling aspect_ratio"),
        OneOf("bbox_layout", "ltrb"),
    )
    example = """
    >>> anchor, shape, boxes, labels = fn.random_bbox_crop(boxes, labels, scaling=(0.3, 1.0), aspect_ratio=(0.5, 2.0),
    ...                                                    thresholds=(0.1, 0.5, 0.9), total_num_attempts=50)
    >>> images = fn.slice(images, anchor, shape)
    """

    @classmethod
    def count_outputs(cls, values: Mapping[str, Any], inputs: int) -> int:
        return 3 + (inputs > 1) + bool(values.get("output_bbox_indices"))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if values.get("allow_no_crop") and (values.get("crop_shape") is not None or "crop_shape" in connected):
            raise ArgumentError("must not be True where 'crop_shape' is given", argument="allow_no_crop")
        if not values.get("thresholds", (0.0,)):
            raise ArgumentError("needs at least one value", argument="thresholds")
        if values.get("total_num_attempts", -1) == 0:
            raise ArgumentError("must be at least 1, or -1", argument="total_num_attempts")
        for name in ("scaling", "aspect_ratio"):
            row = values.get(name, (1.0, 1.0))
            if any(low > high for low, high in zip(row[::2], row[1::2], strict=True)):
                raise ArgumentError(f"{list(row)} is not a range", argument=name)

    def run(self, call: Call, boxes: Batch, labels: Batch | None = None) -> tuple[Batch, ...]:
        columns = int(boxes.shapes[0, 1]) if boxes.ndim == 2 and len(boxes) else 4
        if boxes.ndim != 2 or columns not in (4, 6) or (boxes.shapes[:, 1] != columns).any():
            shape = tuple(boxes.shapes[0].tolist())
            raise call.problem(f"takes boxes of 4 or 6 numbers, (n, 4) or (n, 6), got shape {shape}", sample=0)
        counts = boxes.shapes[:, 0].copy()
        if labels is not None:
            call.refuse(labels.sizes != counts, "got {} labels for {} boxes", labels.sizes, counts)
        ndim = columns // 2
        order, by_size = self._order(call, ndim)
        table = np.ascontiguousarray(flat(gathered(boxes)).reshape(-1, columns)[:, order])
        if by_size:
            table[:, ndim:] += table[:, :ndim]
        self._check_within(call, table, counts)
        found, kept, fixed = self._windows(call, table, counts, ndim)
        return self._results(call, boxes, labels, table, counts, found, kept, fixed, order, by_size)

    def _order(self, call: Call, ndim: int) -> tuple[list[int], bool]:
        """Positions of the coordinates within a box, and whether the later ones are extents."""
        layout = self.value("bbox_layout")
        if layout is None:
            return list(range(2 * ndim)), not self.value("ltrb")
        for names, by_size in ((CORNERS[ndim], False), (SIZES[ndim], True)):
            if sorted(layout) == sorted(names):
                return [layout.index(name) for name in names], by_size
        raise call.problem(
            f"{layout!r} is not an order of {CORNERS[ndim]!r} or {SIZES[ndim]!r}", argument="bbox_layout"
        )

    @staticmethod
    def _check_within(call: Call, table: Array, counts: Array) -> None:
        owners = np.repeat(np.arange(len(counts)), counts)
        message, shown = "the box with the corners {} is not within 0 and 1", table.astype(np.float64).round(4)
        call.refuse(~((table >= 0) & (table <= 1)), message, shown, owners=owners)

    def _extents(self, call: Call, name: str, ndim: int, default: float) -> npt.NDArray[np.float32]:
        """Extents of each sample in the order x, y, z."""
        if not call.has(name):
            return np.full((call.count, ndim), default, np.float32)
        rows = call.lists(name, np.int64) or []
        lengths = {len(row) for row in rows}
        if lengths != {ndim}:
            raise call.problem(f"takes {ndim} values, got {max(lengths, default=0)}", argument=name)
        layout = self.value("shape_layout") or SHAPES[ndim]
        if sorted(layout) != sorted(SHAPES[ndim]):
            raise call.problem(f"{layout!r} is not an order of {SHAPES[ndim]!r}", argument="shape_layout")
        table = np.array(rows, np.float32)[:, [layout.index(letter) for letter in SHAPES[ndim]]]
        call.refuse(table < 1, "{} is not positive", np.array(rows), argument=name)
        return np.ascontiguousarray(table)

    def _ratios(self, call: Call, ndim: int) -> npt.NDArray[np.float32]:
        """Range of the aspect ratio of each pair of axes."""
        rows = np.array(self.value("aspect_ratio"), np.float32).reshape(-1, 2)
        pairs = ndim * (ndim - 1) // 2
        if len(rows) not in (1, pairs):
            takes = "2" if pairs == 1 else f"2 or {2 * pairs}"
            raise call.problem(f"takes {takes} values, got {2 * len(rows)}", argument="aspect_ratio")
        return np.ascontiguousarray(np.broadcast_to(rows, (pairs, 2)))

    def _windows(
        self, call: Call, table: Array, counts: Array, ndim: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.float32] | None]:
        """Corners of the windows, a mask of the boxes kept, and extents in pixels where they are given."""
        from dali_lab.kernels.cpu import boxes_crop

        sizes = self._extents(call, "input_shape", ndim, 1.0)
        fixed = self._extents(call, "crop_shape", ndim, float(boxes_crop.ANY_EXTENT))
        # NVIDIA DALI takes larger windows in its own order of axes, and lets them begin before the sample.
        too_large = fixed > sizes
        if self.value("shape_layout") not in (None, "", SHAPES[ndim]):
            call.refuse(too_large, "a window of {} does not fit {}", fixed, sizes, argument="crop_shape")
        least, total = self.value("bbox_prune_threshold"), self.value("total_num_attempts")
        stream = open_stream(call.generator, call.indices)
        found = np.empty((call.count, 2 * ndim), np.float32)
        kept, success = np.empty(len(table), np.bool_), np.empty(call.count, np.bool_)
        boxes_crop.windows(
            stream.key, stream.highs, table, np.cumsum(counts) - counts, counts,
            np.array(self.value("thresholds"), np.float32), self.value("allow_no_crop") and not self.has("crop_shape"),
            np.array(self.value("scaling"), np.float32), self._ratios(call, ndim), fixed, sizes,
            self.value("threshold_type") == "iou", self.value("all_boxes_above_threshold"),
            boxes_crop.BY_CENTRE if least is None else np.float32(least),
            self.value("num_attempts"), GIVE_UP if total < 0 else total, found, kept, success,
        )  # fmt: skip
        if not success.all():
            if total < 0:
                message = f"none of {GIVE_UP} windows overlaps the boxes as 'thresholds' ask"
                call.refuse(~success, message, argument="thresholds")
            index = int((~success).argmax())
            if not self.value("quiet"):
                warnings.warn(
                    f"random_bbox_crop, sample {index + call.start}: Could not find a valid cropping window to satisfy"
                    f" the specified requirements (attempted {total} times). Using the best cropping window so far",
                    stacklevel=2,
                )
        return found, kept, fixed * 1 if call.has("crop_shape") else None

    def _results(
        self, call: Call, boxes: Batch, labels: Batch | None, table: Array, counts: Array, found: Array,
        kept: Array, fixed: Array | None, order: list[int], by_size: bool,
    ) -> tuple[Batch, ...]:  # fmt: skip
        ndim = found.shape[1] // 2
        owner = np.repeat(np.arange(len(counts)), counts)[kept]
        window = found[owner]
        start, extent = window[:, :ndim], window[:, ndim:] - window[:, :ndim]
        low = np.clip((table[kept, :ndim] - start) / extent, 0, 1)
        high = np.clip((table[kept, ndim:] - start) / extent, 0, 1)
        left = np.bincount(owner, minlength=len(counts)).astype(np.int64)
        inside = np.empty((len(owner), 2 * ndim), np.float32)
        inside[:, order] = np.concatenate([low, high - low if by_size else high], axis=1)
        anchor, shape = found[:, :ndim], found[:, ndim:] - found[:, :ndim]
        if fixed is not None:
            anchor, shape = np.rint(anchor * self._extents(call, "input_shape", ndim, 1.0)), fixed
        outputs = [
            Batch.dense(np.ascontiguousarray(anchor, np.float32), dtype=FLOAT),
            Batch.dense(np.ascontiguousarray(shape, np.float32), dtype=FLOAT),
            table_out(call, inside, left, boxes.layout, output=2),
        ]
        if labels is not None:
            outputs.append(labels_out(call, labels, kept, left, output=3))
        if self.value("output_bbox_indices"):
            indices = call.allocate(left[:, None], INT32, output=len(outputs))
            store(indices, rows_of(counts)[1][kept].astype(np.int32))
            outputs.append(indices)
        return tuple(outputs)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        boxes = sample_boxes() * 3
        labels = [np.arange(len(row), dtype=np.int32) for row in boxes]
        free = {"scaling": (0.3, 1.0), "aspect_ratio": (0.5, 2.0), "total_num_attempts": 60, "quiet": True}
        yield from Case.each(
            (boxes, labels),
            {},
            {"allow_no_crop": False, **free},
            free,
            {"scaling": (0.3, 0.9)},
            {**free, "input_shape": (100, 200)},
            {**free, "thresholds": (0.1, 0.3, 0.5)},
            {**free, "thresholds": (0.1, 0.3, 0.5), "num_attempts": 5},
            {**free, "thresholds": (0.2, 0.7), "threshold_type": "overlap", "allow_no_crop": False},
            {**free, "thresholds": (0.1, 0.3), "all_boxes_above_threshold": False, "num_attempts": 3},
            {**free, "thresholds": (0.9,), "total_num_attempts": 7, "allow_no_crop": False},
            {**free, "bbox_prune_threshold": 0.3},
            {**free, "bbox_prune_threshold": 0.0, "seed": 9},
            {**free, "output_bbox_indices": True},
            batches=2,
        )
        pixels = {"crop_shape": (40, 50), "input_shape": (100, 200), "allow_no_crop": False, "total_num_attempts": 50}
        yield Case((boxes,), {**pixels, "quiet": True}, batches=2)
        sure = {"thresholds": (0.3,), "total_num_attempts": 20, "quiet": True}
        for shape in ((40, 50), (100, 30), (130, 30)):
            given = {**sure, "crop_shape": shape, "input_shape": (100, 200)}
            yield Case((boxes,), given, batches=2)
        yield Case((boxes,), {**pixels, "quiet": True, "shape_layout": "HW"})
        sizes = PerSample([np.array((100 + i, 200 - i), np.int32) for i in range(len(boxes))])
        yield Case((boxes,), {**pixels, "quiet": True, "input_shape": sizes})
        by_size = sample_boxes_by_size() * 3
        columns = [row[:, None] for row in labels]
        yield Case((by_size, columns), {**free, "bbox_layout": "xyWH"})
        yield Case((by_size,), {**free, "ltrb": False, "output_bbox_indices": True})
        turned = [np.ascontiguousarray(row[:, [3, 1, 0, 2]]) for row in boxes]
        yield Case((turned,), {**free, "bbox_layout": "YyxX"})
        deep = [np.concatenate([row[:, :2], row[:, :1], row[:, 2:], row[:, 2:3]], axis=1) for row in boxes]
        yield Case((deep,), {**free, "allow_no_crop": False}, batches=2)
        for ratio in (0.6, 1.7):
            fixed = {**free, "aspect_ratio": (ratio, ratio), "scaling": (0.3, 0.8)}
            yield Case((boxes,), fixed, batches=2)
            yield Case((boxes,), {**fixed, "input_shape": (150, 271)}, batches=2)
        yield Case((boxes,), {**free, "aspect_ratio": (1.0, 1.0), "input_shape": (73, 92)})
        three = {"aspect_ratio": (0.5, 2.0, 0.3, 3.0, 0.4, 2.5), "input_shape": (100, 90, 80), "scaling": (0.5, 1.0)}
        yield Case((deep,), {**free, **three, "allow_no_crop": False}, batches=2)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        boxes = sample_boxes()
        yield ErrorCase((boxes,), {"scaling": (0.5, 0.2)}, words=("scaling", "0.5"))
        yield ErrorCase((boxes,), {"total_num_attempts": 0}, words=("total_num_attempts",))
        yield ErrorCase((boxes,), {"bbox_layout": "xyZW"}, words=("bbox_layout", "xyZW"))
        yield ErrorCase((boxes,), {"bbox_layout": "xyXY", "ltrb": True}, words=("ltrb", "bbox_layout"))
        yield ErrorCase((boxes,), {"crop_shape": (3, 4), "allow_no_crop": False}, words=("input_shape", "crop_shape"))
        large = {"crop_shape": (30, 4), "input_shape": (10, 10), "shape_layout": "HW"}
        yield ErrorCase((boxes,), large, words=("crop_shape", "30", "sample 0"))
        yield ErrorCase((boxes,), {**large, "allow_no_crop": True}, words=("allow_no_crop", "crop_shape"))
        yield ErrorCase((boxes,), {"input_shape": (10, 10, 3)}, words=("input_shape", "3"))
        outside = [np.array([[0.3, 0.3, 1.6, 0.7]], np.float32)]
        yield ErrorCase((outside,), words=("1.6", "sample 0"))
        yield ErrorCase(([np.zeros((1, 5), np.float32)],), words=("(1, 5)",))
        never = {"thresholds": (1.0,), "scaling": (0.3, 0.4), "allow_no_crop": False}
        yield ErrorCase(([np.array([[0.1, 0.1, 0.9, 0.9]], np.float32)],), never, words=("thresholds", "sample 0"))
