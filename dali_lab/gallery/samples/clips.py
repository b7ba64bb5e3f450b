"""Short videos: a camera that moves over the sample photographs."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.gallery.samples import photographs
from dali_lab.model.errors import DaliLabError

SIZE = (320, 240)
"""Width and height of a frame."""

FRAMES = 50
RATE = 25


class _View(NamedTuple):
    """The camera's view: centre and width, as shares of the picture's width and height."""

    x: float
    y: float
    width: float


CLIPS = {
    "animals/chelsea.jpg": (_View(0.3, 0.45, 0.5), _View(0.62, 0.5, 0.62)),
    "food/coffee.jpg": (_View(0.5, 0.5, 0.95), _View(0.48, 0.35, 0.45)),
    "garage/motorcycle.jpg": (_View(0.3, 0.6, 0.5), _View(0.7, 0.65, 0.5)),
    "people/astronaut.jpg": (_View(0.45, 0.25, 0.4), _View(0.5, 0.55, 0.9)),
}
"""Photographs, with the views that a clip begins and ends with."""


def write(folder: Path) -> None:
    """Write the clips into folders that are their labels.

    Raises
    ------
    DaliLabError
        If PyAV is not installed.
    """
    try:
        import av
    except ImportError:
        raise DaliLabError("the sample videos are written by PyAV: pip install 'dali-lab[video]'") from None
    from PIL import Image

    root = photographs()
    for path, (first, last) in CLIPS.items():
        with Image.open(root / path) as file:
            picture = np.asarray(file.convert("RGB"))
        target = (folder / path).with_suffix(".mp4")
        target.parent.mkdir(exist_ok=True)
        with av.open(os.fspath(target), "w") as container:
            stream = container.add_stream("mpeg4", rate=Fraction(RATE))
            stream.width, stream.height = SIZE
            stream.pix_fmt = "yuv420p"
            stream.bit_rate = 1_500_000
            for number in range(FRAMES):
                # A camera speeds up and slows down.
                share = 0.5 - 0.5 * np.cos(np.pi * number / (FRAMES - 1))
                frame = _seen(
                    picture,
                    _View(*(a + (b - a) * share for a, b in zip(first, last, strict=True))),
                )
                for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                    container.mux(packet)
            for packet in stream.encode():
                container.mux(packet)


def _seen(picture: npt.NDArray[np.uint8], view: _View) -> npt.NDArray[np.uint8]:
    import cv2

    height, width = picture.shape[:2]
    across = view.width * width
    scale = SIZE[0] / across
    left, top = view.x * width - across / 2, view.y * height - SIZE[1] / scale / 2
    left = min(max(left, 0.0), width - across)
    top = min(max(top, 0.0), max(height - SIZE[1] / scale, 0.0))
    matrix = np.array([[scale, 0, -left * scale], [0, scale, -top * scale]], np.float64)
    seen = cv2.warpAffine(picture, matrix, SIZE, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT_101)
    return np.ascontiguousarray(seen, np.uint8)
