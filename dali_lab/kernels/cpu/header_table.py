"""The header of an encoded picture, in one form for all formats: a row of a table that kernels and parsers fill."""

from __future__ import annotations

from typing import NamedTuple

TITLES = ("", "PNG", "BMP", "PNM", "JPEG", "TIFF", "WebP", "JPEG 2000")
"""Names of the formats, as people write them."""
PNG, BMP, PNM, JPEG, TIFF, WEBP, JPEG2000 = range(1, len(TITLES))
RGB, GRAY, INVERSE_GRAY, PALETTE, CMYK, YCC, RGBX = range(7)
"""Colours in TIFF and BMP: `INVERSE_GRAY` has white as 0, `RGBX` has bits without a meaning after the colours."""


class Header(NamedTuple):
    """The header of a picture; a chunk has a table of them, ``int64[N, COLUMNS]``.

    Attributes
    ----------
    format
        :data:`PNG`, :data:`BMP`, :data:`PNM`, :data:`JPEG`, :data:`TIFF`, :data:`WEBP` or :data:`JPEG2000`; 0 where the
        header could not be read.
    channels
        Colour and alpha channels that the file holds; a palette counts as three, in BMP as one if it is of greys.
    bits
        Significant bits of a value.
    orientation
        As EXIF counts, 1 (upright) to 8.
    color
        :data:`RGB` to :data:`RGBX`, of TIFF and BMP.
    gamma
        Of PNG, in hundred-thousandths: values are light to this power; 0 if the file does not say.
    planar
        1 for a TIFF that keeps its channels apart.
    turnable
        1 for a JPEG that is not upright, where all readers of EXIF agree about it.
    pixel
        Bytes of a pixel in PNG, BMP and PNM that kernels decode row by row; 0 for all other files.
    height, width
        Size in pixels as stored, before the orientation is applied.
    significant
        Bits that mean something in the values of a PNG; 0 if the file does not say.
    progressive
        1 for a JPEG that may come in many scans, each of which refines the whole picture.
    start, pitch, entries
        Where `pixel` is not 0: where the first row begins (in PNG: the palette), bytes from a row to that below it,
        and entries of the palette.
    unended
        1 for a JPEG whose last bytes are no end: it is cut short, or has something behind it.
    """

    format: int
    channels: int
    bits: int = 8
    orientation: int = 1
    color: int = RGB
    gamma: int = 0
    planar: int = 0
    turnable: int = 0
    pixel: int = 0
    height: int = 0
    width: int = 0
    significant: int = 0
    progressive: int = 0
    start: int = 0
    pitch: int = 0
    entries: int = 0
    unended: int = 0

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Height and width once the orientation is applied."""
        return (self.width, self.height) if self.orientation > 4 else (self.height, self.width)


COLUMNS = len(Header._fields)
(
    FORMAT, CHANNELS, BITS, ORIENTATION, COLOR, GAMMA, PLANAR, TURNABLE, PIXEL, HEIGHT, WIDTH, SIGNIFICANT, PROGRESSIVE,
    START, PITCH, ENTRIES, UNENDED,
) = range(COLUMNS)  # fmt: skip
KIND = slice(FORMAT, HEIGHT)
"""Columns that tell which libraries decode a picture."""
