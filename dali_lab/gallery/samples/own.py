"""Boxes, points and masks of a person's own pictures, from files beside them; stand-ins where there are none."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import IMAGE_SUFFIXES
from dali_lab.gallery.samples.coco import Boxes, coco_boxes, coco_files
from dali_lab.gallery.samples.making import made
from dali_lab.io.files import Entry, list_folder, read_file
from dali_lab.model.errors import DaliLabError

MOST_PICTURES = 256
KINDS = (".boxes.npy", ".labels.npy", ".points.npy", ".mask.png")
"""Kinds of annotations of a picture, by the end of the file's name."""

_BESIDE = (*KINDS, ".txt")
_BOX = ((0.25, 0.25, 0.75, 0.75),)
_POINTS = ((0.5, 0.5), (0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75))
_MASK_SIZE = 256


def pictures_in(folder: Path) -> list[str]:
    """The pictures in a folder and in the folders in it, as paths from it.

    Raises
    ------
    DaliLabError
        If there are none.
    """
    found = []
    for part, deep in _parts(folder):
        for entry in deep:
            picture = os.path.splitext(entry.name)[1].lower() in IMAGE_SUFFIXES and not entry.name.endswith(".mask.png")
            if picture and entry.is_file():
                found.append(f"{part}{entry.name}")
    if not found:
        raise DaliLabError(f"there are no pictures in {folder} or the folders in it")
    return sorted(found)


def _parts(folder: Path) -> Iterator[tuple[str, list[Entry]]]:
    """The entries of a folder, and of the folders in it that may be read, with what stands before their names."""
    top = list_folder(str(folder))
    yield "", top
    for entry in top:
        if entry.is_dir():
            with contextlib.suppress(OSError):
                yield f"{entry.name}/", list_folder(entry.path)


def annotations_of(folder: Path, files: Sequence[str]) -> Path:
    """A folder with boxes, labels, points and a mask for each picture, called by :func:`annotation_name`.

    Boxes come from ``NAME.boxes.npy`` (left, top, right, bottom as shares of the size) with ``NAME.labels.npy``, from
    ``NAME.txt`` as YOLO has it, or from a JSON file of COCO annotations in the folder; points come from
    ``NAME.points.npy``, masks from ``NAME.mask.png``. A picture that has none gets stand-ins: a box in its middle, five
    points, an ellipse.

    Raises
    ------
    DaliLabError
        If a file beside a picture is damaged; the message names it.
    """
    digest = hashlib.sha256(os.fsencode(folder))
    for path in coco_files(folder):
        digest.update(f"{path.name}:{path.stat().st_mtime_ns}".encode("utf-8", "surrogateescape"))
    for file in files:
        digest.update(file.encode("utf-8", "surrogateescape"))
        for path in (_beside(folder, file, kind) for kind in _BESIDE):
            digest.update(str(path.stat().st_mtime_ns if path.is_file() else 0).encode())
    return made(f"own-{digest.hexdigest()[:24]}", lambda target: _write(folder, files, target))


def annotation_name(file: str, kind: str) -> str:
    """The name of the file in which what belongs to a picture is."""
    return f"{hashlib.sha256(file.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}-{Path(file).stem}{kind}"


def _beside(folder: Path, file: str, kind: str) -> Path:
    return folder / Path(file).with_suffix(kind)


def _write(folder: Path, files: Sequence[str], target: Path) -> None:
    listed = coco_boxes(folder, files)
    for file in files:
        boxes, labels = _boxes(folder, file, listed.get(file))
        np.save(target / annotation_name(file, ".boxes.npy"), boxes)
        np.save(target / annotation_name(file, ".labels.npy"), labels)
        points = _table(_beside(folder, file, ".points.npy"), 2)
        stand_in = np.array(_POINTS, np.float32)
        np.save(target / annotation_name(file, ".points.npy"), stand_in if points is None else points)
        mask = _beside(folder, file, ".mask.png")
        if mask.is_file():
            (target / annotation_name(file, ".mask.png")).write_bytes(_content(mask))
        else:
            _write_ellipse(target / annotation_name(file, ".mask.png"))


def _boxes(folder: Path, file: str, otherwise: Boxes | None) -> Boxes:
    boxes = _table(_beside(folder, file, ".boxes.npy"), 4)
    if boxes is not None:
        path = _beside(folder, file, ".labels.npy")
        labels = _array(path).astype(np.int32).ravel() if path.is_file() else np.ones(len(boxes), np.int32)
        if len(labels) != len(boxes):
            raise DaliLabError(f"{path} has {len(labels)} labels for {len(boxes)} boxes")
        return boxes, labels
    listed = _beside(folder, file, ".txt")
    if listed.is_file():
        return _yolo(listed)
    return (np.array(_BOX, np.float32), np.ones(1, np.int32)) if otherwise is None else otherwise


def _yolo(path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Lines of ``class x y width height``, the middle and the extent of boxes as shares of the size."""
    try:
        lines = _content(path).decode("utf-8").splitlines()
        rows = [[float(word) for word in line.split()[:5]] for line in lines if line.strip()]
        table = np.array(rows, np.float32).reshape(-1, 5)
    except (ValueError, OSError) as error:
        raise DaliLabError(f"{path} has no boxes as YOLO writes them: lines of a class and four numbers") from error
    middle, half = table[:, 1:3], table[:, 3:5] / 2
    return np.clip(np.hstack([middle - half, middle + half]), 0, 1), table[:, 0].astype(np.int32)


def _table(path: Path, columns: int) -> npt.NDArray[np.float32] | None:
    """Rows of shares of the size; `None` where there is no such file."""
    if not path.is_file():
        return None
    array = _array(path)
    if array.ndim != 2 or array.shape[1] != columns or not np.all((array >= 0) & (array <= 1)):
        raise DaliLabError(f"{path} has the shape {array.shape}; it takes rows of {columns} numbers from 0 to 1")
    return array.astype(np.float32)


def _array(path: Path) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(_content(path)), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DaliLabError(f"{path} is not an array of numbers: {error}") from error
    return array


def _content(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise DaliLabError(f"{path} cannot be read: {error.strerror or error}") from error


def _write_ellipse(path: Path) -> None:
    from PIL import Image

    rows, columns = np.mgrid[-1 : 1 : _MASK_SIZE * 1j, -1 : 1 : _MASK_SIZE * 1j]
    Image.fromarray(((rows / 0.6) ** 2 + (columns / 0.5) ** 2 <= 1).astype(np.uint8)).save(path)
