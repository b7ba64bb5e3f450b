"""Samples that entries read: photographs, some of them with boxes, points and masks; volumes; sounds; videos.

They are made once, in the user's cache folder.
"""

from __future__ import annotations

from pathlib import Path

from dali_lab.gallery.samples.making import made

__all__ = ["annotated", "photographs", "sounds", "videos", "volumes"]


def photographs() -> Path:
    """Photographs, in folders that are their labels."""
    return made("photographs-1", _copy_pictures)


def annotated() -> Path:
    """Four photographs with ``NAME.boxes.npy``, ``NAME.labels.npy``, ``NAME.points.npy`` and ``NAME.mask.png``.

    Boxes are left, top, right, bottom and points x, y, as shares of the size; masks hold class numbers.
    """
    from dali_lab.gallery.samples.annotations import write

    return made("annotated-1", write)


def volumes() -> Path:
    """Four volumes ``[depth, height, width, 1]``, bytes, of ellipsoids as in a scan of a head."""
    from dali_lab.gallery.samples.phantoms import write

    return made("volumes-1", write)


def sounds() -> Path:
    """Four sounds of a second and a half, 16 kHz, of vowels that follow each other."""
    from dali_lab.gallery.samples.vowels import write

    return made("sounds-1", write)


def videos() -> Path:
    """Four videos of two seconds, 25 frames a second, 320 x 240: a camera that moves over sample photographs.

    Raises
    ------
    DaliLabError
        If PyAV, which writes them, is not installed.
    """
    from dali_lab.gallery.samples.clips import write

    return made("videos-1", write)


def _copy_pictures(folder: Path) -> None:
    for path in Path(__file__).with_name("pictures").glob("*/*.jpg"):
        target = folder / path.parent.name / path.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
