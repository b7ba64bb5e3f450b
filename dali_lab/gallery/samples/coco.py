"""Boxes of a person's own pictures from files of COCO annotations in their folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import open_file
from dali_lab.model.errors import ArgumentError, DaliLabError

Boxes = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]

_HEAD = 1 << 16


def coco_files(folder: Path) -> list[Path]:
    """JSON files in a folder that look like COCO annotations: they speak of images or annotations early on."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            with open_file(path) as file:
                head = file.read(_HEAD)
        except OSError:
            continue
        if b'"images"' in head or b'"annotations"' in head:
            found.append(path)
    return found


def coco_boxes(folder: Path, files: Sequence[str]) -> dict[str, Boxes]:
    """Boxes (left, top, right, bottom as shares of the size) and labels of those pictures that have any.

    A picture is called in the annotations as it is here, with or without its folder.

    Raises
    ------
    DaliLabError
        If annotations are damaged; it names the file.
    """
    from dali_lab.operators.readers.coco.json_file import CocoFile, Wanted
    from dali_lab.operators.readers.coco.table import make_table

    found: dict[str, Boxes] = {}
    for path in coco_files(folder):
        try:
            source = CocoFile(str(path), Wanted(threshold=0.1, crowds=True, polygons=False, runs=False))
            known = set(source.names)
            names = {file: next((n for n in (file, Path(file).name) if n in known), None) for file in files}
            chosen = {file: name for file, name in names.items() if name is not None and file not in found}
            if not chosen:
                continue
            table = make_table(
                source, list(chosen.values()), skip_empty=False, ratio=True, ltrb=True, remap=True, polygons=False,
                masks=False,
            )  # fmt: skip
        except ArgumentError as error:
            raise DaliLabError(error.message) from error
        for row, file in enumerate(chosen):
            rows = table.objects.take(np.array([row])).rows()
            if len(rows):
                found[file] = np.clip(table.boxes[rows], 0, 1), table.labels[rows]
    return found
