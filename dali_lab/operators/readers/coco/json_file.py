"""Reads a JSON file of COCO annotations into columns."""

from __future__ import annotations

import itertools
import json
import re
import secrets
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, NoReturn

import msgspec
import numpy as np
import numpy.typing as npt

from dali_lab.io.files import read_file, reason
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.coco.run_lengths import as_runs

Table = npt.NDArray[Any]

_FARTHEST = 1e6
_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
_NOTHING = msgspec.Raw(b"null")


class _Picture(msgspec.Struct, gc=False):
    id: _Int32
    file_name: msgspec.Raw  # names need not be UTF-8
    width: _Int32 = 0
    height: _Int32 = 0


class _Category(msgspec.Struct, gc=False):
    id: int


class _Annotation(msgspec.Struct, gc=False):
    image_id: _Int32
    category_id: _Int32
    bbox: tuple[float, float, float, float]
    id: Any = None
    iscrowd: Any = 0
    segmentation: msgspec.Raw = _NOTHING  # most of the file, and not always wanted


class _File(msgspec.Struct):
    images: list[_Picture] | None = None
    categories: list[_Category] = []
    annotations: Sequence[_Annotation] = []


class _WithoutPolygons(_Annotation, gc=False):
    """An annotation of a text in which numbers stand for polygons."""

    segmentation: Any = None


class _CutFile(_File):
    annotations: Sequence[_WithoutPolygons] = []


class _Elements(msgspec.Struct):
    """The same with unparsed elements, to find the faulty one."""

    images: list[msgspec.Raw] = []
    categories: list[msgspec.Raw] = []
    annotations: list[msgspec.Raw] = []


_WHAT = {"images": "picture", "categories": "category", "annotations": "annotation"}


class Wanted(NamedTuple):
    """Selection of annotations, and the shapes to read.

    Attributes
    ----------
    threshold
        Least width and height of a box.
    crowds
        Whether objects count that are crowds.
    polygons, runs
        Whether polygons are wanted, and masks given as lists of runs.
    """

    threshold: float
    crowds: bool
    polygons: bool
    runs: bool


class _Cut(NamedTuple):
    """A text and the polygons that were cut out of it.

    Attributes
    ----------
    rest
        The text, with a number in the place of each value that was polygons: `mark` and those that follow it.
    polygon_counts
        How many polygons each value has.
    point_counts, points
        Of each polygon: how many points it has; ``float32[V, 2]``.
    """

    mark: int
    rest: npt.NDArray[np.uint8]
    polygon_counts: npt.NDArray[np.int64]
    point_counts: npt.NDArray[np.int64]
    points: npt.NDArray[np.float32]

    @classmethod
    def nothing(cls) -> _Cut:
        none = np.zeros(0, np.int64)
        return cls(0, np.zeros(0, np.uint8), none, none, np.zeros((0, 2), np.float32))

    @classmethod
    def of(cls, data: bytes) -> _Cut | None:
        """Cut a text; `None` as long as the kernel is not compiled."""
        from dali_lab.kernels.cpu import background, polygons

        text, size = np.frombuffer(data, np.uint8), len(data)
        mark = 10**17 + secrets.randbelow(8 * 10**17)  # nobody can write a number that stands for polygons
        # Two bytes of the text give a number at most, and 15 a value, which takes 19.
        rest, points = np.empty(2 * size, np.uint8), np.empty(size // 2 + 1, np.float32)
        counts, of_value = np.empty(size // 2 + 1, np.int64), np.empty(size // 15 + 1, np.int64)
        state = np.zeros(4, np.int64)
        arguments = (text.ctypes.data, size, mark, rest, points, counts, of_value, state)
        if not background.ready(polygons.cut, *arguments):
            return None
        polygons.cut(*arguments)
        values, polygon, value, length = state.tolist()
        shapes = points[:value].reshape(-1, 2).copy()
        return cls(mark, rest[:length], of_value[:values].copy(), counts[:polygon].copy(), shapes)


class CocoFile:
    """The pictures, categories and annotations of one file.

    Attributes
    ----------
    names, ids, widths, heights
        Of the pictures, in the file's order.
    categories
        For the number of each category its place in the file, counted from 1.
    picture, category, boxes
        Of the annotations: the number of the picture, that of the category, and ``float32[A, 4]``.
    first_polygons, polygon_counts
        The first polygon of each annotation, and how many it has.
    point_counts, points
        Of each polygon: how many points it has; ``float32[V, 2]``.
    masked, runs
        The annotations with lists of runs, and these; see :func:`~dali_lab.operators.readers.coco.run_lengths.as_runs`.

    Raises
    ------
    ArgumentError
        If the file cannot be read, or is not what it should be; it names the file and the annotation.
    """

    def __init__(self, path: str, wanted: Wanted) -> None:
        self._path = path
        self._cut = _Cut.nothing()
        found = self._decoded(wanted.polygons)
        self.names = self._names([picture.file_name for picture in found.images or ()])
        self.ids = array("i", [picture.id for picture in found.images or ()])
        self.widths = array("i", [picture.width for picture in found.images or ()])
        self.heights = array("i", [picture.height for picture in found.images or ()])
        self.categories: dict[int, int] = {}
        for place, category in enumerate(found.categories, 1):
            self.categories.setdefault(category.id, place)
        kept = self._take(found.annotations, wanted)
        self.picture = array("i", [annotation.image_id for annotation in kept])
        self.category = array("i", [annotation.category_id for annotation in kept])
        self.first_polygons = self.polygon_counts = self.point_counts = np.zeros(0, np.int64)
        self.points = np.zeros((0, 2), np.float32)
        self.masked = array("i")
        self.runs: list[npt.NDArray[np.int64]] = []
        self.sizes: list[tuple[int, int]] = []
        if wanted.polygons:
            self._take_shapes(kept, wanted.runs)

    def fail(self, message: str) -> ArgumentError:
        """An error about the file, to be raised."""
        return ArgumentError(f"'{self._path}': {message}", argument="annotations_file")

    def _decoded(self, polygons: bool) -> _File:
        try:
            data = read_file(self._path).removeprefix(b"\xef\xbb\xbf")
        except (OSError, ValueError) as error:
            raise ArgumentError(
                f"cannot read '{self._path}': {reason(error, self._path)}", argument="annotations_file"
            ) from error
        try:
            found = (self._without_polygons(data) if polygons else None) or msgspec.json.decode(data, type=_File)
        except msgspec.ValidationError as error:
            self._explain(data, error)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise self.fail(f"no JSON: {_place(data, error)}") from error
        if found.images is None:
            raise self.fail("it has no list 'images'")
        return found

    def _without_polygons(self, data: bytes) -> _File | None:
        """The file without most polygons, which are kept; `None` where that cannot be done, or the text is faulty."""
        cut = _Cut.of(data)
        if cut is None:
            return None
        try:
            found = msgspec.json.decode(cut.rest.data, type=_CutFile)
        except (msgspec.MsgspecError, RecursionError, ValueError):  # the whole text tells what is wrong, and where
            return None
        self._cut = cut._replace(rest=cut.rest[:0])
        return found

    def _explain(self, data: bytes, error: msgspec.ValidationError) -> NoReturn:
        """Raise an error that names the faulty element and its fault."""
        place = re.search(r"`\$\.(\w+)(?:\[(\d+)\])?", str(error))
        if place is None:
            raise self.fail(str(error)) from error
        name, index = place.group(1), place.group(2)
        if index is None:
            raise self.fail(f"'{name}' is not a list") from error
        try:
            element = _plain(getattr(msgspec.json.decode(data, type=_Elements), name)[int(index)])
        except (msgspec.MsgspecError, RecursionError, ValueError) as damage:
            raise self.fail(f"no JSON: {_place(data, damage)}") from damage
        raise self._wrong(name, int(index), element, error) from error

    def _names(self, parts: list[msgspec.Raw]) -> list[str]:
        try:
            return msgspec.json.decode(b"[%b]" % b",".join(parts), type=list[str])
        except (msgspec.MsgspecError, ValueError):  # not UTF-8, or not text
            return [self._name(number, part) for number, part in enumerate(parts)]

    def _name(self, number: int, raw: msgspec.Raw) -> str:
        try:
            name = _plain(raw)
        except (ValueError, RecursionError) as error:
            raise self.fail(f"picture {number} (counted from 0): 'file_name' is not JSON: {error}") from error
        if not isinstance(name, str):
            raise self.fail(f"picture {number} (counted from 0): 'file_name' is not text but {name!r:.60}")
        return name

    def _take(self, annotations: Sequence[_Annotation], wanted: Wanted) -> list[_Annotation]:
        """The wanted annotations; stores their boxes and labels."""
        numbers = itertools.chain.from_iterable([annotation.bbox for annotation in annotations])
        table = np.fromiter(numbers, np.float64, 4 * len(annotations)).astype(np.float32).reshape(-1, 4)
        good = (table[:, 2:] >= np.float32(wanted.threshold)).all(axis=1)
        if not wanted.crowds:
            good &= np.array([not annotation.iscrowd for annotation in annotations], bool)
        rows = np.flatnonzero(good)
        kept = [annotations[row] for row in rows.tolist()]
        self.boxes = table[rows]
        self._places, self._labels = rows, [annotation.id for annotation in kept]
        return kept

    def label(self, number: int) -> object:
        """The name of a wanted annotation in errors."""
        label: object = self._labels[number]
        return f"unknown, number {self._places[number]} from 0" if label is None else label

    def _take_shapes(self, annotations: list[_Annotation], runs: bool) -> None:
        """Polygons that were cut out of the text, and the shapes that are in it, one by one."""
        cut = self._cut
        shapes: list[Any] = [annotation.segmentation for annotation in annotations]
        marks = range(cut.mark, cut.mark + len(cut.polygon_counts))
        values = np.array([shape - cut.mark if type(shape) is int and shape in marks else -1 for shape in shapes])
        ends = np.cumsum(cut.polygon_counts)
        self.first_polygons, self.polygon_counts = np.zeros((2, len(shapes)), np.int64)
        self.first_polygons[values >= 0] = (ends - cut.polygon_counts)[values[values >= 0]]
        self.polygon_counts[values >= 0] = cut.polygon_counts[values[values >= 0]]
        points, counts = array("f"), array("q")
        decode = msgspec.json.Decoder().decode
        for number in np.flatnonzero(values < 0).tolist():
            shape, before = shapes[number], len(counts)
            try:
                for row in self._polygons(decode(shape) if isinstance(shape, msgspec.Raw) else shape, number, runs):
                    points.extend(row)
                    counts.append(len(row) // 2)
            except (KeyError, TypeError, OverflowError, ValueError, RecursionError, msgspec.MsgspecError) as error:
                wrong = f"it has no {error}" if isinstance(error, KeyError) else error
                raise self.fail(f"the annotation with id {self.label(number)}: {wrong}") from error
            self.first_polygons[number] = len(cut.point_counts) + before
            self.polygon_counts[number] = len(counts) - before
        self.point_counts, self.points = cut.point_counts, cut.points
        if counts:
            self.point_counts = np.concatenate([cut.point_counts, np.array(counts, np.int64)])
            self.points = np.concatenate([cut.points, np.array(points, np.float32).reshape(-1, 2)])
        if runs:
            self._refuse_far_points()

    def _refuse_far_points(self) -> None:
        """Raise if a wanted annotation has a point from which no mask could be drawn in time."""
        if not len(self.points) or max(self.points.max(), -self.points.min()) <= _FARTHEST:
            return
        far = np.concatenate([np.zeros(1, np.int64), np.cumsum((np.abs(self.points) > _FARTHEST).any(axis=1))])
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.point_counts)])
        of_polygons = far[ends]
        wrong = of_polygons[self.first_polygons + self.polygon_counts] > of_polygons[self.first_polygons]
        if wrong.any():
            raise self.fail(
                f"the annotation with id {self.label(int(wrong.argmax()))}: 'segmentation' has a point that is more"
                " than a million pixels away"
            )

    def _polygons(self, shape: object, number: int, runs: bool) -> Iterator[list[float]]:
        """Polygons of an annotation as lists of coordinates; a list of runs is kept."""
        if isinstance(shape, list):
            for polygon in shape:
                if not isinstance(polygon, list):
                    raise TypeError(f"'segmentation' holds {polygon!r:.60}, where a list of numbers belongs")
                if len(polygon) % 2:
                    raise TypeError(f"'segmentation' has a polygon of {len(polygon)} numbers, which makes no pairs")
                yield polygon
        elif runs and isinstance(shape, dict):
            size = shape["size"]
            self.runs.append(as_runs(shape["counts"], size))
            self.sizes.append((size[0], size[1]))
            self.masked.append(number)

    def _wrong(self, name: str, index: int, value: object, error: msgspec.ValidationError) -> ArgumentError:
        what = f"{_WHAT[name]} {index} (counted from 0)"
        if not isinstance(value, dict):
            return self.fail(f"{what} is not an object but {value!r:.60}")
        if name == "annotations" and "id" in value:
            what = f"the annotation with id {value['id']}"
        return self.fail(f"{what}: {_reason(value, error)}")


def _plain(raw: msgspec.Raw) -> Any:
    """A part of the file as Python has it."""
    text = bytes(raw).decode("utf-8", "surrogateescape").strip()
    return text[1:-1] if text.startswith('"') and "\\" not in text else json.loads(text, strict=False)


def _place(data: bytes, error: Exception) -> str:
    """The message and the place of a JSON syntax error."""
    place = re.search(r"\(byte (\d+)\)$", str(error))
    before = data[: int(place.group(1))] if place else data
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    wrong = str(error)[: place.start()].strip() if place else error
    return f"{wrong}: line {line} column {column} (byte {len(before)})"


def _reason(value: Mapping[str, Any], error: msgspec.ValidationError) -> str:
    """The fault of an object in its whole numbers or its box; else the decoder's message."""
    missing = re.match("Object missing required field `(.*?)`", str(error))
    if missing:
        return f"it has no '{missing.group(1)}'"
    for key in ("id", "image_id", "category_id", "width", "height"):
        number = value.get(key, 0)
        if f".{key}`" in str(error) and (type(number) is not int or not -(2**31) <= number < 2**31):
            return f"{key!r} is not a whole number of 32 bits but {number!r:.60}"
    box = value.get("bbox", [])
    if not isinstance(box, list) or any(type(number) not in (int, float) for number in box):
        return f"'bbox' is not a list of numbers but {box!r:.60}"
    if len(box) != 4:
        return f"'bbox' has {len(box)} numbers, not 4"
    return str(error)
