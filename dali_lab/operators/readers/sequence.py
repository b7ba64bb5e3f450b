"""Reads sequences of frames that are files of pictures."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIImageType
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.file_list import IMAGE_FILTERS, entries
from dali_lab.operators.readers.list_reader import READER, ListReader
from dali_lab.operators.readers.look_ahead import RemoteRows
from dali_lab.operators.readers.whole_files import Paths, read_files
from dali_lab.schema import Arg, Call, Output, integer, register, string
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.ports import Extent

_ENDINGS = tuple(name[1:] for name in IMAGE_FILTERS if name[2:] not in ("flac", "ogg", "wav"))
_CHANNELS = {DALIImageType.RGB: 3, DALIImageType.BGR: 3, DALIImageType.GRAY: 1, DALIImageType.ANY_DATA: -1}


@register
class Sequence(ListReader):
    """Reads sequences of frames: each folder in `file_root` is a stream, each picture in it a frame.

    Frames follow in the order of their names. Sequences never hold frames of two streams, and always have their full
    length. `readers.video` reads files of video.
    """

    name = "readers.sequence"
    title = "Sequence reader"
    identifies = True
    locating = ("file_root", "sequence_length", "step", "stride")
    outputs = (Output("frames", kind="image", doc="Frames, UINT8.", layout="FHWC", dtype=UINT8),)
    tested_elsewhere = "tests/unit/readers/test_sequence.py"
    differs = (
        "The first frame's path is the source of a sequence, which has none in NVIDIA DALI. Frames of 16 bits are"
        " rounded as decoders.image does it, by up to one level otherwise than there."
    )
    arguments = (
        string("file_root", REQUIRED, "Folder of the streams.", widget="folder", important=True),
        integer("sequence_length", REQUIRED, "Frames in a sequence.", minimum=1, important=True, slider=(None, 64)),
        integer("step", 1, "Frames from the start of a sequence to that of the next.", minimum=1, slider=(None, 64)),
        integer("stride", 1, "Frames from one frame of a sequence to the next.", minimum=1, slider=(None, 16)),
        Arg("image_type", "image_type", DALIImageType.RGB, "Colours: RGB, BGR, GRAY, or ANY_DATA, as they are stored."),
        *READER,
    )
    example = '>>> frames = fn.readers.sequence(file_root="streams", sequence_length=3, stride=2, name="Reader")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if values.get("image_type", DALIImageType.RGB) not in _CHANNELS:
            raise ArgumentError(f"must be one of {', '.join(kind.name for kind in _CHANNELS)}", argument="image_type")

    @classmethod
    def listed_folder(cls, values: Mapping[str, Any]) -> str | None:
        return values.get("file_root")

    def load(self) -> int:
        streams = find_streams(self.value("file_root"))
        self._paths: Paths = Paths([path for stream in streams for path in stream])
        length, stride, step = self.value("sequence_length"), self.value("stride"), self.value("step")
        span = (length - 1) * stride + 1
        begin, parts = 0, []
        for stream in streams:
            parts.append(np.arange(begin, begin + len(stream) - span + 1, step, dtype=np.int64))
            begin += len(stream)
        starts = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        if not len(starts):
            longest = max(map(len, streams), default=0)
            raise self.fail(
                f"'{self.value('file_root')}' has no sequence of {span} frames; the longest stream has {longest}",
                "file_root",
            )
        self._frames: npt.NDArray[np.int64] = starts[:, None] + stride * np.arange(length, dtype=np.int64)
        return len(starts)

    def extents(self) -> tuple[Extent, ...]:
        shape = (self.value("sequence_length"), -1, -1, _CHANNELS[self.value("image_type")])
        return (Extent(shape, UINT8, "FHWC"),)

    def remote_rows(self) -> RemoteRows | None:
        return self._paths.remote_rows(lambda rows: self._frames[rows].reshape(-1))

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        names = self._paths.full_names(self._frames[rows].reshape(-1))
        return ("\0".join(itertools.islice(names, self._frames.shape[1])) for _ in rows)

    def states(self, rows: npt.NDArray[np.int64], by_content: bool = False) -> npt.NDArray[np.int64] | None:
        states = self._paths.states(self._frames[rows].reshape(-1), by_content)
        return None if states is None else states.reshape(len(rows), -1)

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._paths.names[frame] for frame in self._frames[rows, 0].tolist())

    def run(self, call: Call) -> Batch:
        from dali_lab.codecs.decoding import decode
        from dali_lab.codecs.headers import read_headers
        from dali_lab.codecs.job import Job
        from dali_lab.codecs.plan import Wanted

        length = self.value("sequence_length")
        frames = self._frames[call.ticket[call.start : call.start + call.count]].reshape(-1)
        names = tuple(self._paths.names[frame] for frame in frames.tolist())
        encoded = read_files(call, self._paths, frames, names, per_sample=length)
        job = Job(encoded, read_headers(encoded), Wanted(self.value("image_type").name))
        failures = decode(job, lambda shapes: Batch.allocate(shapes, UINT8, "HWC"))
        if failures:
            index = min(failures)
            raise call.problem(
                f"cannot decode the frame: {failures[index]}", sample=index // length, source=names[index]
            )
        frames = job.out
        first = frames.shapes[::length]
        odd = (frames.shapes != np.repeat(first, length, axis=0)).any(axis=1)
        if odd.any():
            index = int(odd.argmax())
            raise call.problem(
                f"a frame of shape {frames.shapes[index].tolist()} follows one of {first[index // length].tolist()}",
                sample=index // length,
                source=names[index],
            )
        out = call.allocate(np.concatenate([np.full((len(first), 1), length), first], 1), UINT8, "FHWC")
        call.kernels("copy").copy(frames.addresses, out.unfolded().addresses, frames.sizes, frames.itemsize)
        out.sources = names[::length]
        return out


def find_streams(root: str) -> list[list[str]]:
    """The frames of each stream, sorted by the bytes of their paths; hidden files and folders are left out.

    Raises
    ------
    ArgumentError
        If a folder cannot be read, or there is none.
    """
    streams = []
    for folder in entries(root, "file_root"):
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        frames = [
            entry.path
            for entry in entries(folder.path, "file_root")
            if entry.name.lower().endswith(_ENDINGS) and not entry.name.startswith(".")
        ]
        if frames:
            streams.append(sorted(frames, key=os.fsencode))
    if not streams:
        raise ArgumentError(f"no folder in '{root}' has pictures in it", argument="file_root")
    return sorted(streams, key=lambda stream: os.fsencode(stream[0]))
