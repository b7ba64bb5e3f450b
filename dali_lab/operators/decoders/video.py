"""Decodes video from memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.video_index import Numbers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.decoders.frame_numbers import (
    FILL_VALUE,
    MOST_FRAMES,
    empty_frames,
    filled,
    named,
    pad_mode,
    padded,
)
from dali_lab.operators.decoders.image import ENCODED
from dali_lab.schema import Call, Case, ErrorCase, Operator, Output, PerSample, flag, integers, register, samples
from dali_lab.schema.ports import Extent
from dali_lab.schema.presets import integer

COLORS = (
    "Colours become RGB by the matrix of BT.601 whatever the file names, as in NVIDIA DALI, and by the file's range."
)
CODECS = "H.264, HEVC, VP8, VP9, AV1, MJPEG, MPEG-4 and whatever else PyAV decodes"
PYAV = "It needs PyAV: ``pip install 'dali-lab[video]'``."


@register
class Video(Operator):
    __doc__ = f"""Decodes video from memory: {CODECS}.

    All frames are decoded unless arguments choose some: single ones by `frames`, or those from `start_frame` to
    `end_frame`, or `sequence_length` of them, each `stride` after the one before. Only what they need is decoded, from
    the key frame before. {COLORS} {PYAV}
    """

    name = "decoders.video"
    decodes = True
    title = "Video decoder"
    inputs = (ENCODED,)
    outputs = (Output("frames", kind="image", doc="Sequences of frames, UINT8, FHWC.", dtype=UINT8),)
    devices = ("cpu", "mixed")
    differs = (
        "It always decodes on the CPU, and more codecs there than NVIDIA DALI, which leaves H.264, HEVC, MPEG-4 and AV1"
        " to the GPU. A file that is damaged or cut short raises an error; NVIDIA DALI gives other memory for frames"
        " that are missing."
    )
    arguments = (
        integer("start_frame", None, "First frame.", tensor=True, important=True),
        integer("end_frame", None, "Frame before which to stop; not with `sequence_length`.", tensor=True),
        integer(
            "sequence_length", None, "Number of frames.", tensor=True, minimum=1, maximum=MOST_FRAMES, important=True
        ),
        integer("stride", None, "Distance between frames, 1 by default.", tensor=True, minimum=1, important=True),
        integers(
            "frames",
            None,
            "Numbers of the frames, in any order and as often as they are there; not with the arguments above.",
            tensor=True,
        ),
        pad_mode("constant"),
        FILL_VALUE,
        flag(
            "build_index",
            "Kept for programs that set it; where frames are is always found out, without decoding any.",
            default=True,
            advanced=True,
        ),
        flag("affine", "Kept for programs that set it.", default=True, advanced=True),
    )
    example = ">>> frames = fn.decoders.video(encoded, start_frame=0, sequence_length=16, stride=2)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = {name for name, value in values.items() if value is not None} | set(connected)
        for name in ("start_frame", "end_frame", "sequence_length", "stride"):
            if "frames" in given and name in given:
                raise ArgumentError(f"given together with '{name}'; give one or the other", argument="frames")
        if {"sequence_length", "end_frame"} <= given:
            raise ArgumentError("given together with 'sequence_length'; give one or the other", argument="end_frame")
        if len(values.get("fill_value") or (0,)) not in (1, 3):
            raise ArgumentError("takes 1 or 3 values", argument="fill_value")

    def extents(self) -> tuple[Extent, ...]:
        return (Extent((-1, -1, -1, 3), UINT8, "FHWC"),)

    def run(self, call: Call, data: Batch) -> Batch:
        if data.itemsize != 1 or data.ndim != 1:
            raise call.problem(f"takes one-dimensional UINT8 samples, got {data.ndim} dimensions of {data.dtype.name}")
        choice = _Choice(call)
        sources = data.sources or [None] * len(data)
        videos: list[Any] = [None] * len(data)
        numbers: list[Any] = [None] * len(data)

        def look(sample: int) -> None:
            from dali_lab.codecs.video import Video as Decoder

            with named(call, sample, sources[sample]):
                videos[sample] = Decoder(data.array(sample))
                numbers[sample] = choice.of(sample, len(videos[sample].index))

        def decode(sample: int) -> None:
            video, videos[sample] = videos[sample], None
            with named(call, sample, sources[sample]):
                video.decode(*filled(out.array(sample), numbers[sample], self.value("fill_value")))
            video.close()

        call.share_each(call.count, look)
        out = empty_frames(call, [video.index for video in videos], numbers, UINT8)
        call.share_each(call.count, decode)
        out.sources = data.sources
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        files = _files()
        yield Case((files,))
        yield Case((files,), {"start_frame": 3, "stride": 2})
        yield Case((files,), {"start_frame": PerSample.of(5, 0, 2, dtype=np.int32), "sequence_length": 3})
        yield Case((files,), {"end_frame": PerSample.of(3, 9, 12, dtype=np.int32), "fill_value": (9, 8, 7)})
        for mode in ("none", "edge", "repeat", "reflect_1001", "symmetric", "reflect_101", "reflect", "constant"):
            yield Case((files,), {"start_frame": 2, "sequence_length": 21, "pad_mode": mode})
        yield Case((files,), {"start_frame": -3, "end_frame": 2, "pad_mode": "reflect_101"})
        yield Case((files,), {"start_frame": 4, "sequence_length": 5, "stride": 2, "pad_mode": "none"})
        yield Case((files,), {"frames": (5, 0, 5, 2, 1), "build_index": False})
        yield Case((files,), {"frames": (-1, 3, 40), "pad_mode": "edge"})
        lists = PerSample.of((1, 2), (4,), (6, 30, 6, 0), dtype=np.int32)
        yield Case((files,), {"frames": lists, "fill_value": 200})
        yield Case((_colours(),), batch_size=6)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        files = _files()
        wrong = [files[0], files[1][:300], files[2]]
        yield ErrorCase((wrong,), words=("sample 1", "cannot decode the video", "not a video that can be read"))
        yield ErrorCase(([np.zeros(0, np.uint8)],), words=("sample 0", "empty"))
        yield ErrorCase(([np.zeros((4, 4), np.uint8)],), words=("one-dimensional", "2"))
        yield ErrorCase(([_sound()],), words=("sample 0", "no video", "audio"))
        yield ErrorCase((files,), {"start_frame": 50}, words=("start_frame", "50", "7 frames"))
        yield ErrorCase((files,), {"start_frame": -(10**9)}, words=("start_frame", "1000000007 frames", "limit"))
        yield ErrorCase((files,), {"start_frame": 3, "end_frame": 3}, words=("end_frame", "3", "start_frame"))
        yield ErrorCase((files,), {"frames": (1, 9), "pad_mode": "none"}, words=("frames", "9", "7 frames"))
        yield ErrorCase((files,), {"frames": (1,), "stride": 2}, words=("frames", "stride"))
        yield ErrorCase((files,), {"end_frame": 3, "sequence_length": 2}, words=("end_frame", "sequence_length"))
        yield ErrorCase((files,), {"fill_value": (1, 2)}, words=("fill_value", "3"))


class _Choice:
    """The frames that the arguments of a call choose."""

    def __init__(self, call: Call) -> None:
        operator = call.operator
        self._call = call
        self._mode = operator.value("pad_mode")
        self._lists = call.lists("frames", np.int64)
        self._start = call.numbers("start_frame", np.int64, default=0)
        self._stride = call.numbers("stride", np.int64, default=1)
        self._length = call.numbers("sequence_length", np.int64) if operator.has("sequence_length") else None
        self._end = call.numbers("end_frame", np.int64) if operator.has("end_frame") else None

    def of(self, sample: int, count: int) -> Numbers:
        """Numbers of the frames of a video of `count` frames."""
        problem = self._call.problem
        if self._lists is not None:
            return self._padded(self._lists[sample], count, sample, "frames")
        start, stride = int(self._start[sample]), int(self._stride[sample])
        if start >= count:
            message = f"{start} is beyond the video, which has {count} frames"
            raise problem(message, argument="start_frame", sample=sample)
        there = -(-(count - start) // stride)
        if self._length is not None:
            length = int(self._length[sample])
            length = min(length, there) if self._mode == "none" else length
        elif self._end is not None:
            end = int(self._end[sample])
            if end <= start:
                raise problem(
                    f"{end} is not above 'start_frame', which is {start}", argument="end_frame", sample=sample
                )
            end = min(end, count) if self._mode == "none" else end
            length = -(-(end - start) // stride)
        else:
            length = there
        if length > MOST_FRAMES:
            name, number = ("start_frame", start) if self._end is None else ("end_frame", end)
            message = f"{number} asks for {length} frames, and {MOST_FRAMES} are the limit"
            raise problem(message, argument=name, sample=sample)
        return self._padded(start + stride * np.arange(length), count, sample, "start_frame")

    def _padded(self, numbers: Numbers, count: int, sample: int, argument: str) -> Numbers:
        try:
            return padded(numbers, count, self._mode)
        except IndexError as error:
            raise self._call.problem(
                f"there is no frame {error}: the video has {count} frames, and 'pad_mode' is 'none'",
                argument=argument,
                sample=sample,
            ) from None


def _files() -> list[npt.NDArray[np.uint8]]:
    """VP9, VP8 and MJPEG of different sizes and lengths."""
    return [
        samples.video("libvpx-vp9", "webm", count=7, size=(64, 48)),
        samples.video("libvpx", "webm", count=11, size=(66, 35), rate=10, seed=1),
        samples.video("mjpeg", "mp4", count=9, size=(48, 64), seed=2),
    ]


def _colours() -> list[npt.NDArray[np.uint8]]:
    """Ways to store colours: ranges, chrominance of other sizes, odd sizes, and RGB."""
    return [
        samples.video(count=3, full_range=True),
        samples.video(count=3, pixels="yuv444p", size=(33, 18)),
        samples.video(count=3, pixels="yuv440p", size=(34, 17)),
        samples.video(count=3, size=(65, 47), full_range=True),
        samples.video("mjpeg", "mp4", count=3, pixels="yuvj422p"),
        samples.video(count=3, pixels="gbrp"),
    ]


def _sound() -> npt.NDArray[np.uint8]:
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples.waves((2000,))[0], 16000, format="WAV")
    return np.frombuffer(file.getvalue(), np.uint8)
