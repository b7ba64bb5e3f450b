"""The header of an encoded picture, in one form for all formats."""

from __future__ import annotations

from typing import NamedTuple


class ImageInfo(NamedTuple):
    """The header of an encoded picture.

    Attributes
    ----------
    height, width
        Size in pixels as stored, before its orientation is applied.
    channels
        Colour and alpha channels that the file holds; a palette counts as three.
    dtype
        ``uint8``, ``uint16``, ``int8``, ``int16``, ``uint32``, ``int32``, ``float32`` or ``float64``.
    format
        ``jpeg``, ``png``, ``bmp``, ``tiff``, ``webp``, ``jpeg2000`` or ``pnm``.
    orientation
        EXIF orientation from 1 (upright) to 8.
    bits
        Significant bits of a value, at most those of `dtype`.
    color
        ``gray``, ``inverse gray`` (TIFF with white as 0), ``rgb``, ``ycc``, ``palette``, ``cmyk`` or ``ycck``.
    gamma
        Of PNG, in hundred-thousandths: values are light to this power; 0 if the file does not say.
    progressive
        Whether a JPEG may come in many scans, each of which refines the whole picture.
    planar
        Whether a TIFF keeps its channels apart.
    significant
        Bits that mean something in the values of a PNG, 0 if the file does not say.
    """

    height: int
    width: int
    channels: int
    dtype: str
    format: str
    orientation: int = 1
    bits: int = 8
    color: str = "rgb"
    gamma: int = 0
    progressive: bool = False
    planar: bool = False
    significant: int = 0

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Height and width once the orientation is applied."""
        return (self.width, self.height) if self.orientation > 4 else (self.height, self.width)
