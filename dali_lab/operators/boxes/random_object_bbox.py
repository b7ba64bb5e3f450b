"""Draws an object of a segmentation mask and gives its box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import Stream, open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import BOOL, INT8, INT16, INT32, UINT8, UINT16, UINT32
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, choice, flag, integers, numbers, register
from dali_lab.schema.operator import PerSample
from dali_lab.schema.presets import integer, number

TYPES = (BOOL, UINT8, INT8, UINT16, INT16, UINT32, INT32)
FORMATS = ("anchor_shape", "start_end", "box")
Array = npt.NDArray[Any]


def _free_label(classes: npt.NDArray[np.int64]) -> int:
    """The label below all classes; below the smallest ``int32`` it goes on from the largest to the first free one."""
    label = int(classes.min()) - 1
    limits = np.iinfo(np.int32)
    if label < limits.min:
        label = int(limits.max)
        while label in classes:
            label -= 1
    return label


_IGNORED = "Class-related arguments ``classes``, ``class_weights`` and ``output_class`` cannot be used when"
_IGNORED += " ``ignore_class`` is True"


@register
class RandomObjectBBox(Operator):
    """Draws a label of each mask, then one of its objects, and gives the object's box.

    Objects are pixels of the same label that are connected along axes. Where none is drawn (at the chance
    ``1 − foreground_prob``, or because there is none that is large enough), the box is that of the whole mask. Masks of
    other types are refused where an object is looked for in them.
    """

    name = "segmentation.random_object_bbox"
    schema_name = "segmentation__RandomObjectBBox"
    title = "Random object box"
    inputs = (Input("mask", kind="mask", doc="Labels of any number of axes, BOOL or integers of up to 32 bits."),)
    outputs = (
        Output("anchor", kind="tensor", doc="Start of the box along each axis, or the box.", dtype=INT32),
        Output("shape", kind="tensor", doc="Extents, or ends, of the box.", dtype=INT32),
        Output("label", kind="tensor", doc="With `output_class`: the label that was drawn.", dtype=INT32),
    )
    random = True
    arguments = (
        choice(
            "format",
            "anchor_shape",
            FORMATS,
            "Two outputs, start and extents or start and end, or one with start and end.",
        ),
        number(
            "foreground_prob",
            1.0,
            "Chance of drawing an object; from 1 on it is always drawn, up to 0 never.",
            tensor=True,
            important=True,
            slider=(0.0, 1.0),
        ),
        integer("background", 0, "The label that is not an object.", tensor=True),
        integers("classes", None, "Labels to draw from; all but the background if not given.", tensor=True),
        numbers(
            "class_weights",
            None,
            "Weights of the labels in `classes`, or without these of 0, 1, 2, … but the background. Nothing is drawn"
            " where their sum is not positive.",
            tensor=True,
        ),
        flag("ignore_class", "Draw an object directly, whatever its label."),
        flag("output_class", "Give the label that was drawn, or the background, too."),
        integer(
            "k_largest",
            None,
            "Draw from so many of the largest objects.",
            minimum=1,
            refused_as="``k_largest`` must be at least 1; got {:g}",
        ),
        integers("threshold", None, "Least extent of an object along each axis.", tensor=True),
        flag("cache_objects", "Kept for programs that set it; objects are looked for anew.", advanced=True),
    )
    example = ">>> anchor, shape = fn.segmentation.random_object_bbox(masks, foreground_prob=0.8, k_largest=2)"

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return (1 if values.get("format") == "box" else 2) + bool(values.get("output_class"))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = {name for name, value in values.items() if value is not None} | set(connected)
        if values.get("ignore_class"):
            for name in ("classes", "class_weights"):
                if name in given:
                    raise ArgumentError(f"cannot be given together with 'ignore_class'. {_IGNORED}", argument=name)
            if values.get("output_class"):
                raise ArgumentError(
                    f"cannot be given together with 'ignore_class'. {_IGNORED}", argument="output_class"
                )

    def run(self, call: Call, mask: Batch) -> tuple[Batch, ...]:
        from dali_lab.kernels.cpu import boxes_objects
        from dali_lab.kernels.cpu.memory import like

        if mask.ndim == 0:
            raise call.problem("takes masks of one or more axes, got a single number")
        stream = open_stream(call.generator, call.indices)
        if mask.dtype in TYPES:
            labels = mask.replaced(dtype=UINT8) if mask.dtype == BOOL else mask
            labels = converted(labels, INT32) if mask.dtype != UINT32 else labels.replaced(dtype=INT32)
        else:
            self._check_not_read(call, mask, stream)
            labels = mask.replaced(dtype=INT32)
        classes, weights, backgrounds = self._classes(call)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in classes])]).astype(np.int64)
        least = np.zeros((len(mask), mask.ndim), np.int64)
        if call.has("threshold"):
            least = call.vectors("threshold", mask.ndim, np.int64)
        bounds = np.empty((len(mask), 2, mask.ndim), np.int64)
        drawn = np.empty(len(mask), np.int32)
        boxes_objects.draw(
            stream.key, stream.highs, labels.addresses, mask.shapes.copy(), call.numbers("foreground_prob"),
            backgrounds,
            np.concatenate([np.empty(0, np.int64), *classes]), np.concatenate([np.empty(0, np.float32), *weights]),
            offsets, not (call.has("classes") or call.has("class_weights")), self.value("ignore_class"),
            self.value("k_largest") or -1, least.copy(), bounds, drawn, like(np.int32),
        )  # fmt: skip
        return self._results(bounds.astype(np.int32), drawn)

    @staticmethod
    def _check_not_read(call: Call, mask: Batch, stream: Stream) -> None:
        """Refuse masks of other types, except for samples whose draw gives the box of the whole mask."""
        from dali_lab.kernels.cpu import boxes_objects
        from dali_lab.kernels.cpu.memory import like

        count, nothing = len(mask), np.empty(0, np.int64)
        one = Batch.dense(np.zeros((count, 1), np.int32), dtype=INT32)
        drawn = np.empty(count, np.int32)
        boxes_objects.draw(
            stream.key, stream.highs, one.addresses, one.shapes.copy(), call.numbers("foreground_prob"),
            np.ones(count, np.int64), nothing, np.empty(0, np.float32), np.zeros(count + 1, np.int64), True, False,
            -1, np.zeros((count, 1), np.int64), np.empty((count, 2, 1), np.int64), drawn, like(np.int32),
        )  # fmt: skip
        names = ", ".join(kind.name for kind in TYPES)
        call.refuse(drawn == 0, f"takes {names} to find objects in, got {mask.dtype.name}")

    def _results(self, bounds: npt.NDArray[np.int32], drawn: npt.NDArray[np.int32]) -> tuple[Batch, ...]:
        start, end = np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 1])
        outputs: list[Array]
        if self.value("format") == "box":
            outputs = [np.concatenate([start, end], axis=1)]
        else:
            outputs = [start, end - start if self.value("format") == "anchor_shape" else end]
        if self.value("output_class"):
            outputs.append(drawn)
        return tuple(Batch.dense(output, dtype=INT32) for output in outputs)

    def _classes(self, call: Call) -> tuple[list[Array], list[Array], npt.NDArray[np.int64]]:
        """Labels to draw from, their weights, and the background of each sample."""
        named, weighted = call.lists("classes", np.int64), call.lists("class_weights", np.float32)
        backgrounds = call.numbers("background", np.int64).copy()
        classes: list[Array] = []
        weights: list[Array] = []
        for index in range(call.count):
            row = named[index] if named is not None else None
            weight = weighted[index] if weighted is not None else None
            if row is None:
                count = 0 if weight is None else len(weight)
                row = np.arange(count + 1, dtype=np.int64)
                row = row[row != backgrounds[index]][:count]
            if weight is None:
                weight = np.ones(len(row), np.float32)
            if len(weight) != len(row):
                message = f"has {len(weight)} weights for {len(row)} classes. If both ``classes`` and ``class_weights``"
                message += " are provided, their shapes must match. Got:\n"
                message += f"  classes.shape = {{{len(row)}}}\n  weights.shape = {{{len(weight)}}}"
                raise call.problem(message, argument="class_weights", sample=index)
            if backgrounds[index] in row:
                if "background" in self.given:
                    label = backgrounds[index]
                    message = f"{label} is the background. Class label {label} coincides with background label"
                    raise call.problem(message, argument="classes", sample=index)
                backgrounds[index] = _free_label(row)
            classes.append(row)
            weights.append(weight)
        return classes, weights, backgrounds

    @classmethod
    def cases(cls) -> Iterable[Case]:
        masks = _masks(np.uint8)
        yield from Case.each(
            (masks,),
            {},
            {"foreground_prob": 0.5, "output_class": True},
            {"output_class": True, "classes": (3, 1)},
            {"output_class": True, "classes": (0, 1), "foreground_prob": 0.7},
            {"output_class": True, "classes": (-(2**31), 2**31 - 1, 0, 2**31 - 2), "foreground_prob": 1e-9},
            {"output_class": True, "classes": (1, 9, 2), "class_weights": (1.0, 5.0, 2.0)},
            {"output_class": True, "class_weights": (1.0, 0.0, 3.0, 2.0)},
            {"output_class": True, "class_weights": (0.0, 0.0)},
            {"output_class": True, "classes": (1, 2, 3), "class_weights": (2.0, -1.0, 1.0)},
            {"output_class": True, "classes": (1, 2, 3), "class_weights": (-1.0, float("inf"), 1.0)},
            {"output_class": True, "classes": (1, 2), "class_weights": (-1.0, float("nan"))},
            {"output_class": True, "foreground_prob": -1.0},
            {"output_class": True, "foreground_prob": 1.5},
            {"output_class": True, "background": 2},
            {"output_class": True, "background": 2, "class_weights": (1.0, 2.0, 0.5)},
            {"output_class": True, "background": -1, "class_weights": (1.0, 2.0, 0.5)},
            {"ignore_class": True},
            {"ignore_class": True, "k_largest": 2, "threshold": (2, 2)},
            {"k_largest": 1},
            {"k_largest": 3, "format": "start_end"},
            {"threshold": (2, 3), "output_class": True},
            {"threshold": (4,), "format": "box", "output_class": True},
            {"threshold": (50, 1), "format": "box"},
            {"cache_objects": True, "seed": 3},
            {"foreground_prob": PerSample([np.float32(v) for v in (0, 0.4, 0.8, 1) * 3])},
            {"classes": PerSample([np.array(v, np.int32) for v in ((1,), (2, 3), (3, 1), (1, 2, 3)) * 3])},
            batches=2,
        )
        single = [np.array([value], np.uint8) for value in (0, 1, 2)]
        yield Case((single,), {"foreground_prob": 1.0, "output_class": True, "format": "start_end"})
        for dtype in (np.int8, np.uint16, np.int16, np.uint32, np.int32, np.bool_):
            yield Case((_masks(dtype),), {"output_class": True})
        yield Case(([np.zeros((3, 4), np.uint8), np.ones((2, 2), np.uint8)],), {"output_class": True}, batches=2)
        for unread in (np.int64, np.uint64, np.float32):
            yield Case((_masks(unread),), {"foreground_prob": 0.0, "output_class": True, "background": 2})
        fixed = {"foreground_prob": PerSample([np.float32(0)] * 12), "format": "box"}
        yield Case((_masks(np.int64),), fixed)
        volumes = [np.random.default_rng(i).integers(0, 3, (4, 5, 6)).astype(np.uint8) for i in range(4)]
        yield Case((volumes,), {"output_class": True, "threshold": (2, 2, 2)}, batches=2)
        yield Case(([row.reshape(-1) for row in volumes],), {"output_class": True}, batches=2)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        masks = _masks(np.uint8)
        yield ErrorCase((masks,), {"classes": (1, 2), "class_weights": (1.0,)}, words=("class_weights", "2 classes"))
        yield ErrorCase((masks,), {"classes": (1, 2), "background": 1}, words=("classes", "background"))
        yield ErrorCase((masks,), {"ignore_class": True, "output_class": True}, words=("output_class", "ignore_class"))
        yield ErrorCase((masks,), {"ignore_class": True, "classes": (1,)}, words=("classes", "ignore_class"))
        yield ErrorCase((masks,), {"threshold": (1, 2, 3)}, words=("threshold", "3"))


def _masks(dtype: npt.DTypeLike) -> list[Array]:
    """Masks with objects of the labels 1 to 3, of different sizes."""
    rows = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        mask = np.zeros((12 + seed, 25 - seed), np.int64)
        for _ in range(7):
            y, x = rng.integers(0, 10, 2)
            mask[y : y + rng.integers(1, 5), x : x + rng.integers(1, 6)] = rng.integers(0, 4)
        rows.append(mask.astype(dtype))
    return rows
