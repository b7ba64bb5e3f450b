"""Decodes videos that are fed, a batch of sequences at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.codecs.encoded import CodecError
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import SampleError
from dali_lab.model.incoming import incoming_batch
from dali_lab.operators.decoders.frame_numbers import MOST_FRAMES, empty_frames, filled, named
from dali_lab.operators.decoders.video import CODECS, COLORS, PYAV
from dali_lab.schema import REQUIRED, Call, Operator, Output, choice, flag, integer, register
from dali_lab.schema.ports import Extent
from dali_lab.schema.source import Draw, FeedQueue, Source


@register
class VideoInput(Operator):
    __doc__ = f"""Decodes videos that are fed by ``Pipeline.feed_input``, one at a time, a batch of sequences a run.

    Each run gives the next frames: as many sequences as a batch holds, fewer at the end of a video. After it the next
    video that was fed begins. Long videos never stand in memory as a whole: {CODECS}. {COLORS} {PYAV}
    """

    name = "experimental.inputs.video"
    title = "Video input"
    outputs = (Output("frames", kind="image", doc="Sequences of frames, UINT8, FHWC.", dtype=UINT8),)
    devices = ("cpu", "mixed")
    source = True
    fed = True
    in_order = True
    whole_batch = True
    tested_elsewhere = "tests/unit/readers/test_video_input.py"
    differs = "It always decodes on the CPU. Operator traces with the identifier of the data are not there."
    arguments = (
        integer(
            "sequence_length",
            REQUIRED,
            "Number of frames of a sequence.",
            minimum=1,
            maximum=MOST_FRAMES,
            important=True,
        ),
        choice(
            "last_sequence_policy",
            "partial",
            ("partial", "pad"),
            "The last sequence of a video has fewer frames ('partial'), or black ones at its end ('pad').",
        ),
        flag("blocking", "Wait until a video is fed, instead of raising."),
        flag(
            "no_copy",
            "Use the memory of the data itself; it must stay as it is until the video was used.",
            advanced=True,
        ),
        flag("affine", "Kept for programs that set it.", default=True, advanced=True),
    )
    start = {"sequence_length": 8}
    example = '>>> frames = fn.experimental.inputs.video(name="video", sequence_length=16)'

    def open_source(self, seed: int, *, checkpointing: bool = False, tolerant: bool = False) -> Source:
        return VideoSource(self)

    def extents(self) -> tuple[Extent, ...]:
        return (Extent((-1, -1, -1, 3), UINT8, "FHWC"),)

    def run(self, call: Call) -> Batch:
        video, starts, last = call.ticket
        length, count = self.value("sequence_length"), len(video.index)
        numbers = []
        for start in starts[call.start : call.start + call.count].tolist():
            wanted = np.arange(start, start + length)
            partial = self.value("last_sequence_policy") == "partial"
            numbers.append(wanted[wanted < count] if partial else np.where(wanted < count, wanted, -1))
        out = empty_frames(call, [video.index] * len(numbers), numbers, UINT8)
        for sample, wanted in enumerate(numbers):
            try:
                with named(call, sample, None):
                    video.decode(*filled(out.array(sample), wanted, (0,)))
            except SampleError as error:
                call.lose(error)
        if last and call.lost is None:  # else sequences of it may be asked for in the place of bad ones
            video.close()
        return out


class VideoSource(Source):
    """Cuts the videos that are fed into sequences."""

    def __init__(self, operator: VideoInput) -> None:
        self._operator = operator
        self._fed = FeedQueue(operator.node)
        self._video: Any = None
        self._next = 0

    def feed(self, data: Any, layout: str | None, limit: int | None, cuda_stream: Any = None) -> None:
        """Take a video from outside: a batch of one sample, its bytes."""
        operator = self._operator
        batch = incoming_batch(data, copy=not operator.value("no_copy"))
        if len(batch) != 1:
            raise operator.fail(f"takes one video at a time, got {len(batch)}")
        if batch.dtype != UINT8:
            raise operator.fail(f"takes the bytes of a video as UINT8, got {batch.dtype.name}")
        self._fed.put(batch)

    def ready(self) -> bool:
        return self._video is not None or bool(self._fed) or bool(self._operator.value("blocking"))

    def draw(self, batch_size: int) -> Draw:
        if self._video is None:
            self._begin()
        video, first = self._video, self._next
        length, count = self._operator.value("sequence_length"), len(video.index)
        starts = np.arange(first, count, length)[:batch_size]
        self._next = int(starts[-1]) + length
        if self._next >= count:
            self._video = None
        return Draw(len(starts), (video, starts, self._video is None))

    def _begin(self) -> None:
        """Open the next video that was fed."""
        from dali_lab.codecs.video import Video

        batch = self._fed.take(wait=self._operator.value("blocking"))
        if batch is None:
            raise self._operator.fail("no video was fed: call feed_input before the run")
        try:
            video = Video(batch.array(0).reshape(-1))
            assert len(video.index)
        except CodecError as error:
            raise self._operator.fail(f"cannot decode the video: {error}") from None
        self._video, self._next = video, 0

    def close(self) -> None:
        self._fed.close()
