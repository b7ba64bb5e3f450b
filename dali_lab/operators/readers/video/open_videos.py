"""The files of video readers, and their decoders, kept open and shared by threads."""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video import Video
from dali_lab.codecs.video_index import FrameIndex
from dali_lab.io.files import read_text, reason
from dali_lab.model.errors import ArgumentError, as_ours
from dali_lab.operators.readers.file_list import find_files

_MOST_OPEN = 16
"""Number of idle files that a reader keeps open."""


class ListedVideo(NamedTuple):
    """A file, or a part of one.

    Attributes
    ----------
    path
        Where to open it.
    label
        Its label.
    start, end
        Start and end of the part, in seconds or frames; `None` where not given.
    """

    path: str
    label: int
    start: float | None = None
    end: float | None = None


def listed_videos(values: Mapping[str, Any]) -> list[ListedVideo]:
    """The files that the arguments of a video reader name.

    In a `file_root` the folders are the classes, and files are in the order of their whole paths.

    Raises
    ------
    ArgumentError
        If there are none, or something cannot be read.
    """
    if values.get("filenames"):
        labels = values.get("labels") or [0] * len(values["filenames"])
        return [ListedVideo(path, label) for path, label in zip(values["filenames"], labels, strict=True)]
    if values.get("file_list"):
        return _from_list(values["file_list"])
    found = find_files(file_root=values["file_root"], file_filters=("*",))
    rows = sorted(zip(found.paths, found.labels.tolist(), strict=True), key=lambda row: os.fsencode(row[0]))
    return [ListedVideo(path, label) for path, label in rows]


def _from_list(path: str) -> list[ListedVideo]:
    try:
        lines = read_text(path).split("\n")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read '{path}': {reason(error, path)}", argument="file_list") from error
    result = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            label, *bounds = int(words[1]), *(float(np.float32(word)) for word in words[2:4])
        except (IndexError, ValueError):
            label, bounds = -1, []
        if not 0 <= label < 1 << 31 or not all(map(math.isfinite, bounds)):
            message = (
                f"line {number} of '{path}' must be a file's name, a label from 0 on, and maybe a start and an end"
            )
            raise ArgumentError(f"{message}, not '{line.strip()}'", argument="file_list")
        start, end = (*bounds, None, None)[:2]
        if start is not None and start == end:
            continue
        result.append(ListedVideo(words[0], label, start, end))
    if not result:
        raise ArgumentError(f"'{path}' names no files", argument="file_list")
    return result


class OpenVideos:
    """Decoders of a reader's files. Each serves one thread at a time, and goes on from where it was if that helps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indices: dict[str, FrameIndex] = {}
        self._scanning: dict[str, threading.Lock] = {}
        self._idle: list[tuple[str, Video]] = []

    def index(self, path: str) -> FrameIndex:
        """The frames of a file; it is read for that once.

        Raises
        ------
        CodecError
            If it is no video, or damaged.
        """
        with self._lock:
            found = self._indices.get(path)
            scanning = self._scanning.setdefault(path, threading.Lock())
        if found is not None:
            return found
        with scanning:
            if path not in self._indices:
                with self.borrowed(path) as video:
                    self._indices[path] = video.index
            return self._indices[path]

    @contextlib.contextmanager
    def borrowed(self, path: str, first: int | None = None) -> Iterator[Video]:
        """A decoder of a file: of the idle ones, the one nearest to the frame `first`."""
        video = self._take(path, first)
        if video is None:
            video = Video(path, self._indices.get(path))
        try:
            yield video
        except BaseException:
            video.close()
            raise
        with self._lock:
            self._idle.append((path, video))
            extra = self._idle.pop(0)[1] if len(self._idle) > _MOST_OPEN else None
        if extra is not None:
            extra.close()

    def _take(self, path: str, first: int | None) -> Video | None:
        with self._lock:
            free = [place for place, (name, _) in enumerate(self._idle) if name == path]
            if not free:
                return None
            if first is None:
                return self._idle.pop(free[-1])[1]
            return self._idle.pop(min(free, key=lambda place: self._idle[place][1].distance(first)))[1]

    def close(self) -> None:
        """Close all idle files."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, video in idle:
            video.close()


def why(error: Exception, path: str) -> str:
    """The error about a file, with its name."""
    reason = error if isinstance(error, CodecError) else as_ours(error).message
    return f"cannot read the video '{path}': {reason}"
