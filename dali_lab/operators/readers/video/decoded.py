"""Reads sequences of frames from video files, of constant or variable frame rate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video_index import FrameIndex, Numbers
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.decoders.frame_numbers import FILL_VALUE, pad_mode, padded
from dali_lab.operators.decoders.video import CODECS, COLORS, PYAV
from dali_lab.operators.readers.video.reading import VIDEO_READER, VideoReading
from dali_lab.schema import choice, flag, register

if TYPE_CHECKING:
    from dali_lab.operators.readers.video.open_videos import ListedVideo, OpenVideos


@register
class VideoDecoded(VideoReading):
    __doc__ = f"""Reads sequences of frames from video files: {CODECS}.

    The frame rate may vary. Sequences of `sequence_length` frames, each `stride` after the one before, begin every
    `step` frames. All files are read through when the first batch is asked for, to know their frames; none is decoded
    for that, and for a sequence only what it needs, from the key frame before. {COLORS} {PYAV}
    """

    name = "experimental.readers.video"
    title = "Video reader (any frame rate)"
    tested_elsewhere = "tests/unit/readers/test_video.py"
    differs = (
        "It always decodes on the CPU, and more codecs there than NVIDIA DALI, which leaves H.264, HEVC, MPEG-4 and AV1"
        " to the GPU. A file of `filenames` or `file_list` that is not a video, or is damaged, raises an error, where"
        " NVIDIA DALI leaves it out; in a `file_root` it is left out with a warning here, too. In a `file_list` a line"
        " without an end goes on to the end of the video, as does one with a time behind it; NVIDIA DALI leaves such"
        " lines out."
    )
    arguments = (
        *VIDEO_READER,
        pad_mode("none"),
        FILL_VALUE,
        flag(
            "uniform_sample",
            "One sequence for each video: frames spread evenly from its first to its last. `stride`, `step` and"
            " `pad_mode` have no effect then.",
        ),
        choice(
            "file_list_format",
            "timestamps",
            ("timestamps", "frames"),
            "What starts and ends in `file_list` are: seconds, or numbers of frames (negative ones from the end).",
        ),
        choice(
            "file_list_rounding",
            "start_down_end_up",
            ("start_down_end_up", "start_up_end_down", "all_up", "all_down"),
            "How starts and ends between two frames are rounded.",
        ),
        flag("file_list_include_end", "Parts of `file_list` end where the video ends, at the latest.", default=True),
    )
    start = {"sequence_length": 8}
    example = '>>> frames = fn.experimental.readers.video(filenames=["clip.mp4"], sequence_length=16, name="Reader")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if len(values.get("fill_value") or (0,)) not in (1, 3):
            raise ArgumentError("takes 1 or 3 values", argument="fill_value")

    def cut(self, listed: ListedVideo, videos: OpenVideos) -> list[tuple[int, int]]:
        first, end = self._part(listed, videos.index(listed.path))
        if first >= end:
            message = f"the part of '{listed.path}' from {listed.start} to {listed.end} has no frames; it is left out"
            warnings.warn(message, UserWarning, stacklevel=2)
            return []
        if self.value("uniform_sample"):
            return [(first, end)]
        length = self.value("stride") * self.value("sequence_length")
        return self.stepped(first, end, length, tail=self.value("pad_mode") != "none")

    def _part(self, listed: ListedVideo, index: FrameIndex) -> tuple[int, int]:
        """First frame of a part of a file, and the frame before which it ends."""
        if listed.start is None or not (listed.start or listed.end):
            return 0, len(index)
        rounding = self.value("file_list_rounding")
        down = rounding in ("start_down_end_up", "all_down"), rounding in ("start_up_end_down", "all_down")
        frames = self.value("file_list_format") == "frames"
        bounds = [0, len(index)]
        for place, value in enumerate((listed.start, listed.end)):
            if value is None:
                continue
            if frames:
                value += len(index) if value < 0 else 0
                bounds[place] = math.floor(value) if down[place] else math.ceil(value)
            else:
                bounds[place] = index.at(value, down=down[place])
        if self.value("file_list_include_end"):
            bounds[1] = min(bounds[1], len(index))
        return bounds[0], bounds[1]

    def numbers(self, start: int, end: int, index: FrameIndex) -> Numbers:
        count = self.value("sequence_length")
        if self.value("uniform_sample"):
            share = np.arange(count) / max(1, count - 1)
            spread: Numbers = np.floor(share * (end - start - 1) + 0.5).astype(np.int64)
            return start + spread
        last = min(end, len(index))
        try:
            return padded(start + self.value("stride") * np.arange(count), last, self.value("pad_mode"))
        except IndexError as error:
            raise CodecError(f"there is no frame {error}: the video has {len(index)} frames") from None

    def fill(self) -> tuple[int, ...]:
        color: tuple[int, ...] = self.value("fill_value")
        return color
