"""The samples of a reader: names, labels, sizes and damage, searched, filtered and sorted."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from contextlib import closing
from typing import IO

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import IMAGE_SUFFIXES, CodecError
from dali_lab.codecs.headers import peek
from dali_lab.executor.plan import make_operator
from dali_lab.executor.sources.opening import open_source
from dali_lab.graph.graph import Node
from dali_lab.io.locations import is_remote
from dali_lab.io.roots import Roots, open_within
from dali_lab.operators.readers.list_reader import ListSource
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.protocol.datasets import DatasetLabel, DatasetRequest

_HEAD = 1 << 16
"""Bytes of a file in which its header is looked for first."""

_TAIL = 1024
"""Bytes before the end of a file in which the end of its picture is looked for: some cameras append padding."""

_ENDS = ((b"\xff\xd8", b"\xff\xd9"), (b"\x89PNG", b"IEND"))
"""How files of a format begin, and what stands at the end of their pictures."""

_MOST_PIXELS = 1 << 26
"""Larger pictures are not decoded to learn whether they are damaged."""

_CHUNK = 64
_MOST_LABELS = 1000
Numbers = npt.NDArray[np.int64]


class Samples:
    """The samples of one reader.

    Files are looked at by a thread of their own, once somebody asks for what only they tell: sizes and damage.

    Parameters
    ----------
    node
        The reader.
    roots
        What may be read.

    Raises
    ------
    DocumentError
        If the reader has no list of samples.
    DaliLabError
        If the list cannot be read.
    """

    def __init__(self, node: Node, roots: Roots) -> None:
        self._roots = roots
        with roots.limiting(), closing(make_operator(node)) as operator, closing(open_source(operator, 0)) as source:
            if not isinstance(source, ListSource):
                raise DocumentError(f"'{node.id}' has no list of samples to show.", "not_found")
            self.size = int(source.meta()["epoch_size"])
            everything = np.arange(self.size, dtype=np.int64)
            files = list(source.files(everything)) or [""] * self.size
            named = list(source.names(everything)) or files
            self.labels = source.labels()
        base = node.arguments.get("file_root")
        base = base if isinstance(base, str) else ""
        self.files = [path if not path or is_remote(path) else os.path.join(base, path) for path in files]
        self._whole_files = len(set(self.files)) == self.size
        root = _common(named)
        self.names = [name[len(root) :] if name.startswith(root) else name for name in named]
        self._found = [name.casefold() for name in self.names]
        self.bytes = np.full(self.size, -1, np.int64)
        self.width = np.zeros(self.size, np.int32)
        self.height = np.zeros(self.size, np.int32)
        self.problems: dict[int, str] = {}
        self.checked: frozenset[str] = frozenset()
        self.looked = 0
        self._looking: threading.Thread | None = None
        self._stop = threading.Event()
        self.label_names = self._folders()
        self._ordered: tuple[object, Numbers] | None = None

    def close(self) -> None:
        """End the look at files."""
        self._stop.set()
        if self._looking is not None:
            self._looking.join(10)

    @property
    def looking(self) -> bool:
        """Whether files are being looked at."""
        return self._looking is not None and self._looking.is_alive()

    def look(self) -> None:
        """Begin to look at all files, unless that was begun before."""
        if self._looking is None and self._whole_files:
            self._looking = threading.Thread(target=self._look, name="dali-lab-dataset-files", daemon=True)
            self._looking.start()

    def wait(self) -> None:
        """Wait until all files have been looked at."""
        if self._looking is not None:
            self._looking.join()

    def _look(self) -> None:
        with self._roots.limiting():
            for begin in range(0, self.size, _CHUNK):
                if self._stop.is_set():
                    return
                for place in range(begin, min(begin + _CHUNK, self.size)):
                    self.look_at(place)
                self.looked = min(begin + _CHUNK, self.size)

    def look_at(self, place: int) -> None:
        """Note the size of a file, and whether it can be read."""
        path = self.files[place]
        if not path or is_remote(path) or self.bytes[place] >= 0 or not self._whole_files:
            return
        if not self._roots.reads(path):
            return
        try:
            with self._roots.limiting(), open_within(path) as file:
                self.bytes[place] = size = os.fstat(file.fileno()).st_size
                if size == 0:
                    self.problems[place] = "The file is empty."
                elif self._is_picture(place):
                    head = file.read(_HEAD)
                    self._look_at_header(place, head, file.read)
                    file.seek(max(0, size - _TAIL))
                    if not _ends(head, file.read()):
                        self._decode(place, file)
        except OSError as error:
            self.bytes[place] = 0
            self.problems[place] = f"The file cannot be read: {error.strerror or error}."

    def decode(self, place: int) -> None:
        """Note whether a picture that cannot be shown can be decoded."""
        path = self.files[place]
        if place in self.problems or not (self._whole_files and self._is_picture(place)) or is_remote(path):
            return
        with contextlib.suppress(OSError), self._roots.limiting(), open_within(path) as file:
            self._decode(place, file)

    def _decode(self, place: int, file: IO[bytes]) -> None:
        if place in self.problems or int(self.width[place]) * int(self.height[place]) > _MOST_PIXELS:
            return
        from dali_lab.codecs.decoding import problem_of

        file.seek(0)
        found = problem_of(np.frombuffer(file.read(), np.uint8))
        if found is not None:
            self.problems[place] = sentence(str(found))

    def _is_picture(self, place: int) -> bool:
        return os.path.splitext(self.files[place])[1].lower() in IMAGE_SUFFIXES

    def _look_at_header(self, place: int, head: bytes, rest: Callable[[], bytes]) -> None:
        try:
            try:
                header = peek(np.frombuffer(head, np.uint8))
            except CodecError:
                # Large metadata may stand before the size.
                header = peek(np.frombuffer(head + rest(), np.uint8))
        except CodecError as error:
            self.problems[place] = sentence(str(error))
        else:
            self.width[place], self.height[place] = header.width, header.height

    def is_damaged(self, place: int) -> bool:
        """Whether a sample was found damaged."""
        return place in self.problems or (bool(self.checked) and self._in_check(place))

    def _in_check(self, place: int) -> bool:
        return self.files[place] in self.checked or self.names[place] in self.checked

    def damaged(self) -> set[int]:
        """Places of the samples that were found damaged."""
        found = set(self.problems)
        if self.checked:
            found.update(place for place in range(self.size) if self._in_check(place))
        return found

    def matching(self, request: DatasetRequest) -> Numbers:
        """Places of the samples that answer to the filters, in the order asked for."""
        if request.damaged or request.sort in ("bytes", "pixels") or None not in (request.smallest, request.largest):
            self.look()
        key = (
            request.text, request.label, request.damaged, request.smallest, request.largest, request.sort,
            request.descending, self.looked, len(self.checked),
        )  # fmt: skip
        if self._ordered is None or self._ordered[0] != key:
            self._ordered = key, self._sorted(self._filtered(request), request)
        return self._ordered[1]

    def _filtered(self, request: DatasetRequest) -> Numbers:
        kept = np.ones(self.size, np.bool_)
        words = request.text.casefold().split()
        for number in [word for word in words if word[0] == "#" and word[1:].isdecimal()]:
            words.remove(number)
            kept &= np.arange(1, self.size + 1) == int(number[1:][:18])
        if words:
            kept &= np.fromiter((all(word in name for word in words) for name in self._found), np.bool_, self.size)
        if request.label is not None and self.labels is not None:
            kept &= self.labels == request.label
        if request.damaged:
            chosen = np.zeros(self.size, np.bool_)
            chosen[list(self.damaged())] = True
            kept &= chosen
        if request.smallest is not None:
            self.look()
            kept &= self.bytes >= request.smallest
        if request.largest is not None:
            self.look()
            kept &= (self.bytes >= 0) & (self.bytes <= request.largest)
        return np.flatnonzero(kept).astype(np.int64)

    def _sorted(self, places: Numbers, request: DatasetRequest) -> Numbers:
        if request.sort == "name":
            order = np.array(sorted(range(len(places)), key=lambda at: self._found[places[at]]), np.int64)
        elif request.sort == "list":
            order = np.arange(len(places))
        else:
            pixels = self.width.astype(np.int64) * self.height
            keys = {"bytes": self.bytes, "pixels": pixels, "label": self.labels}[request.sort]
            order = np.arange(len(places)) if keys is None else np.argsort(keys[places], kind="stable")
        return places[order[::-1] if request.descending else order]

    def counts(self) -> list[DatasetLabel]:
        """The labels with their numbers of samples, the first thousand of them."""
        if self.labels is None:
            return []
        labels, counts = np.unique(self.labels, return_counts=True)
        return [
            DatasetLabel(int(label), self.label_names.get(int(label)), int(count))
            for label, count in list(zip(labels, counts, strict=True))[:_MOST_LABELS]
        ]

    def _folders(self) -> dict[int, str]:
        """Names of labels, where each is a folder of its own."""
        if self.labels is None or not self._whole_files:
            return {}
        labels, first = np.unique(self.labels, return_index=True)
        names = {}
        for label, place in zip(labels.tolist(), first.tolist(), strict=True):
            with contextlib.suppress(ValueError):
                names[label] = os.path.basename(os.path.dirname(self.files[place].replace("\\", "/")))
        return names if len(set(names.values())) == len(names) and all(names.values()) else {}


def _ends(head: bytes, tail: bytes) -> bool:
    """Whether a picture file has an end, as far as its format has a mark there."""
    return all(end in tail for begin, end in _ENDS if head.startswith(begin))


def _common(names: list[str]) -> str:
    """The folder that all names begin with, with its last slash; empty if there is none."""
    if not names:
        return ""
    low, high = min(names), max(names)
    same = next((at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[: low.rfind("/", 0, same) + 1]
