"""Draws a window that holds as much as it can of a region of interest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INT64
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, OneOf, Operator, Output, integers, register, samples
from dali_lab.schema.operator import PerSample

Table = npt.NDArray[np.int64]

_ONE_END = "Either ROI end or ROI shape should be defined, but not both"


@register
class RoiRandomCrop(Operator):
    """Draws the place of a window of a given size, so that it holds as much as it can of a region of interest.

    A window smaller than the region lies inside it, a larger one around it, and inside the data if `in_shape` or the
    data itself is given. The result is the window's start, such as for ``fn.slice``.
    """

    name = "roi_random_crop"
    schema_name = "ROIRandomCrop"
    title = "Random crop around a region"
    inputs = (
        Input(
            "data",
            kind="any",
            doc="What will be cropped; its first axes bound the window.",
            optional=True,
            replaces=("in_shape",),
        ),
    )
    outputs = (Output("start", kind="tensor", doc="Start of the window, along each axis."),)
    devices = ("cpu",)
    random = True
    arguments = (
        integers("crop_shape", REQUIRED, "Size of the window.", tensor=True, unit="px", important=True),
        integers("roi_start", REQUIRED, "Start of the region.", tensor=True, unit="px", important=True),
        integers("roi_end", None, "End of the region; or give `roi_shape`.", tensor=True, unit="px"),
        integers("roi_shape", None, "Size of the region; or give `roi_end`.", tensor=True, unit="px"),
        integers(
            "in_shape",
            None,
            "Shape of the data, which the window must not leave, in place of the data.",
            tensor=True,
            unit="px",
        ),
    )
    rules = (
        OneOf(
            "roi_end",
            "roi_shape",
            needed=True,
            refused_as=_ONE_END,
            lacking_as=_ONE_END,
        ),
    )
    example = """
    >>> shape = image.shape(dtype=types.INT32)[:2]
    >>> start = fn.roi_random_crop(crop_shape=(64, 64), roi_start=box[:2], roi_end=box[2:], in_shape=shape)
    >>> fn.slice(image, start=fn.cast(start, dtype=types.INT32), shape=(64, 64), axes=(0, 1))
    """

    def run(self, call: Call, *inputs: Batch) -> Batch:
        from dali_lab.kernels.cpu import roi_window

        axes = self._axes(call)
        window = call.vectors("crop_shape", axes, np.int64)
        start = call.vectors("roi_start", axes, np.int64)
        by_end = self.has("roi_end")
        extent = (
            call.vectors("roi_end", axes, np.int64) - start if by_end else call.vectors("roi_shape", axes, np.int64)
        )
        call.refuse(window < 0, "must not be negative: {}. Crop shape can't be negative", window, argument="crop_shape")
        shapes = None
        if inputs or self.has("in_shape"):
            shapes = inputs[0].shapes if inputs else call.vectors("in_shape", axes, np.int64)
            if shapes.shape[1] < axes:
                raise call.problem(f"has {axes} values for {shapes.shape[1]} dimensions", argument="crop_shape")
            shapes = np.ascontiguousarray(shapes[:, :axes])
            call.refuse(
                shapes < 0, "must not be negative: {}. Input shape can't be negative.", shapes, argument="in_shape"
            )
            larger = "is larger than the data of shape {}: {}. Cropping shape can't be bigger than the input shape."
            call.refuse(window > shapes, larger, shapes, window, argument="crop_shape")
            call.refuse(start < 0, "must not be negative: {}. ROI can't be out of bounds.", start, argument="roi_start")
            name = "roi_end" if by_end else "roi_shape"
            leaves = "makes a region that leaves the data of shape {}: {}. ROI can't be out of bounds."
            call.refuse(start + extent > shapes, leaves, shapes, start + extent, argument=name)
        stream = open_stream(call.generator, call.indices)
        return Batch.dense(
            roi_window.window_starts(stream.key, stream.highs, start, extent, window, shapes), dtype=INT64
        )

    def _axes(self, call: Call) -> int:
        batch = call.batches.get("crop_shape")
        if batch is None:
            return len(self.values["crop_shape"])
        return int(batch.sizes[0]) if len(batch) else 0

    @classmethod
    def cases(cls) -> Iterable[Case]:
        some = {"crop_shape": (4, 5), "roi_start": (3, 2)}
        data = samples.tensors(((20, 30), (25, 12), (13, 40)))
        yield from Case.each(
            (),
            {**some, "roi_shape": (6, 9)},
            {**some, "roi_end": (20, 40)},
            {**some, "roi_shape": (1, 2)},
            {**some, "roi_shape": (4, 9)},
            {**some, "roi_end": (1, 1)},
            {**some, "roi_shape": (6, 7), "in_shape": (20, 30)},
            {**some, "roi_shape": (2, 3), "in_shape": (5, 6)},
            {"crop_shape": (4,), "roi_start": (3,), "roi_shape": (60,)},
            {"crop_shape": (4, 5, 3), "roi_start": (3, 2, 0), "roi_shape": (60, 50, 3)},
            {**some, "roi_shape": (66, 99), "seed": 7},
            batches=3,
        )
        yield from Case.each((data,), {**some, "roi_shape": (6, 9)}, {**some, "roi_shape": (1, 1)}, batches=3)
        yield Case((samples.pictures(),), {"crop_shape": (4, 5), "roi_start": (3, 2), "roi_end": (9, 10)}, batches=3)
        windows = PerSample.of((4, 5), (7, 3), (10, 10), dtype=np.int32)
        yield Case((data,), {"crop_shape": windows, "roi_start": (2, 3), "roi_shape": (8, 8)}, batches=3)
        yield Case((), {"crop_shape": windows, "roi_start": windows, "roi_end": (40, 50)}, batches=2)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        some = {"crop_shape": (4, 5), "roi_start": (3, 2)}
        yield ErrorCase((), some, words=("roi_end", "roi_shape"))
        yield ErrorCase((), {**some, "roi_end": (9, 9), "roi_shape": (2, 2)}, words=("roi_shape", "excludes 'roi_end'"))
        yield ErrorCase((), {**some, "roi_shape": (2, 2), "in_shape": (3, 9)}, words=("crop_shape", "[4, 5]"))
        yield ErrorCase((), {**some, "roi_shape": (9, 9), "in_shape": (9, 9)}, words=("roi_shape", "leaves"))
        yield ErrorCase((), {**some, "crop_shape": (-4, 5), "roi_end": (9, 9)}, words=("crop_shape", "negative"))
