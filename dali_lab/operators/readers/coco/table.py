"""The samples of a COCO reader: for each picture its objects, in columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.operators.readers.coco.json_file import CocoFile

Table = npt.NDArray[Any]


@dataclass(frozen=True)
class Span:
    """The rows of a table that belong to each sample: ``int64[N]`` first rows and numbers of rows."""

    first: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: npt.ArrayLike) -> Span:
        """Spans that follow one another."""
        count = np.asarray(counts, np.int64)
        return cls(np.cumsum(count) - count, count)

    def take(self, rows: Table) -> Span:
        """The spans of some samples."""
        return Span(self.first[rows], self.count[rows])

    def rows(self) -> npt.NDArray[np.int64]:
        """The rows of all samples, one after the other."""
        starts = np.cumsum(self.count) - self.count
        rows: npt.NDArray[np.int64] = np.arange(int(self.count.sum())) + np.repeat(self.first - starts, self.count)
        return rows

    def starts(self) -> npt.NDArray[np.int64]:
        """``int64[N + 1]``: where each sample begins among :meth:`rows`, and where the last one ends."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count)])


@dataclass
class CocoTable:
    """Pictures and their objects.

    Attributes
    ----------
    names
        Of the pictures, without their folder.
    objects
        Which rows of `boxes` (``float32[B, 4]``) and `labels` (``int32[B]``) are a picture's.
    of_polygons, polygons
        Which rows of ``int32[P, 3]`` are a picture's: the object, and the first of its points and the one after the
        last, counted in the picture.
    of_points, points
        Which rows of ``float32[V, 2]`` are a picture's.
    of_masks, masks, runs, run_sizes
        Which rows of ``int32[M]`` are a picture's: objects whose mask is a list of runs; these lists, and the height
        and width that they are for.
    heights, widths, ids
        ``int32[N]`` each, or empty.
    """

    names: list[str]
    objects: Span
    boxes: Table
    labels: Table
    of_polygons: Span | None = None
    polygons: Table = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    of_points: Span | None = None
    points: Table = field(default_factory=lambda: np.zeros((0, 2), np.float32))
    of_masks: Span | None = None
    masks: Table = field(default_factory=lambda: np.zeros(0, np.int32))
    runs: Sequence[npt.NDArray[np.int64]] = ()
    run_sizes: Table = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    heights: Table = field(default_factory=lambda: np.zeros(0, np.int32))
    widths: Table = field(default_factory=lambda: np.zeros(0, np.int32))
    ids: Table = field(default_factory=lambda: np.zeros(0, np.int32))

    def digest(self, row: int) -> str:
        """A digest of all that is known of a picture and its objects."""
        chosen = np.array([row])
        found = hashlib.blake2b(digest_size=16)
        spans = ((self.objects, (self.boxes, self.labels)), (self.of_polygons, (self.polygons,)))
        for span, tables in (*spans, (self.of_points, (self.points,)), (self.of_masks, (self.masks, self.run_sizes))):
            rows = span.take(chosen).rows() if span is not None else chosen[:0]
            for table in tables:
                found.update(f"{len(rows)}\0".encode() + table[rows].tobytes())
        if self.of_masks is not None:
            for mask in self.of_masks.take(chosen).rows().tolist():
                found.update(f"{len(self.runs[mask])}\0".encode() + self.runs[mask].tobytes())
        for column in (self.heights, self.widths, self.ids):
            found.update(column[row : row + 1].tobytes())
        return found.hexdigest()


def make_table(
    file: CocoFile,
    images: Sequence[str] | None,
    *,
    skip_empty: bool,
    ratio: bool,
    ltrb: bool,
    remap: bool,
    polygons: bool,
    masks: bool,
) -> CocoTable:
    """The samples that a file and the reader's arguments make.

    Parameters
    ----------
    file
        Pictures and annotations.
    images
        Names of pictures, in the order in which they are wanted; by default all of them, by their numbers.
    skip_empty
        Leave out pictures without objects.
    ratio, ltrb
        Coordinates as shares of the picture; right and bottom instead of width and height.
    remap
        Labels are places in the list of categories, counted from 1; 0 where a category is not there.
    polygons, masks
        Whether shapes are wanted, and whether they are to be drawn.
    """
    chosen = _chosen(file, images)
    by_picture = np.argsort(np.asarray(file.picture), kind="stable")
    sorted_pictures = np.asarray(file.picture)[by_picture]
    ids = np.asarray(file.ids, np.int32)[chosen]
    first = np.searchsorted(sorted_pictures, ids, "left")
    objects = Span(first, np.searchsorted(sorted_pictures, ids, "right") - first)
    if skip_empty:
        kept = np.flatnonzero(objects.count)
        chosen, objects, ids = chosen[kept], objects.take(kept), ids[kept]
    rows = by_picture[objects.rows()]
    owner = np.repeat(np.arange(len(chosen)), objects.count)
    widths, heights = np.asarray(file.widths, np.int32)[chosen], np.asarray(file.heights, np.int32)[chosen]
    if (ratio or masks) and ((widths <= 0) | (heights <= 0)).any():
        index = int(((widths <= 0) | (heights <= 0)).argmax())
        raise file.fail(f"the picture '{file.names[chosen[index]]}' (id {ids[index]}) has no width and height")
    scale = np.stack([widths, heights], 1).astype(np.float32)[owner]
    boxes = file.boxes[rows]
    if ltrb:
        boxes[:, 2:] += boxes[:, :2]
    if ratio:
        boxes /= np.concatenate([scale, scale], 1)
    categories = np.asarray(file.category, np.int32)[rows]
    if remap:
        numbers, places = np.unique(categories, return_inverse=True)
        categories = np.array([file.categories.get(int(n), 0) for n in numbers], np.int32)[places.reshape(-1)]
    table = CocoTable([file.names[index] for index in chosen], Span.of(objects.count), boxes, categories)
    table.ids, table.heights, table.widths = ids, heights, widths
    if polygons:
        _add_polygons(table, file, rows, owner, scale if ratio else None)
    if masks:
        _add_masks(table, file, rows, owner)
    return table


def _chosen(file: CocoFile, images: Sequence[str] | None) -> npt.NDArray[np.int64]:
    """The places in the file of the pictures that are wanted; of two with the same name the latter is taken."""
    order = range(len(file.names)) if images else np.argsort(np.asarray(file.ids, np.int32), kind="stable").tolist()
    wanted = images or [file.names[index] for index in order]
    places = {file.names[index]: index for index in order}
    chosen = [places[name] for name in wanted if name in places]
    if not chosen:
        raise file.fail("none of 'images' is in it" if images else "it has no pictures")
    return np.array(chosen, np.int64)


def _add_polygons(table: CocoTable, file: CocoFile, rows: Table, owner: Table, scale: Table | None) -> None:
    count = len(table.names)
    per_object = Span(file.first_polygons, file.polygon_counts).take(rows)
    which = per_object.rows()
    holder = np.repeat(np.arange(len(rows)), per_object.count)
    per_polygon = Span.of(file.point_counts).take(which)
    picture = owner[holder]
    # A point is one element of 8 bytes: such rows are gathered faster than rows of two numbers.
    points = file.points.view(np.int64)[per_polygon.rows()].view(np.float32)
    if scale is not None:
        points /= scale[np.repeat(holder, per_polygon.count)]
    table.of_polygons = Span.of(np.bincount(picture, minlength=count))
    table.of_points = Span.of(np.bincount(picture, per_polygon.count, minlength=count).astype(np.int64))
    start = np.cumsum(per_polygon.count) - per_polygon.count - table.of_points.first[picture]
    place = holder - table.objects.first[picture]
    table.polygons = np.stack([place, start, start + per_polygon.count], 1).astype(np.int32)
    table.points = points


def _add_masks(table: CocoTable, file: CocoFile, rows: Table, owner: Table) -> None:
    place = np.full(len(file.picture), -1, np.int64)
    place[np.asarray(file.masked, np.int64)] = np.arange(len(file.masked))
    found = np.flatnonzero(place[rows] >= 0)
    picture, which = owner[found], place[rows[found]]
    table.of_masks = Span.of(np.bincount(picture, minlength=len(table.names)))
    table.masks = (found - table.objects.first[picture]).astype(np.int32)
    table.runs = [file.runs[index] for index in which]
    table.run_sizes = np.array([file.sizes[index] for index in which], np.int64).reshape(-1, 2)
    wrong = (table.run_sizes != np.stack([table.heights, table.widths], 1)[picture]).any(axis=1)
    if wrong.any():
        index = int(wrong.argmax())
        label, size = file.label(int(rows[found[index]])), table.run_sizes[index].tolist()
        height, width = int(table.heights[picture[index]]), int(table.widths[picture[index]])
        raise file.fail(
            f"the annotation with id {label}: its mask is for {size}, and the picture"
            f" '{table.names[picture[index]]}' is {[height, width]} (height, width)"
        )
