"""Reads sequences of frames from video files of constant frame rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video_index import FrameIndex, Numbers
from dali_lab.model.dtypes import FLOAT, UINT8, DALIDataType
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.decoders.video import CODECS, COLORS, PYAV
from dali_lab.operators.readers.video.reading import VIDEO_READER, VideoReading
from dali_lab.schema import Arg, flag, integer, register

if TYPE_CHECKING:
    from dali_lab.codecs.video import Video as Decoder
    from dali_lab.operators.readers.video.open_videos import ListedVideo, OpenVideos

CONSTANT_RATE = (
    Arg("dtype", "dtype", UINT8, "UINT8 or FLOAT.", or_no_type=True),
    flag("normalized", "Values from 0 to 1."),
    integer("channels", 3, "Number of channels; it is 3.", minimum=3, maximum=3, advanced=True),
    flag("pad_sequences", "Fill sequences that the end of a video cuts short with black frames."),
    flag("skip_vfr_check", "Take videos of variable frame rate, too."),
    flag("file_list_frame_num", "Starts and ends in `file_list` are numbers of frames, not seconds."),
    flag(
        "file_list_include_preceding_frame",
        "Round starts in seconds down and ends up to whole frames, not the other way round.",
    ),
    integer("additional_decode_surfaces", 2, "Kept for programs that set it.", minimum=0, advanced=True),
)


@register
class VideoReader(VideoReading):
    __doc__ = f"""Reads sequences of frames from video files of constant frame rate: {CODECS}.

    Sequences of `sequence_length` frames, each `stride` after the one before, begin every `step` frames. How many there
    are follows from the numbers of frames that files say they have; where they do not, and when its first sequence is
    asked for, a file is read through. Only what a sequence needs is decoded, from the key frame before. {COLORS} {PYAV}
    """

    name = "readers.video"
    title = "Video reader"
    tested_elsewhere = "tests/unit/readers/test_video.py"
    differs = (
        "It runs on the CPU; NVIDIA DALI has it on the GPU alone, so `device` must be 'gpu' in graphs for both. A file"
        " of `filenames` or `file_list` that is not a video raises an error, where NVIDIA DALI leaves it out; in a"
        " `file_root` it is left out with a warning here, too. The frame rate counts as variable if"
        " frames are not equally far apart; NVIDIA DALI looks at the first one alone. Files may have different codecs."
    )
    arguments: ClassVar[tuple[Arg, ...]] = (*VIDEO_READER, *CONSTANT_RATE)
    start = {"sequence_length": 8}
    example = """
    >>> frames, labels = fn.readers.video(device="gpu", file_root=root, sequence_length=16, stride=4, name="Reader")
    """
    no_labels = 0

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if values.get("dtype", UINT8) not in (UINT8, FLOAT):
            raise ArgumentError(f"is UINT8 or FLOAT, not {DALIDataType(values['dtype']).name}", argument="dtype")
        if values.get("file_list") or (values.get("filenames") and values.get("labels") is not None):
            return
        for name in ("enable_frame_num", "enable_timestamps"):
            if values.get(name) not in (None, False, "none"):
                raise ArgumentError("needs 'file_list', or 'filenames' with 'labels'", argument=name)

    def frame_type(self) -> DALIDataType:
        return FLOAT if self.value("dtype") == FLOAT else UINT8

    # -- list of sequences --------------------------------------------------------------------------------------

    def cut(self, listed: ListedVideo, videos: OpenVideos) -> list[tuple[int, int]]:
        with videos.borrowed(listed.path) as video:
            rate = video.header.rate
            count = video.header.frames or len(video.index)
            if not self.value("skip_vfr_check"):
                _check_rate(video, rate)
        first, end = self._part(listed, count, float(rate))
        length = 1 + (self.value("sequence_length") - 1) * self.value("stride")
        clips = self.stepped(first, end, length, tail=False)
        if self.value("pad_sequences"):
            step = self.value("step")
            step = step if step > 0 else self.value("stride") * self.value("sequence_length")
            clips += [(start, end) for start in range(first + len(clips) * step, end, step)]
        return clips

    def _part(self, listed: ListedVideo, count: int, rate: float) -> tuple[int, int]:
        start, end = listed.start or 0.0, listed.end or 0.0
        if not start and not end:
            return 0, count
        if not self.value("file_list_frame_num"):
            start, end = float(np.float32(start)) * rate, float(np.float32(end)) * rate
        inward = self.value("file_list_frame_num") or not self.value("file_list_include_preceding_frame")
        first = (math.ceil if inward else math.floor)(start) + (count if start < 0 else 0)
        last = (math.floor if inward else math.ceil)(end) + (count if end <= 0 else 0)
        if not 0 <= first <= last <= count:
            part = f"from {listed.start:g} to {listed.end or 0:g}, frames {first} to {last}"
            message = f"the part of '{listed.path}' {part}, is not in the video, which has {count} frames"
            raise self.fail(message, "file_list")
        return first, last

    def numbers(self, start: int, end: int, index: FrameIndex) -> Numbers:
        numbers = start + self.value("stride") * np.arange(self.value("sequence_length"))
        return np.where(numbers < end, numbers, -1)

    def converted(self, frames: npt.NDArray[np.uint8], out: npt.NDArray[Any]) -> None:
        if out.dtype == np.uint8:
            if self.value("normalized"):
                out //= 255
        else:
            np.multiply(frames, np.float32(1 / 255 if self.value("normalized") else 1), out=out)


def _check_rate(video: Decoder, rate: Fraction) -> None:
    """Raise :class:`CodecError` if frames are not equally far apart."""
    if rate and not video.known and video.first_duration == 1 / rate:
        return
    index = video.index
    if len(index) > 2 and index.timed:
        places = np.arange(len(index))
        straight = index.pts[0] + places * (index.pts[-1] - index.pts[0]) / (len(index) - 1)
        if np.abs(index.pts - straight).max() > 1:
            raise CodecError("its frame rate varies; experimental.readers.video takes it, or 'skip_vfr_check' here")
