"""Boxes, points and masks of four of the sample photographs, drawn by hand; coordinates are shares of the size."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from dali_lab.gallery.samples import photographs

CLASSES = ("background", "person", "cat", "cup", "saucer", "motorcycle", "helmet", "rocket", "wheel", "spoon")

_Points = tuple[tuple[float, float], ...]
_Boxes = tuple[tuple[str, float, float, float, float], ...]
_Outlines = tuple[tuple[str, _Points], ...]


def _ellipse(x: float, y: float, width: float, height: float) -> _Points:
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return tuple((float(x + width * np.cos(angle)), float(y + height * np.sin(angle))) for angle in angles)


_ANNOTATIONS: dict[str, tuple[_Boxes, _Points, _Outlines]] = {
    "animals/chelsea.jpg": (
        (("cat", 0.02, 0.0, 0.84, 1.0),),
        ((0.38, 0.39), (0.705, 0.455), (0.58, 0.82), (0.3, 0.05), (0.83, 0.06)),
        (
            (
                "cat",
                ((0.08, 0.62), (0.1, 0.3), (0.2, 0.1), (0.25, 0), (0.85, 0), (0.84, 0.12), (0.79, 0.22), (0.8, 0.4),
                 (0.77, 0.55), (0.7, 0.7), (0.65, 0.85), (0.6, 0.97), (0.55, 1), (0.1, 1)),
            ),
        ),
    ),
    "people/astronaut.jpg": (
        (("person", 0.04, 0.03, 0.71, 1.0), ("helmet", 0.55, 0.67, 1.0, 1.0), ("rocket", 0.7, 0.0, 0.93, 0.55)),
        ((0.385, 0.185), (0.475, 0.185), (0.435, 0.235), (0.44, 0.285), (0.45, 0.04)),
        (
            (
                "person",
                ((0.3, 0.15), (0.36, 0.05), (0.47, 0.03), (0.57, 0.1), (0.58, 0.2), (0.53, 0.3), (0.58, 0.42),
                 (0.68, 0.52), (0.7, 0.66), (0.6, 0.74), (0.55, 0.85), (0.56, 1), (0.05, 1), (0.05, 0.78),
                 (0.08, 0.55), (0.2, 0.43), (0.25, 0.3), (0.33, 0.26)),
            ),
            ("helmet", _ellipse(0.77, 0.86, 0.22, 0.19)),
        ),
    ),
    "food/coffee.jpg": (
        (("cup", 0.28, 0.04, 0.68, 0.78), ("saucer", 0.13, 0.15, 0.8, 0.97), ("spoon", 0.53, 0.15, 0.71, 0.82)),
        ((0.29, 0.28), (0.675, 0.28), (0.37, 0.68), (0.605, 0.7), (0.48, 0.36)),
        (("saucer", _ellipse(0.465, 0.555, 0.335, 0.42)), ("cup", _ellipse(0.48, 0.32, 0.195, 0.275))),
    ),
    "garage/motorcycle.jpg": (
        (("motorcycle", 0.12, 0.2, 0.93, 0.91), ("wheel", 0.16, 0.48, 0.4, 0.82), ("wheel", 0.64, 0.53, 0.93, 0.91)),
        ((0.275, 0.66), (0.8, 0.74), (0.73, 0.31), (0.25, 0.35), (0.5, 0.42)),
        (
            (
                "motorcycle",
                ((0.12, 0.43), (0.2, 0.32), (0.45, 0.38), (0.6, 0.35), (0.62, 0.2), (0.75, 0.25), (0.74, 0.45),
                 (0.87, 0.57), (0.93, 0.75), (0.87, 0.9), (0.72, 0.85), (0.6, 0.68), (0.5, 0.86), (0.43, 0.8),
                 (0.38, 0.76), (0.28, 0.82), (0.18, 0.72), (0.17, 0.55)),
            ),
        ),
    ),
}  # fmt: skip


def write(folder: Path) -> None:
    """Write the photographs with what belongs to them into a folder."""
    from PIL import Image, ImageDraw

    root = photographs()
    for number, (path, (boxes, points, outlines)) in enumerate(_ANNOTATIONS.items()):
        name = f"{number}-{Path(path).stem}"
        shutil.copyfile(root / path, folder / f"{name}.jpg")
        np.save(folder / f"{name}.boxes.npy", np.array([box[1:] for box in boxes], np.float32))
        np.save(folder / f"{name}.labels.npy", np.array([CLASSES.index(box[0]) for box in boxes], np.int32))
        np.save(folder / f"{name}.points.npy", np.array(points, np.float32))
        with Image.open(root / path) as picture:
            width, height = picture.size
        mask = Image.new("L", (width, height))
        for label, outline in outlines:
            corners = np.round(np.array(outline) * [width - 1, height - 1])
            ImageDraw.Draw(mask).polygon([(x, y) for x, y in corners.tolist()], fill=CLASSES.index(label))
        mask.save(folder / f"{name}.mask.png")
