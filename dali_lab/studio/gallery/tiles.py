"""Thumbnails of the wall: before and after, made once.

Thumbnails of built-in entries are shipped beside their graphs; the others, and stale ones, are made
on request and kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import peek
from dali_lab.formats.disk import read_bytes, write_bytes
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery.entries import BrokenEntry, Entry, Gallery
from dali_lab.gallery.graphs import PROGRAM_FILE
from dali_lab.io.files import read_file
from dali_lab.model.cache_folder import cache_folder
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.gallery.drawing import Drawer, Photographs, Subject, Variant, View, decoded
from dali_lab.studio.preview.pictures import Picture

TILE = 288
"""Longer side of a picture on the wall, in pixels."""

_VERSION = 2
_QUALITY = 84
_HALVES = ("before", "after")
_CAT, _CUP, _MOTORCYCLE, _ASTRONAUT, _ROCKET = range(5)
_PICTURES = {
    "colour": (_CUP, _ASTRONAUT, _MOTORCYCLE, _ROCKET, _CAT),
    "noise": (_CUP, _ASTRONAUT, _ROCKET),
    "blur": (_CAT, _MOTORCYCLE, _ASTRONAUT),
    "geometry": (_CAT, _ASTRONAUT, _MOTORCYCLE, _CUP),
    "erase": (_MOTORCYCLE, _ASTRONAUT, _CAT),
    "decoders": (_MOTORCYCLE, _CAT, _ASTRONAUT),
    "recipes": (_ASTRONAUT,),
}
"""Numbers of the sample photographs that show the entries of a family best, as :data:`.drawing.FIRST` orders them."""
_BOX_COLORS = ((74, 125, 240), (224, 130, 61), (31, 157, 139), (204, 79, 143))
_MOST_VIEWS = 4
_SAME_SCALE = "size"
_EMPTY = 235

Frame = npt.NDArray[np.uint8]


class Tiles:
    """The wall's pictures.

    Parameters
    ----------
    folder
        Where thumbnails that are not shipped are kept; by default in the user's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "gallery"

    def ready(self, entry: Entry) -> tuple[Picture | None, Picture] | None:
        """The pictures of an entry if they were made already: before (if it has such a picture), and after."""
        name = digest(entry)
        for place in (entry.folder, self.folder):
            after = _read(place / f"after-{name}.jpg")
            if after is not None:
                return _read(place / f"before-{name}.jpg"), after
        return None

    def make(self, entry: Entry, drawer: Drawer, photographs: Photographs) -> tuple[Picture | None, Picture]:
        """Draw the pictures of an entry and keep them.

        Raises
        ------
        DaliLabError
            If the entry cannot run.
        """
        found = draw_tile(entry, drawer, photographs)
        write_tile(self.folder, digest(entry), *found)
        return found


def digest(entry: Entry) -> str:
    """Names what a tile shows: the graph, which of its pictures, and how tiles are made."""
    overlays = [(o.kind, str(o.source), str(o.on), o.relative) for o in entry.overlays]
    said = [_VERSION, TILE, _graph_text(entry), str(entry.before), overlays, photograph_number(entry), entry.tags]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def _graph_text(entry: Entry) -> str:
    program = entry.folder / PROGRAM_FILE
    if program.is_file():
        # Names that its graph's nodes are given by tracing do not matter.
        return read_bytes(program).decode("utf-8")
    return json.dumps(json_file.to_document(entry.graph), sort_keys=True)


def photograph_number(entry: Entry) -> int:
    """The number of the sample photograph that shows an entry on the wall."""
    if entry.picture is not None:
        return entry.picture
    fitting = _PICTURES.get(entry.family, (_CAT,))
    # By the name: a new entry leaves the pictures of the others as they are.
    return fitting[zlib.crc32(entry.name.encode()) % len(fitting)]


def draw_tile(entry: Entry, drawer: Drawer, photographs: Photographs) -> tuple[Picture | None, Picture]:
    """The two pictures of an entry.

    Raises
    ------
    DaliLabError
        If the entry cannot run.
    """
    subject = Subject.of(entry)
    seed = int(entry.graph.pipeline.get("seed") or 42)
    drawn = drawer.draw(subject, Variant(seed=seed), photographs, first=photograph_number(entry), size=TILE)
    if drawn.problem is not None:
        raise DaliLabError(drawn.problem.message)
    after = [_frame(view) for view in drawn.after[:_MOST_VIEWS]]
    before = None if drawn.before is None else _frame(drawn.before)
    shown = _together(after)
    if _SAME_SCALE in entry.tags and before is not None and drawn.before is not None:
        before, shown = _same_scale((before, drawn.before), (shown, drawn.after[0]))
    return None if before is None else _jpeg(before), _jpeg(shown)


def _same_scale(*shown: tuple[Frame, View]) -> list[Frame]:
    """Pictures padded to one size, so that the larger one is seen to be larger."""
    import cv2

    sizes = []
    for frame, view in shown:
        parts = view.shapes[0].split("×") if view.shapes else []
        known = len(parts) == 3 and all(part.isdigit() for part in parts)
        sizes.append((int(parts[0]), int(parts[1])) if known else frame.shape[:2])
    height, width = (max(size[axis] for size in sizes) for axis in (0, 1))
    scale = TILE / max(height, width)
    sheets = []
    for (frame, _), (h, w) in zip(shown, sizes, strict=True):
        sheet = np.full((round(height * scale), round(width * scale), 3), _EMPTY, np.uint8)
        target = (max(1, round(w * scale)), max(1, round(h * scale)))
        small = cv2.resize(
            frame, target, interpolation=cv2.INTER_AREA if target[0] < frame.shape[1] else cv2.INTER_CUBIC
        )
        y, x = (sheet.shape[0] - target[1]) // 2, (sheet.shape[1] - target[0]) // 2
        sheet[y : y + target[1], x : x + target[0]] = small
        sheets.append(sheet)
    return sheets


def refresh(gallery: Gallery) -> tuple[int, list[BrokenEntry]]:
    """Draw missing thumbnails beside the entries, and remove old ones; the number drawn, and the failures."""
    drawer, photographs = Drawer(), Photographs()
    drawn, failed = 0, []
    try:
        for entry in gallery:
            name = digest(entry)
            if entry.waiting is None and _read(entry.folder / f"after-{name}.jpg") is None:
                try:
                    write_tile(entry.folder, name, *draw_tile(entry, drawer, photographs))
                    drawn += 1
                except DaliLabError as error:
                    failed.append(BrokenEntry(entry.name, entry.folder, str(error)))
            for half in _HALVES:
                for path in entry.folder.glob(f"{half}-*.jpg"):
                    if path.name != f"{half}-{name}.jpg":
                        path.unlink()
    finally:
        drawer.close()
    return drawn, failed


def flat_picture(views: list[View], index: int) -> Picture | None:
    """Sample `index` of an output or of several views as one picture, with its overlays."""
    frames = [_frame(view, index) for view in views if index < len(view.pictures) and view.pictures[index] is not None]
    return _jpeg(_together(frames[:_MOST_VIEWS])) if frames else None


def write_tile(folder: Path, name: str, before: Picture | None, after: Picture) -> None:
    """Write the two pictures of a tile, in place of older ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for half, picture in zip(_HALVES, (before, after), strict=True):
        if picture is not None:
            write_bytes(folder / f"{half}-{name}.jpg", picture.data)


def _read(path: Path) -> Picture | None:
    try:
        data = read_file(path)
        header = peek(data)
    except (OSError, CodecError):
        return None
    return Picture(data, "image/jpeg", header.width, header.height)


def _frame(view: View, index: int = 0) -> Frame:
    """A sample of a view as an RGB frame, with its overlays."""
    import cv2

    picture = view.pictures[index] if index < len(view.pictures) else None
    if picture is None:
        raise DaliLabError("this graph gives no picture")
    frame = decoded(picture)
    overlay = view.overlays[index] if index < len(view.overlays) else None
    if overlay is None:
        return frame
    height, width = frame.shape[:2]
    if overlay.mask is not None:
        mask: Any = cv2.imdecode(np.frombuffer(overlay.mask.data, np.uint8), cv2.IMREAD_UNCHANGED)
        mask = cv2.resize(mask, (width, height), interpolation=cv2.INTER_NEAREST)
        share = mask[..., 3:].astype(np.float32) / 255
        frame = (frame * (1 - share) + mask[..., 2::-1] * share).astype(np.uint8)
    for number, box in enumerate(overlay.boxes or ()):
        left, top, right, bottom = (round(value * side) for value, side in zip(box, [width, height] * 2, strict=True))
        cv2.rectangle(frame, (left, top), (right - 1, bottom - 1), _BOX_COLORS[number % len(_BOX_COLORS)], 2)
    for x, y in overlay.points or ():
        place = (round(x * width), round(y * height))
        cv2.circle(frame, place, 4, (255, 255, 255), -1, cv2.LINE_AA)
        cv2.circle(frame, place, 3, _BOX_COLORS[1], -1, cv2.LINE_AA)
    return frame


def _together(frames: list[Frame]) -> Frame:
    """Several views side by side in one picture."""
    import cv2

    if len(frames) == 1:
        return frames[0]
    columns = math.ceil(math.sqrt(len(frames)))
    rows = math.ceil(len(frames) / columns)
    side = TILE // columns
    sheet = np.full((rows * side, columns * side, 3), 255, np.uint8)
    for index, frame in enumerate(frames):
        scale = (side - 2) / max(frame.shape[:2])
        size = (max(1, round(frame.shape[1] * scale)), max(1, round(frame.shape[0] * scale)))
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        y = (index // columns) * side + (side - size[1]) // 2
        x = (index % columns) * side + (side - size[0]) // 2
        sheet[y : y + size[1], x : x + size[0]] = small
    return sheet


def _jpeg(frame: Frame) -> Picture:
    import cv2

    height, width = frame.shape[:2]
    data: Any = cv2.imencode(".jpg", frame[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1]
    return Picture(data.tobytes(), "image/jpeg", width, height)
