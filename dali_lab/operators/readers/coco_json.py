"""What a JSON file of COCO annotations says, in columns."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.errors import ArgumentError
from dali_lab.operators.readers.json_lists import read_lists
from dali_lab.operators.readers.run_lengths import as_runs

Table = npt.NDArray[Any]

_FARTHEST = 1e6


class Wanted(NamedTuple):
    """What is wanted of annotations.

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
    polygon_counts
        How many polygons each annotation has.
    point_counts, points
        Of each polygon: how many points it has; ``float32[V, 2]``.
    masked, runs
        The annotations with lists of runs, and these; see :func:`~dali_lab.operators.readers.run_lengths.as_runs`.
    labels
        What each annotation is called in errors.

    Raises
    ------
    ArgumentError
        If the file cannot be read, or is not what it should be; it names the file and the annotation.
    """

    def __init__(self, path: str, wanted: Wanted) -> None:
        self._path = path
        self._wanted = wanted
        self._threshold = float(np.float32(wanted.threshold))
        self.names: list[str] = []
        self.ids, self.widths, self.heights = array("i"), array("i"), array("i")
        self.categories: dict[int, int] = {}
        self._category_count = self._seen = 0
        self.picture, self.category, self._boxes = array("i"), array("i"), array("f")
        self.polygon_counts, self.point_counts, self._points = array("i"), array("i"), array("f")
        self.masked = array("i")
        self.runs: list[npt.NDArray[np.int64]] = []
        self.sizes: list[tuple[int, int]] = []
        self.labels: list[Any] = []
        self._read()

    @property
    def boxes(self) -> Table:
        return np.frombuffer(self._boxes, np.float32).reshape(-1, 4)

    @property
    def points(self) -> Table:
        return np.frombuffer(self._points, np.float32).reshape(-1, 2)

    def fail(self, message: str) -> ArgumentError:
        """An error about the file, to be raised."""
        return ArgumentError(f"'{self._path}': {message}", argument="annotations_file")

    def _read(self) -> None:
        try:
            with open(self._path, "rb") as file:
                text = file.read().decode("utf-8-sig", "surrogateescape")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ArgumentError(f"cannot read '{self._path}': {reason}", argument="annotations_file") from error
        takers = {"images": self._take_picture, "categories": self._take_category, "annotations": self._take}
        try:
            found = read_lists(text, takers)
        except json.JSONDecodeError as error:
            raise self.fail(f"no JSON: {error}") from error
        except ArgumentError:
            raise
        except ValueError as error:
            raise self.fail(str(error)) from error
        if "images" not in found:
            raise self.fail("it has no list 'images'")

    def _take_picture(self, value: Mapping[str, Any]) -> None:
        what = f"picture {len(self.names)} (counted from 0)"
        try:
            name = value["file_name"]
            if not isinstance(name, str):
                raise TypeError(f"'file_name' is no text but {name!r:.60}")
            self.ids.append(value["id"])
            self.widths.append(value.get("width", 0))
            self.heights.append(value.get("height", 0))
            self.names.append(name)
        except (KeyError, TypeError, OverflowError) as error:
            raise self._wrong(what, value, error) from error

    def _take_category(self, value: Mapping[str, Any]) -> None:
        what = f"category {self._category_count} (counted from 0)"
        self._category_count += 1
        try:
            number = value["id"]
            if not isinstance(number, int):
                raise TypeError(f"'id' is no whole number but {number!r:.60}")
            self.categories.setdefault(number, self._category_count)
        except (KeyError, TypeError) as error:
            raise self._wrong(what, value, error) from error

    def _take(self, value: Mapping[str, Any]) -> None:
        self._seen += 1
        try:
            if value.get("iscrowd") and not self._wanted.crowds:
                return
            box = value["bbox"]
            if len(box) != 4:
                raise TypeError(f"'bbox' has {len(box)} numbers, not 4")
            self._boxes.extend(box)
            if not (self._boxes[-2] >= self._threshold and self._boxes[-1] >= self._threshold):
                del self._boxes[-4:]
                return
            self.picture.append(value["image_id"])
            self.category.append(value["category_id"])
            if self._wanted.polygons:
                self._take_shape(value.get("segmentation"))
            self.labels.append(value.get("id", f"unknown, number {self._seen - 1} from 0"))
        except (AttributeError, KeyError, TypeError, OverflowError, ValueError) as error:
            name = value.get("id") if isinstance(value, dict) else None
            what = (
                f"annotation {len(self.labels)} (counted from 0)" if name is None else f"the annotation with id {name}"
            )
            raise self._wrong(what, value, error) from error

    def _take_shape(self, shape: Any) -> None:
        """Polygons, or a list of runs; nothing where there is neither."""
        if isinstance(shape, list):
            for polygon in shape:
                if not isinstance(polygon, list):
                    raise TypeError(f"'segmentation' holds {polygon!r:.60}, where a list of numbers belongs")
                if len(polygon) % 2:
                    raise TypeError(f"'segmentation' has a polygon of {len(polygon)} numbers, which makes no pairs")
                self._points.extend(polygon)
                self.point_counts.append(len(polygon) // 2)
                if self._wanted.runs and polygon and not -_FARTHEST <= min(polygon) <= max(polygon) <= _FARTHEST:
                    raise ValueError("'segmentation' has a point that is more than a million pixels away")
            self.polygon_counts.append(len(shape))
            return
        self.polygon_counts.append(0)
        if self._wanted.runs and isinstance(shape, dict):
            size = shape["size"]
            self.runs.append(as_runs(shape["counts"], size))
            self.sizes.append((size[0], size[1]))
            self.masked.append(len(self.labels))

    def _wrong(self, what: str, value: Any, error: Exception) -> ArgumentError:
        if not isinstance(value, dict):
            return self.fail(f"{what} is no object but {value!r:.60}")
        return self.fail(f"{what}: {_reason(value, error)}")


def _reason(value: Mapping[str, Any], error: Exception) -> str:
    """What is wrong with an object, as far as its whole numbers and its box tell; else what Python says."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    for key in ("id", "image_id", "category_id", "width", "height"):
        number = value.get(key, 0)
        if type(number) is not int or not -(2**31) <= number < 2**31:
            return f"{key!r} is no whole number of 32 bits but {number!r:.60}"
    box = value.get("bbox", [])
    if not isinstance(box, list) or any(type(number) not in (int, float) for number in box):
        return f"'bbox' is no list of numbers but {box!r:.60}"
    return str(error)
