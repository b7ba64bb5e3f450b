"""Photographs that come with scikit-image, as JPEG files in folders that are their labels: the first run shows them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from dali_lab.model.errors import DaliLabError

LONGER_SIDE = 560
_QUALITY = 92
PICTURES = {
    "animals": ("chelsea.png",),
    "food": ("coffee.png",),
    "garage": ("motorcycle_left.png",),
    "people": ("astronaut.png", "camera.png"),
    "sky": ("hubble_deep_field.jpg", "moon.png", "rocket.jpg"),
    "surfaces": ("brick.png", "grass.png", "gravel.png"),
    "tissue": ("ihc.png", "retina.jpg"),
}


def write(folder: Path) -> None:
    """Write the photographs into `folder`, at most :data:`LONGER_SIDE` pixels long.

    Raises
    ------
    DaliLabError
        If scikit-image's photographs are not installed, or cannot be read.
    """
    source = _photographs()
    written = sum(_write(source / name, folder / label) for label, names in PICTURES.items() for name in names)
    if not written:
        raise DaliLabError("scikit-image's photographs cannot be read; give a folder of your own with --data")


def _photographs() -> Path:
    spec = importlib.util.find_spec("skimage")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        folder = Path(place) / "data"
        if folder.is_dir():
            return folder
    raise DaliLabError(
        "the sample photographs come with scikit-image, which is not installed: pip install 'dali-lab[studio]', "
        "or give a folder of your own with --data"
    )


def _write(source: Path, folder: Path) -> bool:
    import cv2

    picture = cv2.imread(os.fspath(source), cv2.IMREAD_UNCHANGED)
    if picture is None:
        return False
    if picture.ndim == 3 and picture.shape[2] == 4:
        picture = picture[..., :3]
    height, width = picture.shape[:2]
    scale = LONGER_SIDE / max(height, width)
    if scale < 1:
        size = (round(width * scale), round(height * scale))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    folder.mkdir(exist_ok=True)
    name = source.stem.removesuffix("_left") + ".jpg"
    return bool(cv2.imwrite(os.fspath(folder / name), picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY]))
