"""Reads pictures and their objects from COCO annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.locations import join_all
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT32
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.coco.json_file import CocoFile, Wanted
from dali_lab.operators.readers.coco.saved import load_table, save_table
from dali_lab.operators.readers.coco.table import CocoTable, Span, make_table
from dali_lab.operators.readers.list_reader import AFTER_EPOCH, READER, ListReader
from dali_lab.operators.readers.look_ahead import RemoteRows
from dali_lab.operators.readers.whole_files import Paths, read_files
from dali_lab.schema import Arg, Call, Output, flag, number, register, string, strings

if TYPE_CHECKING:
    from dali_lab.operators.readers.unmatched import Unmatched

_FROM_JSON = ("annotations_file", "skip_empty", "ratio", "ltrb", "images", "size_threshold")


@register
class COCO(ListReader):
    """Reads pictures and their objects from a folder and a JSON file of COCO annotations.

    Pictures come in the order of their ids. Each has boxes and labels, and if asked for the shapes of its objects:
    as polygons, or drawn into a picture of labels.
    """

    name = "readers.coco"
    schema_name = "readers__COCO"
    title = "COCO reader"
    outputs = (
        Output("images", kind="encoded", doc="The bytes of each picture's file, one-dimensional UINT8."),
        Output("boxes", kind="boxes", doc="FLOAT of shape (n, 4): x, y, width and height of each object.", dtype=FLOAT),
        Output("labels", kind="tensor", doc="INT32 of shape (n,): the category of each object.", dtype=INT32),
        Output(
            "polygons",
            kind="tensor",
            doc="With `polygon_masks`: INT32 of shape (p, 3), each with its object, its first vertex, and the one after"
            " its last.",
            dtype=INT32,
            when=("polygon_masks", "masks"),
        ),
        Output(
            "vertices",
            kind="tensor",
            doc="With `polygon_masks`: FLOAT of shape (v, 2), x and y.",
            dtype=FLOAT,
            when=("polygon_masks", "masks"),
        ),
        Output(
            "masks",
            kind="mask",
            doc="With `pixelwise_masks`: a picture of labels, INT32, 0 where there is no object.",
            dtype=INT32,
            layout="HWC",
            when=("pixelwise_masks",),
        ),
        Output(
            "image_ids",
            kind="tensor",
            doc="With `image_ids`: the id of each picture, INT32 of shape (1,).",
            dtype=INT32,
            when=("image_ids",),
        ),
    )
    identifies = True
    locating = (
        "file_root", "annotations_file", "images", "skip_empty", "preprocessed_annotations",
        "save_preprocessed_annotations", "save_preprocessed_annotations_dir",
    )  # fmt: skip
    tested_elsewhere = "tests/unit/readers/test_coco.py"
    differs = (
        "What is missing in annotations or does not fit is an error that names the annotation; NVIDIA DALI goes on with"
        " undefined values. An object without a shape does not keep `pixelwise_masks` from drawing the others."
    )
    arguments = (
        string("file_root", None, "Folder of the pictures.", widget="folder", important=True),
        string("annotations_file", "", "JSON file with the annotations.", widget="path", important=True),
        strings(
            "images",
            None,
            "Pictures to read, in this order, named as in the annotations; by default all, by their ids.",
        ),
        flag("ltrb", "Give boxes as left, top, right and bottom.", important=True),
        flag("ratio", "Give coordinates as shares of width and height.", important=True),
        flag("polygon_masks", "Give the polygons of objects, and their vertices."),
        flag(
            "pixelwise_masks",
            "Give a picture of labels. Of objects with one label all polygons are drawn; where there are none, the last"
            " of the masks that are lists of runs.",
        ),
        flag("masks", "Old form of `polygon_masks`, which counts coordinates instead of vertices."),
        flag("image_ids", "Give the ids of pictures."),
        flag("skip_empty", "Leave out pictures without objects."),
        number("size_threshold", 0.1, "Leave out objects whose box is less wide or high.", unit="px"),
        flag("include_iscrowd", "Keep objects that are marked as crowds.", default=True),
        flag(
            "avoid_class_remapping",
            "Labels are the ids of categories, rather than their places in the file, counted from 1.",
        ),
        *AFTER_EPOCH,
        *READER,
        string(
            "preprocessed_annotations",
            "",
            "Folder with annotations that were saved by `save_preprocessed_annotations`.",
            widget="folder",
            advanced=True,
        ),
        flag("save_preprocessed_annotations", "Save the annotations in a form that is read faster.", advanced=True),
        string("save_preprocessed_annotations_dir", "", "Folder to save them in.", widget="folder", advanced=True),
        Arg("meta_files_path", "string", None, "", renamed_to="preprocessed_annotations"),
        Arg("dump_meta_files", "bool", None, "", renamed_to="save_preprocessed_annotations"),
        Arg("dump_meta_files_path", "string", None, "", renamed_to="save_preprocessed_annotations_dir"),
        Arg("save_img_ids", "bool", None, "", renamed_to="image_ids"),
    )
    example = """
    >>> encoded, boxes, labels = fn.readers.coco(
    ...     file_root="images", annotations_file="instances.json", ltrb=True, ratio=True, name="Reader"
    ... )
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if values.get("file_root") is None:
            raise ArgumentError("must be given", argument="file_root", code="argument_missing")
        if values.get("skip_cached_images"):
            raise ArgumentError("cannot be used with COCO annotations", argument="skip_cached_images")
        if values.get("preprocessed_annotations"):
            given = [name for name in _FROM_JSON if name in values and values[name] != cls.argument_table[name].default]
            if given:
                raise ArgumentError("cannot be given together with 'preprocessed_annotations'", argument=given[0])
        elif not values.get("annotations_file"):
            raise ArgumentError(
                "must be given, or 'preprocessed_annotations'", argument="annotations_file", code="argument_missing"
            )
        if values.get("pixelwise_masks") and (values.get("polygon_masks") or values.get("masks")):
            raise ArgumentError("cannot be given together with 'polygon_masks'", argument="pixelwise_masks")
        if bool(values.get("save_preprocessed_annotations")) != bool(values.get("save_preprocessed_annotations_dir")):
            raise ArgumentError(
                "and 'save_preprocessed_annotations_dir' go together", argument="save_preprocessed_annotations"
            )

    def setup(self) -> None:
        self._table: CocoTable | None = None
        self._paths: Paths | None = None
        self._polygons = self.value("polygon_masks") or self.value("masks")

    def load(self) -> int:
        drawn, ids = self.value("pixelwise_masks"), self.value("image_ids")
        saved = self.value("preprocessed_annotations")
        if saved:
            table = load_table(saved, polygons=self._polygons, masks=drawn, with_ids=ids)
        else:
            shapes = self._polygons or drawn
            wanted = Wanted(self.value("size_threshold"), self.value("include_iscrowd"), shapes, drawn)
            table = make_table(
                CocoFile(self.value("annotations_file"), wanted),
                self.value("images"),
                skip_empty=self.value("skip_empty"),
                ratio=self.value("ratio"),
                ltrb=self.value("ltrb"),
                remap=not self.value("avoid_class_remapping"),
                polygons=shapes,
                masks=drawn,
            )
        if not table.names:
            raise self.fail("no picture has objects to read", "skip_empty")
        if self.value("save_preprocessed_annotations"):
            save_table(table, self.value("save_preprocessed_annotations_dir"), with_ids=ids)
        root = self.value("file_root")
        self._paths = Paths(join_all(root, table.names))
        self._table = table
        return len(table.names)

    def remote_rows(self) -> RemoteRows | None:
        assert self._paths is not None
        return self._paths.remote_rows()

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        assert self._table is not None
        return tuple(self._table.names[row] for row in rows.tolist())

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        assert self._table is not None
        assert self._paths is not None
        names = zip(rows.tolist(), self._paths.full_names(rows), strict=True)
        return (f"{path}\0{self._table.digest(row)}" for row, path in names)

    def states(self, rows: npt.NDArray[np.int64], by_content: bool = False) -> npt.NDArray[np.int64] | None:
        assert self._paths is not None
        return self._paths.states(rows, by_content)

    def unmatched(self) -> Iterable[Unmatched]:
        from dali_lab.operators.readers.file_list import IMAGE_FILTERS, matcher
        from dali_lab.operators.readers.unmatched import unlisted_files

        assert self._paths is not None
        if not self.value("images"):
            what = "files beside the pictures that no annotations are read for"
            yield from unlisted_files(self._paths.names, matcher(IMAGE_FILTERS, False), what)

    def run(self, call: Call) -> tuple[Batch, ...]:
        assert self._table is not None
        assert self._paths is not None
        table, rows = self._table, call.ticket[call.start : call.start + call.count]
        sources = self.sources(rows)
        objects = table.objects.take(rows)
        results = [
            read_files(call, self._paths, rows, sources),
            _ragged(table.boxes, objects),
            _ragged(table.labels, objects),
        ]
        if self._polygons:
            assert table.of_polygons is not None
            assert table.of_points is not None
            polygons = _ragged(table.polygons, table.of_polygons.take(rows))
            if self.value("masks"):
                polygons.owners[0][:, 1:] *= 2
            results += [polygons, _ragged(table.points, table.of_points.take(rows))]
        if self.value("pixelwise_masks"):
            results.append(self._draw(call, table, rows, objects))
        if self.value("image_ids"):
            results.append(Batch.dense(table.ids[rows].reshape(-1, 1), dtype=INT32))
        for result in results:
            result.sources = sources
        return tuple(results)

    def _draw(self, call: Call, table: CocoTable, rows: npt.NDArray[np.int64], objects: Span) -> Batch:
        """A picture of labels for each of the rows."""
        from dali_lab.codecs.plan import MAX_PIXELS
        from dali_lab.kernels.cpu import background, polygon_masks
        from dali_lab.kernels.cpu.memory import rows as as_table

        assert table.of_polygons is not None
        assert table.of_points is not None
        assert table.of_masks is not None
        of_polygons, of_points = table.of_polygons.take(rows), table.of_points.take(rows)
        of_masks = table.of_masks.take(rows)
        extents = np.stack([table.heights[rows], table.widths[rows]], 1).astype(np.int64)
        large = extents.prod(axis=1) > MAX_PIXELS
        if large.any():
            index = int(large.argmax())
            height, width = extents[index].tolist()
            raise call.problem(
                f"the annotations give it {height} x {width} pixels, more than the limit of {MAX_PIXELS}"
                " (the environment variable DALI_LAB_MAX_IMAGE_PIXELS)",
                sample=index,
                source=table.names[rows[index]],
            )
        polygons = table.polygons[of_polygons.rows()].astype(np.int64)
        polygons[:, 1:] += np.repeat(of_points.starts()[:-1], of_polygons.count)[:, None]
        points = table.points[of_points.rows()]
        if self.value("ratio"):
            points = points * np.repeat(extents[:, ::-1].astype(np.float32), of_points.count, axis=0)
        runs = [table.runs[row] for row in of_masks.rows().tolist()]
        ends = np.cumsum([0, *map(len, runs)])
        out = call.allocate(np.concatenate([extents, np.ones((len(rows), 1), np.int64)], 1), INT32, "HWC", output=3)
        background.call(
            polygon_masks.draw, as_table(out.addresses), as_table(extents), objects.starts(),
            as_table(table.labels[objects.rows()]), of_polygons.starts(), as_table(polygons),
            as_table(points, np.float64), of_masks.starts(), as_table(table.masks[of_masks.rows()]), as_table(ends),
            np.concatenate([np.zeros(0, np.int64), *runs]),
        )  # fmt: skip
        return out


def _ragged(table: npt.NDArray[Any], span: Span) -> Batch:
    """Some rows of a table for each sample."""
    data = np.ascontiguousarray(table[span.rows()])
    width = data.shape[1:]
    shapes = np.concatenate([span.count[:, None], np.full((len(span.count), len(width)), width, np.int64)], 1)
    stride = data.itemsize * int(np.prod(width))
    dtype = FLOAT if data.dtype == np.float32 else INT32
    return Batch(data.ctypes.data + stride * span.starts()[:-1], shapes, dtype, "", (data,))
