"""Base of readers of video files: arguments, sequences and their order, and decoding them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video_index import FrameIndex, Numbers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT64, INT32, RGB, UINT8, DALIDataType, DALIImageType, YCbCr, numpy_dtype
from dali_lab.model.errors import ArgumentError, DaliLabError
from dali_lab.operators.decoders.frame_numbers import MOST_FRAMES, empty_frames, filled, named
from dali_lab.operators.readers.list_reader import READER, ListReader
from dali_lab.schema import REQUIRED, Arg, Call, Input, Output, choice, flag, integer, integers, string, strings
from dali_lab.schema.ports import Extent

if TYPE_CHECKING:
    from dali_lab.operators.readers.unmatched import Unmatched
    from dali_lab.operators.readers.video.open_videos import ListedVideo, OpenVideos

ROOTS = ("filenames", "file_root", "file_list")
FILES = (
    strings("filenames", (), "Paths of the videos.", widget="path"),
    string("file_root", "", "Folder with a sub-folder of videos for each label.", widget="folder", important=True),
    Arg(
        "file_list",
        "string",
        "",
        "Text file with a path and a label on each line, and maybe where to start and to end; ``#`` begins a remark.",
        widget="path",
    ),
    integers("labels", None, "Label of each of `filenames`.", minimum=-(2**31), maximum=2**31 - 1),
)
SEQUENCES = (
    integer(
        "sequence_length",
        REQUIRED,
        "Number of frames of a sequence.",
        minimum=1,
        maximum=MOST_FRAMES,
        important=True,
    ),
    integer("stride", 1, "Distance between frames of a sequence.", minimum=1, important=True),
    integer("step", -1, "Distance between the starts of sequences; by default they follow each other."),
    Arg("image_type", "image_type", RGB, "RGB or YCbCr."),
    choice(
        "enable_frame_num",
        "none",
        ("none", "scalar", "sequence"),
        "Add an output with the number of the first frame ('scalar' or True), or of each frame ('sequence').",
        synonyms=(("false", "none"), ("true", "scalar")),
    ),
    flag("enable_timestamps", "Add an output with the time of each frame in seconds, from the first on."),
)
VIDEO_READER = (*FILES, *SEQUENCES, *READER)
OUTPUTS = (
    Output("frames", kind="image", doc="Sequences of frames, FHWC."),
    Output("labels", kind="tensor", doc="The label of each file, INT32 of shape (1,), where there are labels."),
    Output("frame_num", kind="tensor", doc="INT32, where `enable_frame_num` asks for it; −1 where there is no frame."),
    Output("timestamps", kind="tensor", doc="FLOAT64, where `enable_timestamps` asks for it; −1 where there is none."),
)


class Clip(NamedTuple):
    """A sequence of frames of a file."""

    file: int
    start: int
    end: int


class VideoReading(ListReader):
    """A reader of video files; subclasses say which sequences a file holds (`cut`), and which frames (`numbers`)."""

    inputs: ClassVar[tuple[Input, ...]] = ()
    outputs: ClassVar[tuple[Output, ...]] = OUTPUTS
    arguments: ClassVar[tuple[Arg, ...]] = ()
    devices = ("cpu", "gpu")
    no_labels: ClassVar[int] = -1
    """A number of labels that is allowed whatever the number of files."""

    @classmethod
    def has_labels(cls, values: Mapping[str, Any]) -> bool:
        """Whether there are labels."""
        return values.get("labels") is not None or bool(values.get("file_list") or values.get("file_root"))

    @classmethod
    def present_outputs(cls, values: Mapping[str, Any]) -> tuple[Output, ...]:
        numbered = (values.get("enable_frame_num") or "none") != "none"
        present = (True, cls.has_labels(values), numbered, values.get("enable_timestamps"))
        return tuple(itertools.compress(cls.outputs, present))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = [name for name in ROOTS if values.get(name)]
        if not given:
            raise ArgumentError(
                "must be given, or 'file_root' or 'file_list'", argument="filenames", code="argument_missing"
            )
        if len(given) > 1:
            raise ArgumentError(f"given together with '{given[1]}'; give one or the other", argument=given[0])
        if values.get("labels") is not None:
            if not values.get("filenames"):
                raise ArgumentError("goes with 'filenames', which are not given", argument="labels")
            if len(values["labels"]) not in (len(values["filenames"]), cls.no_labels):
                raise ArgumentError(
                    f"has {len(values['labels'])} labels for {len(values['filenames'])} files", argument="labels"
                )
        if values.get("image_type", RGB) not in (RGB, YCbCr):
            raise ArgumentError(
                f"is RGB or YCbCr, not {DALIImageType(values['image_type']).name}", argument="image_type"
            )
        super().verify(values, connected, inputs)

    def setup(self) -> None:
        self._files: list[ListedVideo] = []
        self._clips: list[Clip] = []
        self._no_videos: dict[str, str] = {}
        self._videos: OpenVideos | None = None

    def extents(self) -> tuple[Extent, ...]:
        return (Extent((-1, -1, -1, 3), self.frame_type(), "FHWC"),)

    def frame_type(self) -> DALIDataType:
        """Type of the frames."""
        return UINT8

    # -- list of sequences --------------------------------------------------------------------------------------

    def cut(self, listed: ListedVideo, videos: OpenVideos) -> list[tuple[int, int]]:
        """Start and end of each sequence of a file."""
        raise NotImplementedError

    def numbers(self, start: int, end: int, index: FrameIndex) -> Numbers:
        """The frames of a sequence; −1 where a constant stands for one."""
        raise NotImplementedError

    def load(self) -> int:
        from dali_lab.operators.readers.video.open_videos import OpenVideos, listed_videos, why

        self._files = listed_videos(self.values)
        videos = OpenVideos()
        clips: list[Clip] = []
        for place, listed in enumerate(self._files):
            if self.excludes(listed.path):
                continue
            try:
                clips += [Clip(place, start, end) for start, end in self.cut(listed, videos)]
            except DaliLabError:
                raise
            except Exception as error:  # FFmpeg's libraries raise many kinds of errors for damaged files
                if not (self.values["file_root"] or self._tolerant):
                    raise self.fail(why(error, listed.path)) from error
                # Folders hold other files, too, and one that was named need not end a run that goes on without it.
                warnings.warn(f"{why(error, listed.path)}; it is left out", UserWarning, stacklevel=2)
                self._no_videos[listed.path] = why(error, listed.path)
        if self._no_videos and all(self.excludes(each.path) or each.path in self._no_videos for each in self._files):
            reason, *others = self._no_videos.values()
            raise self.fail(f"{reason}" + (f", and {len(others)} more" if others else "") + "; no video is left")
        if not clips:
            raise self.fail(
                f"there is no sequence in {len(self._files)} files: the videos, or the parts of them that were asked"
                f" for, are shorter than {self.values['sequence_length']} frames",
                "sequence_length",
            )
        self._videos, self._clips = videos, clips
        return len(clips)

    def stepped(self, first: int, end: int, length: int, *, tail: bool) -> list[tuple[int, int]]:
        """Sequences that take `length` frames of a part, and with `tail` one that is cut short."""
        step = self.value("step")
        step = step if step > 0 else self.value("stride") * self.value("sequence_length")
        starts = list(range(first, end - length + 1, step))
        following = starts[-1] + step if starts else first
        if tail and following < end:
            starts.append(following)
        return [(start, end) for start in starts]

    def close(self) -> None:
        if self._videos is not None:
            self._videos.close()

    # -- execution ----------------------------------------------------------------------------------------------

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._files[self._clips[row].file].path for row in rows.tolist())

    def unreadable(self) -> Iterable[tuple[str, str]]:
        return () if self.values["file_root"] else self._no_videos.items()

    def unmatched(self) -> Iterable[Unmatched]:
        from dali_lab.operators.readers.unmatched import unmatched

        used = {clip.file for clip in self._clips}
        short = [
            listed.path
            for place, listed in enumerate(self._files)
            if place not in used and listed.path not in self._no_videos and not self.excludes(listed.path)
        ]
        if self.values["file_root"]:
            yield from unmatched("without_file", list(self._no_videos), "files that are no videos or damaged")
        yield from unmatched("without_file", short, "videos that are too short for a sequence")

    def sample_names(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        clips = [self._clips[row] for row in rows.tolist()]
        return tuple(f"{self._files[clip.file].path} at frame {clip.start}" for clip in clips)

    def run(self, call: Call) -> tuple[Batch, ...]:
        chosen = [self._clips[row] for row in call.ticket[call.start : call.start + call.count].tolist()]
        indices: list[Any] = [None] * len(chosen)
        frames, numbers = self._decoded(call, chosen, indices)
        values = self.values
        outputs = [self.finished(call, frames)]
        if self.has_labels(values):
            labels = np.array([[self._files[clip.file].label] for clip in chosen], np.int32)
            outputs.append(Batch.dense(labels.reshape(-1, 1), dtype=INT32))
        if values["enable_frame_num"] != "none":
            first = values["enable_frame_num"] == "scalar"
            outputs.append(_table([row[:1] if first else row for row in numbers], INT32))
        if values["enable_timestamps"]:
            seconds = [index.seconds(row) for index, row in zip(indices, numbers, strict=True)]
            outputs.append(_table(seconds, FLOAT64))
        sources = tuple(self._files[clip.file].path for clip in chosen)
        for output in outputs:
            output.sources = sources
        return tuple(outputs)

    def finished(self, call: Call, frames: Batch) -> Batch:
        """Hook: the output made of the decoded frames."""
        return frames

    def memory(self, call: Call, indices: list[FrameIndex], numbers: list[Numbers]) -> Batch:
        """Memory for the frames."""
        return empty_frames(call, indices, numbers, self.frame_type())

    def _decoded(self, call: Call, chosen: Sequence[Clip], indices: list[Any]) -> tuple[Batch, list[Numbers]]:
        assert self._videos is not None
        videos = self._videos
        numbers: list[Any] = [None] * len(chosen)
        ycbcr = self.value("image_type") == YCbCr

        def look(sample: int) -> None:
            clip = chosen[sample]
            path = self._files[clip.file].path
            with named(call, sample, path):
                index = indices[sample] = videos.index(path)
                numbers[sample] = self.numbers(clip.start, clip.end, index)
                if numbers[sample].max(initial=-1) >= len(index):
                    missing = numbers[sample].max()
                    raise CodecError(f"there is no frame {missing}: the video has {len(index)} frames")

        def decode(sample: int) -> None:
            path = self._files[chosen[sample].file].path
            out = frames.array(sample)
            with named(call, sample, path):
                whole = out if out.dtype == np.uint8 else np.empty(out.shape, np.uint8)
                wanted, places = filled(whole, numbers[sample], self.fill())
                if wanted:
                    with videos.borrowed(path, min(wanted)) as video:
                        video.decode(wanted, places, ycbcr=ycbcr)
                self.converted(whole, out)

        call.share_each(call.count, look)
        frames = self.memory(call, indices, numbers)
        call.share_each(call.count, decode)
        return frames, numbers

    def fill(self) -> tuple[int, ...]:
        """Colour of frames that are filled."""
        return (0,)

    def converted(self, frames: npt.NDArray[np.uint8], out: npt.NDArray[Any]) -> None:
        """Write decoded frames as the type of the output."""


def _table(rows: list[npt.NDArray[Any]], dtype: DALIDataType) -> Batch:
    kind = numpy_dtype(dtype)
    return Batch.of([row.astype(kind) for row in rows]) if rows else Batch.empty(dtype, ndim=1)
