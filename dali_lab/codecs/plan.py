"""The one decision about decoding: from the header of a picture to the libraries that decode it, in their order.

Pixels equal those that NVIDIA DALI 2.4 decodes on the CPU, and no damaged file may end the process: nvImageCodec's PNG
decoder crashes on some, so PNG goes to imagecodecs. Pillow decodes where the extra "images" is not installed. A library
that refuses a picture leaves it to the next one of its route, and the last one's reason is told.
"""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import convert
from dali_lab.codecs.headers import Header, Headers
from dali_lab.kernels.cpu.header_table import BMP, HEIGHT, JPEG, JPEG2000, KIND, PALETTE, PNM, RGB, TIFF, WIDTH

Route = tuple[tuple[str, ...], ...]
"""Names of backends in the order in which they try a picture; of those in one tuple, the first that is installed."""

#: Pictures whose header gives more pixels than this are refused.
MAX_PIXELS = int(os.environ.get("DALI_LAB_MAX_IMAGE_PIXELS", 1 << 28))
_SMALL = 1 << 15
"""Pixels up to which simplejpeg decodes a whole picture sooner than nvImageCodec a region of it."""

LIBJPEG: tuple[str, ...] = ("libjpeg",)
GPU: tuple[str, ...] = ("nvimgcodec_gpu",)
_IN_COLOR: Route = (("nvimgcodec", "pillow"),)
_AS_STORED: Route = (("imagecodecs", "pillow"),)


class Wanted(NamedTuple):
    """The colours, type and orientation that a decoder is asked for.

    Attributes
    ----------
    output_type
        ``RGB``, ``BGR``, ``GRAY``, ``YCbCr`` or ``ANY_DATA`` (the file's own channels, alpha included).
    dtype
        Of the result; values are scaled to its range, real numbers to 0 to 1.
    adjust_orientation
        Whether to turn pictures as their EXIF orientation says.
    use_fast_idct
        Whether JPEG uses libjpeg-turbo's faster, less exact inverse transform; not for pictures that kernels turn.
    on_gpu
        Whether a GPU is to decode what it can.
    max_pixels
        Larger pictures are refused.
    """

    output_type: str = "RGB"
    dtype: np.dtype[Any] = np.dtype(np.uint8)
    adjust_orientation: bool = True
    use_fast_idct: bool = False
    on_gpu: bool = False
    max_pixels: int = MAX_PIXELS

    @property
    def colors(self) -> str:
        """The colours to decode to: YCbCr is made of RGB."""
        return "RGB" if self.output_type == "YCbCr" else self.output_type

    @property
    def direct(self) -> bool:
        """Whether decoded bytes are the result, without conversion."""
        return self.dtype == np.uint8 and self.output_type != "YCbCr"


def plan(headers: Headers, wanted: Wanted, cut: npt.NDArray[np.bool_] | bool = False) -> list[Route]:
    """The route of each picture of a chunk; `cut` tells of which only a region is wanted, ``bool[N]`` or for all."""
    table = headers.table
    # New pages for a large picture cost more than simplejpeg saves, and nvImageCodec keeps its own.
    in_part = (table[:, HEIGHT] * table[:, WIDTH] > _SMALL) & (cut | (not wanted.direct))
    if len(table) and bool((table[:, KIND] == table[0, KIND]).all() and (in_part == in_part[0]).all()):
        return [_known_route(tuple(table[0, KIND].tolist()), wanted, bool(in_part[0]))] * len(table)
    kinds = table[:, KIND].tolist()
    return [_known_route(tuple(kind), wanted, part) for kind, part in zip(kinds, in_part.tolist(), strict=True)]


@functools.lru_cache(maxsize=4096)
def _known_route(kind: tuple[int, ...], wanted: Wanted, in_part: bool) -> Route:
    return route(Header(*kind), wanted, in_part=in_part)


def route(header: Header, wanted: Wanted, *, in_part: bool = False) -> Route:
    """The backends of a picture.

    Parameters
    ----------
    header
        Its size has no influence.
    wanted
        Colours, type and orientation to decode to.
    in_part
        Whether a library that decodes regions is better than a faster one that decodes whole pictures alone.
    """
    if not header.format:
        return ()
    steps = _steps(header, wanted, in_part)
    return (GPU, *steps) if wanted.on_gpu and _on_gpu(header, wanted) else steps


def _steps(header: Header, wanted: Wanted, in_part: bool) -> Route:
    rows: Route = (("rasters",),) if header.pixel and wanted.direct and not _weighs_light(header, wanted) else ()
    if header.format == JPEG:
        return _jpeg(header, wanted, in_part)
    if header.format == BMP:
        return rows + _IN_COLOR
    if header.format == PNM:
        return (*rows, ("pnm",))
    if header.format == TIFF:
        first: Route = (("nvimgcodec",),) if _reads_tiff(header, wanted) else ()
        # imagecodecs gives the numbers of a palette, not its colours.
        return first + ((("pillow",),) if header.color == PALETTE else _AS_STORED)
    return rows + _AS_STORED


def _jpeg(header: Header, wanted: Wanted, in_part: bool) -> Route:
    upright = header.orientation == 1 or not wanted.adjust_orientation
    steps: Route = ()
    if header.bits == 8 and header.channels in (1, 3):
        if wanted.direct and (upright or header.turnable):
            steps += (LIBJPEG,)
        if upright and in_part:
            return (*steps, ("nvimgcodec", "simplejpeg"))
        if upright:
            steps += (("simplejpeg",),)
    if header.bits == 8 and wanted.colors != "ANY_DATA":
        return steps + _IN_COLOR
    if header.channels == 2 or (header.channels == 4 and wanted.colors == "ANY_DATA"):
        return steps + _AS_STORED
    return (*steps, ("nvimgcodec",), *_AS_STORED)


def _reads_tiff(header: Header, wanted: Wanted) -> bool:
    """Whether nvImageCodec gives the pixels of NVIDIA DALI for a TIFF."""
    if header.planar and header.bits != 8:
        # It takes their rows for those of all channels.
        return False
    with_alpha = wanted.colors == "ANY_DATA" and header.channels == 4 and header.color == RGB
    return header.channels != 2 and not with_alpha


def _weighs_light(header: Header, wanted: Wanted) -> bool:
    """Whether grey is made of colours whose gamma is known, which libpng does by weighing light."""
    curved = header.gamma and not convert.STRAIGHT[0] <= header.gamma <= convert.STRAIGHT[1]
    return bool(curved) and header.channels > 2 and wanted.colors == "GRAY"


def _on_gpu(header: Header, wanted: Wanted) -> bool:
    """Whether a GPU decodes a picture: all others are known to need the CPU before any work is sent there."""
    if not wanted.direct or wanted.output_type == "ANY_DATA" or header.bits != 8:
        return False
    return header.format in (JPEG, JPEG2000) or (header.format == TIFF and _reads_tiff(header, wanted))
