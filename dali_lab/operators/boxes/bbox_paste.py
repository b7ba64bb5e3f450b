"""Moves boxes along with an image that is pasted on a larger canvas."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.operators.boxes.coordinates import (
    BOXES,
    LTRB,
    box_table,
    per_box,
    sample_boxes,
    sample_boxes_by_size,
    store,
)
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Operator, Output, PerSample, number, register


@register
class BBoxPaste(Operator):
    """Moves boxes along with their image when `paste` puts it on a canvas that is `ratio` times as large.

    A corner becomes ``x / ratio + paste_x · (ratio − 1) / ratio``.
    """

    name = "bbox_paste"
    schema_name = "BBoxPaste"
    title = "Paste boxes"
    inputs = (BOXES,)
    outputs = (
        Output("boxes", kind="boxes", dtype=FLOAT, doc="The boxes in the larger picture, of the input's shape."),
    )
    arguments = (
        number(
            "ratio",
            REQUIRED,
            "Size of the canvas over the size of the image.",
            tensor=True,
            important=True,
            slider=(1.0, 4.0),
        ),
        number("paste_x", 0.5, "Horizontal place, from 0 (left) to 1 (right).", tensor=True, slider=(0.0, 1.0)),
        number("paste_y", 0.5, "Vertical place, from 0 (top) to 1 (bottom).", tensor=True, slider=(0.0, 1.0)),
        LTRB,
    )
    example = """
    >>> images = fn.paste(images, ratio=2.0, paste_x=0.2, paste_y=0.8, fill_value=0)
    >>> boxes = fn.bbox_paste(boxes, ratio=2.0, paste_x=0.2, paste_y=0.8, ltrb=True)
    """

    def run(self, call: Call, boxes: Batch) -> Batch:
        table, counts = box_table(call, boxes)
        ratio = call.numbers("ratio")
        call.refuse(~(ratio > 0) | ~np.isfinite(ratio), "must be positive, got {:g}", ratio, argument="ratio")
        ratio = ratio.astype(np.float32, copy=False)[:, None]
        scale = 1 / ratio
        places = np.stack([call.numbers(name) for name in ("paste_x", "paste_y")], axis=1).astype(np.float32)
        offset = places * ((ratio - 1) / ratio)
        # Boxes from 0 to 1 must stay so, also where numbers are rounded.
        np.copyto(offset, 1 - scale, where=scale + offset > 1)
        while (beyond := scale + offset > 1).any():
            np.nextafter(offset, np.float32(-1), out=offset, where=beyond)
        scaled = table * per_box(scale, counts)
        moved = per_box(offset, counts)
        scaled[:, :2] += moved
        if self.value("ltrb"):
            scaled[:, 2:] += moved
        out = call.allocate(boxes.shapes, FLOAT, boxes.layout)
        store(out, scaled)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        ratios = PerSample.of(1, 1.5, 2, 4)
        places = PerSample.of(0, 0.3, 0.9, 1)
        for ltrb, boxes in ((True, sample_boxes()), (False, sample_boxes_by_size())):
            yield from Case.each(
                (boxes,),
                {"ratio": 2.0},
                {"ratio": 3.0, "paste_x": 0.2, "paste_y": 1.0},
                {"ratio": ratios},
                {"ratio": 1.7, "paste_x": places},
                {"ratio": ratios, "paste_y": places},
                {"ratio": 2.0, "paste_x": 1.5, "paste_y": -0.5},
                common={"ltrb": ltrb},
            )
            yield Case((boxes,), {"ltrb": ltrb, "ratio": 0.3})
        yield Case(([np.array([0.1, 0.2, 0.3, 0.5], np.float32)] * 2,), {"ratio": 2.0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((sample_boxes(),), {"ratio": 0.0}, words=("ratio", "positive", "0"))
        yield ErrorCase(([np.zeros((2, 3), np.float32)],), {"ratio": 2.0}, words=("4 numbers", "(2, 3)"))
