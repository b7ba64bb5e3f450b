"""Matches boxes with anchors, as SSD detectors do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT32
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.boxes.coordinates import box_counts, sample_boxes
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, Operator, Output, register
from dali_lab.schema.presets import flag, fraction, number, numbers


@register
class BoxEncoder(Operator):
    """Gives each anchor the box that it overlaps most, if their intersection over union exceeds `criteria`.

    The best anchor of each box is taken in any case. The boxes come as centre and size; an anchor without a box gives
    itself and the label 0. With `offset`, boxes are relative to their anchors (and 0 without one):
    ``((x, y) − anchor) / anchor size`` and ``log((w, h) / anchor size)``, less `means`, divided by `stds`.
    """

    name = "box_encoder"
    differs = "Offsets agree to within 2e-6: divisions and logarithms of float32 round in another place."
    inputs = (
        Input("boxes", dtypes=(FLOAT,), kind="boxes", doc="Boxes as left, top, right, bottom, FLOAT ``(n, 4)``."),
        Input("labels", dtypes=(INT32,), kind="tensor", doc="Their labels, INT32, ``(n,)`` or ``(n, 1)``."),
    )
    outputs = (
        Output("boxes", kind="boxes", doc="A box for each anchor, FLOAT ``(m, 4)``.", dtype=FLOAT),
        Output("labels", kind="tensor", doc="Its label, INT32 ``(m,)``.", dtype=INT32),
    )
    on_gpu = True
    arguments = (
        numbers("anchors", REQUIRED, "Left, top, right, bottom of each anchor."),
        fraction("criteria", 0.5, "Intersection over union above which an anchor takes a box.", important=True),
        flag("offset", "Give boxes relative to their anchors."),
        number("scale", 1.0, "Factor of boxes and anchors before offsets are taken."),
        numbers("means", (0.0, 0.0, 0.0, 0.0), "Means of the four offsets.", lengths=(4,)),
        numbers("stds", (1.0, 1.0, 1.0, 1.0), "Standard deviations of the four offsets.", lengths=(4,)),
    )
    example = ">>> boxes, labels = fn.box_encoder(boxes, labels, anchors=default_boxes, criteria=0.5)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        anchors = values.get("anchors", ())
        if not anchors or len(anchors) % 4:
            raise ArgumentError(
                f"Anchors size must be divisible by 4, actual value = {len(anchors)}", argument="anchors"
            )
        if 0.0 in values.get("stds", ()):
            raise ArgumentError("must not hold 0", argument="stds")

    def setup(self) -> None:
        self._anchors: npt.NDArray[np.float32] = np.array(self.value("anchors"), np.float32).reshape(-1, 4)

    def run(self, call: Call, boxes: Batch, labels: Batch) -> tuple[Batch, Batch]:
        from dali_lab.kernels.cpu.memory import like

        counts = box_counts(call, boxes)
        call.refuse(labels.sizes != counts, "got {} labels for {} boxes", labels.sizes, counts)
        anchors = len(self._anchors)
        out = call.allocate(np.broadcast_to((anchors, 4), (len(boxes), 2)), FLOAT)
        classes = call.allocate(np.full((len(boxes), 1), anchors), INT32, output=1)
        call.kernels("boxes").encode(
            boxes.addresses, labels.addresses, counts, out.addresses, classes.addresses, self._anchors,
            np.float32(self.value("criteria")), self.value("offset"), np.float32(self.value("scale")),
            np.array(self.value("means"), np.float32), np.array(self.value("stds"), np.float32),
            like(np.float32), like(np.int32),
        )  # fmt: skip
        return out, classes

    @classmethod
    def cases(cls) -> Iterable[Case]:
        reason = "float32 divisions and logarithms"
        boxes = sample_boxes()
        labels = [np.arange(len(row), dtype=np.int32) + 1 for row in boxes]
        grid = np.stack(np.meshgrid(np.arange(5) / 5, np.arange(4) / 4), -1).reshape(-1, 2)
        corners = [np.concatenate([grid, grid + size], axis=1) for size in (0.2, 0.4)]
        anchors = tuple(np.concatenate(corners).astype(np.float32).reshape(-1).tolist())
        numbers = {"means": (0.1, 0.2, 0.3, 0.4), "stds": (0.1, 0.1, 0.2, 0.2)}
        yield from Case.each(
            (boxes, labels),
            {},
            {"criteria": 0.3},
            {"criteria": 0.0},
            {"criteria": 1.0},
            {"offset": True},
            {"offset": True, "criteria": 0.1, "scale": 300.0, **numbers},
            common={"anchors": anchors},
            tolerance=2e-6,
            reason=reason,
        )
        columns = [row[:, None] for row in labels]
        yield Case((boxes, columns), {"anchors": anchors}, tolerance=1e-7, reason=reason)
        odd = [np.array([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 1.2, 0.7]], np.float32)]
        yield Case((odd, [np.array([3, 4], np.int32)]), {"anchors": anchors}, tolerance=1e-7, reason=reason)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        boxes = [np.zeros((2, 4), np.float32)]
        labels = [np.zeros(2, np.int32)]
        good = {"anchors": (0.0, 0.0, 1.0, 1.0)}
        yield ErrorCase((boxes, labels), {"anchors": (0.0, 1.0)}, words=("anchors", "2"))
        yield ErrorCase((boxes, labels), {**good, "stds": (0.0, 1.0, 1.0, 1.0)}, words=("stds", "0"))
        yield ErrorCase((boxes, [np.zeros(3, np.int32)]), good, words=("3 labels", "2 boxes"))
