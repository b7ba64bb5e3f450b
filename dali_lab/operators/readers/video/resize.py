"""Reads sequences of frames from video files and resizes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dali_lab.codecs.video_index import FrameIndex, Numbers
from dali_lab.model.batch import Batch
from dali_lab.operators.geometry.resizing import (
    FILTERS,
    RESIZE,
    SIZES,
    Resampling,
    Resizing,
    extents_of,
    resampling,
)
from dali_lab.operators.readers.video.reading import VIDEO_READER
from dali_lab.operators.readers.video.video import CONSTANT_RATE, VideoReader
from dali_lab.schema import Call, register
from dali_lab.schema.ports import Extent


@register
class VideoReaderResize(VideoReader, Resizing):
    """Reads sequences of frames from video files of constant frame rate and resizes them.

    The arguments are those of ``readers.video`` and of ``resize``; both work as there.
    """

    name = "readers.video_resize"
    schema_name = "readers__VideoResize"
    title = "Video reader with resize"
    resizes = False
    devices = ("cpu", "gpu")
    on_gpu = False
    tested_elsewhere = "tests/unit/readers/test_video.py"
    arguments = (*VIDEO_READER, *CONSTANT_RATE, *SIZES, *(arg for arg in FILTERS if arg.name != "dtype"))
    rules = RESIZE
    start = {"sequence_length": 8, "resize_shorter": 256.0}
    example = """
    >>> frames, labels = fn.readers.video_resize(
    ...     device="gpu", file_root=root, sequence_length=16, resize_shorter=256, name="Reader"
    ... )
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        Resizing.verify(values, connected, inputs)

    def extents(self) -> tuple[Extent, ...]:
        return (Extent((-1, -1, -1, 3), self.frame_type(), "FHWC"),)

    def memory(self, call: Call, indices: list[FrameIndex], numbers: list[Numbers]) -> Batch:
        shapes = [(len(row), index.height, index.width, 3) for index, row in zip(indices, numbers, strict=True)]
        return call.scratch(shapes, self.frame_type(), "FHWC")

    def plan(self, call: Call, images: Batch) -> Resampling:
        return resampling(call, extents_of(images), bool(self.value("subpixel_scale")))

    def finished(self, call: Call, frames: Batch) -> Batch:
        return self.resample(call, frames, self.plan(call, frames))
