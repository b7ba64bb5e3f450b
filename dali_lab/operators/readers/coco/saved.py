"""Annotations of a COCO reader as NVIDIA DALI saves them: a folder of binary files, one for each column."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import is_missing, read_file
from dali_lab.io.locations import join
from dali_lab.io.ranges import outside
from dali_lab.io.roots import reach_to_write, writes_files
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.coco.table import CocoTable, Span

Table = npt.NDArray[Any]

_SPANS = {
    "objects": ("offsets", "counts", "i4"),
    "of_polygons": ("polygon_offset", "polygons_count", "i8"),
    "of_points": ("vertices_offset", "vertices_count", "i8"),
    "of_masks": ("masks_offset", "mask_count", "i8"),
}
_COLUMNS = {
    "boxes": ("boxes", "f4", 1),
    "labels": ("labels", "i4", 1),
    "polygons": ("polygon_data", "i4", 3),
    "points": ("vertices", "f4", 2),
    "masks": ("masks_rles_idx", "i4", 1),
    "heights": ("heights", "i4", 1),
    "widths": ("widths", "i4", 1),
    "ids": ("original_ids", "i4", 1),
}
"""Names of the files, types of the elements, and how many of these NVIDIA DALI counts as one."""


def save_table(table: CocoTable, folder: str, *, with_ids: bool) -> None:
    """Write a table to files in NVIDIA DALI's form.

    Raises
    ------
    ArgumentError
        If they cannot be written.
    """
    parts: dict[str, bytes] = {}
    for attribute, (first, count, dtype) in _SPANS.items():
        span = getattr(table, attribute)
        if span is not None:
            parts[first], parts[count] = (_packed(column.astype(dtype), 1) for column in (span.first, span.count))
    shapes = table.of_polygons is not None
    wanted = {"boxes", "labels"} | ({"polygons", "points"} if shapes else set()) | ({"ids"} if with_ids else set())
    wanted |= {"masks", "heights", "widths"} if table.of_masks is not None else set()
    for attribute in wanted:
        name, dtype, group = _COLUMNS[attribute]
        parts[name] = _packed(getattr(table, attribute).astype(dtype), group)
    parts["filenames"] = b"".join(os.fsencode(name) + b"\n" for name in table.names)
    if len(table.runs):
        masks = [
            np.array([*size, len(runs)], np.uint64).tobytes() + runs.astype(np.uint32).tobytes()
            for size, runs in zip(table.run_sizes, table.runs, strict=True)
        ]
        parts["masks_rles"] = np.uint32(len(masks)).tobytes() + b"".join(masks)
    every = {name for names in _SPANS.values() for name in names[:2]} | {names[0] for names in _COLUMNS.values()}
    if not writes_files():
        return
    path = folder
    try:
        for name in every | {"filenames", "masks_rles"}:
            path = os.path.join(folder, f"{name}.dat")
            if parts.get(name):
                reach_to_write(path)
                with open(path, "wb") as file:
                    file.write(parts[name])
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(path)  # left from another time, it would be read with these
    except OSError as error:
        message = f"cannot write '{path}': {error.strerror or error}"
        raise ArgumentError(message, argument="save_preprocessed_annotations_dir") from error


def _packed(column: Table, group: int) -> bytes:
    """The number of rows and the rows; nothing where there are none."""
    return np.uint32(column.size // group).tobytes() + column.tobytes() if column.size else b""


def load_table(folder: str, *, polygons: bool, masks: bool, with_ids: bool) -> CocoTable:
    """Read what :func:`save_table` or NVIDIA DALI has written.

    Raises
    ------
    ArgumentError
        If something is not there or damaged; it names the file.
    """
    names = [os.fsdecode(line) for line in _bytes(folder, "filenames").split(b"\n") if line]
    if not names:
        raise _damaged(folder, "filenames", "it is not there, or names no pictures")
    spans = dict.fromkeys(_SPANS) | {"objects": _span(folder, "objects", len(names))}
    columns = ["boxes", "labels"]
    if polygons or masks:
        spans |= {key: _span(folder, key, len(names)) for key in ("of_polygons", "of_points")}
        columns += ["polygons", "points"]
    if masks:
        spans["of_masks"] = _span(folder, "of_masks", len(names))
        columns += ["masks", "heights", "widths"]
    if with_ids:
        columns.append("ids")
    found = {key: _column(folder, *_COLUMNS[key]) for key in columns}
    found["boxes"] = found["boxes"].reshape(-1, 4)
    table = CocoTable(names, runs=(), **spans, **found)  # type: ignore[arg-type]
    if masks:
        table.runs, table.run_sizes = _read_runs(folder)
    _check_rows(folder, table, columns)
    return table


def _check_rows(folder: str, table: CocoTable, columns: Sequence[str]) -> None:
    """Raise :class:`ArgumentError` if a span or an index leads outside its table."""
    for key in columns:
        name, count = _COLUMNS[key][0], len(getattr(table, key))
        if key in ("heights", "widths", "ids") and count != len(table.names):
            raise _damaged(folder, name, f"it has {count} numbers for {len(table.names)} pictures")
    pairs = [
        ("objects", "boxes"), ("objects", "labels"), ("of_polygons", "polygons"), ("of_points", "points"),
        ("of_masks", "masks"), ("of_masks", "runs"),
    ]  # fmt: skip
    for key, column in pairs:
        span, name = getattr(table, key), _SPANS[key][1]
        if span is not None and outside(span.first, span.count, len(getattr(table, column))).any():
            raise _damaged(folder, name, f"it speaks of more than '{column}' holds")
    if table.of_polygons is not None and table.of_points is not None:
        counts = np.repeat(table.of_points.count, table.of_polygons.count)[:, None]
        rows = table.polygons[table.of_polygons.rows()]
        objects = np.repeat(table.objects.count, table.of_polygons.count)
        if (rows < 0).any() or (rows[:, 1:] > counts).any() or (rows[:, 0] >= objects).any():
            raise _damaged(folder, "polygon_data", "it speaks of points or objects that are not there")
    if table.of_masks is not None:
        rows = table.of_masks.rows()
        picture = np.repeat(np.arange(len(table.names)), table.of_masks.count)
        sizes = np.stack([table.heights, table.widths], 1)[picture]
        if ((table.masks[rows] < 0) | (table.masks[rows] >= table.objects.count[picture])).any():
            raise _damaged(folder, "masks_rles_idx", "it speaks of objects that are not there")
        if (table.run_sizes[rows] != sizes).any() or (sizes < 1).any():
            raise _damaged(folder, "masks_rles", "a mask is not of the size of its picture")


def _span(folder: str, key: str, count: int) -> Span:
    first, length, dtype = _SPANS[key]
    columns = [_column(folder, name, dtype, 1).astype(np.int64) for name in (first, length)]
    for name, column in zip((first, length), columns, strict=True):
        if not len(column):
            raise _damaged(folder, name, "it is not there; were the annotations saved with these masks?")
        if len(column) != count or (column < 0).any():
            raise _damaged(folder, name, f"it has {len(column)} numbers for {count} pictures, or negative ones")
    return Span(*columns)


def _column(folder: str, name: str, dtype: str, group: int) -> Table:
    """The elements in a file; none where there is no file."""
    data = _bytes(folder, name)
    if not data:
        return np.zeros((0, group) if group > 1 else 0, dtype)
    count = int(np.frombuffer(data[:4].ljust(4, b"\0"), np.uint32)[0]) * group
    if len(data) != 4 + count * np.dtype(dtype).itemsize:
        raise _damaged(folder, name, f"it has {len(data)} bytes, which are not {count} elements")
    column = np.frombuffer(data, dtype, offset=4)
    return column.reshape(-1, group) if group > 1 else column


def _read_runs(folder: str) -> tuple[list[npt.NDArray[np.int64]], Table]:
    data = _bytes(folder, "masks_rles")
    runs, sizes, at = [], [], 4
    for _ in range(int(np.frombuffer(data[:4], np.uint32)[0]) if len(data) > 4 else 0):
        head = np.frombuffer(data[at : at + 24].ljust(24, b"\0"), np.uint64).astype(np.int64)
        end = at + 24 + 4 * int(head[2])
        if not 0 < head[2] <= len(data) or end > len(data):
            raise _damaged(folder, "masks_rles", "it ends in the middle of a mask")
        lengths = np.frombuffer(data[at + 24 : end], np.uint32).astype(np.int64)
        if lengths.sum() != head[0] * head[1]:
            raise _damaged(folder, "masks_rles", "the runs of a mask do not cover its picture")
        runs.append(lengths)
        sizes.append(head[:2])
        at = end
    return runs, np.array(sizes, np.int64).reshape(-1, 2)


def _bytes(folder: str, name: str) -> bytes:
    """A file, or nothing where there is none."""
    try:
        return read_file(join(folder, f"{name}.dat"))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and is_missing(error):
            return b""
        raise _damaged(folder, name, getattr(error, "strerror", None) or str(error)) from error


def _damaged(folder: str, name: str, reason: str) -> ArgumentError:
    path = os.path.join(folder, f"{name}.dat")
    return ArgumentError(f"cannot use '{path}': {reason}", argument="preprocessed_annotations")
