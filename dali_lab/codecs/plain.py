"""Decodes the plain pictures of a chunk by one call per format: whole, in part, or (JPEG) turned by EXIF."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import convert, libjpeg, rasters
from dali_lab.codecs.headers import Headers, ImageInfo, displayed
from dali_lab.codecs.headers.jpeg_chunk import read_orientations

Table = npt.NDArray[np.int64]


def is_plain(info: ImageInfo) -> bool:
    """Whether it is a JPEG picture with 8 bits and one or three channels."""
    return info.format == "jpeg" and info.channels in (1, 3) and info.bits == 8


def color_of(output_type: str, info: ImageInfo) -> str:
    """``RGB``, ``BGR`` or ``GRAY`` for an `output_type`, which may be ``ANY_DATA``, of a plain picture."""
    if output_type == "ANY_DATA":
        return "GRAY" if info.channels == 1 else "RGB"
    return output_type


def decode_plain(
    headers: Headers,
    addresses: Table,
    lengths: Table,
    output_type: str,
    allocate: Callable[[Table], Table],
    *,
    windows: Table | None = None,
    adjust_orientation: bool = True,
    use_fast_idct: bool = False,
    max_pixels: int,
    only: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.bool_]:
    """Decode those pictures of a chunk that are plain, in the calling thread without the GIL.

    Plain are JPEG with 8 bits and one or three channels; PNG with 8 bits, neither interlaced nor with an orientation;
    BMP of 24 bits or with a palette of 8; and binary PGM and PPM of 8 bits.

    Parameters
    ----------
    headers
        Headers of the pictures, from :func:`~dali_lab.codecs.headers.read_headers`.
    addresses, lengths
        ``int64[N]``: where their bytes are.
    output_type
        ``RGB``, ``BGR``, ``GRAY`` or ``ANY_DATA``; of others nothing is decoded.
    allocate
        Takes the shapes of the results, ``int64[N, 3]``, and gives the addresses of their memory, ``int64[N]``. Shapes
        of pictures that are not plain have zeros. It is not called where none is plain.
    windows
        For each picture ``(y0, x0, y1, x1)`` within it as displayed (with `adjust_orientation` false: as stored),
        ``int64[N, 4]``.
    adjust_orientation
        Whether to turn pictures as their EXIF orientation says.
    use_fast_idct
        Use libjpeg-turbo's faster, less exact inverse transform, except for pictures that are turned.
    max_pixels
        Larger pictures are left out.
    only
        ``bool[N]``: pictures to decode, if not all.

    Returns
    -------
    numpy.ndarray
        ``bool[N]``: which pictures are decoded. The others are not plain or are damaged:
        :func:`~dali_lab.codecs.image.decode` decodes them or says why not.
    """
    done = np.zeros(len(headers), np.bool_)
    if output_type not in ("RGB", "BGR", "GRAY", "ANY_DATA"):
        return done
    stored = headers.rasters[:, 0] != 0
    sizes = headers.sizes
    orientations = headers.orientations if adjust_orientation else np.ones(len(headers), np.int64)
    plain = (headers.channels > 0) & (sizes[:, 0] * sizes[:, 1] <= max_pixels)
    if output_type == "GRAY":
        # Colours whose gamma is known are weighed as light, which is done elsewhere.
        gamma = headers.rasters[:, rasters.GAMMA]
        straight = (gamma == 0) | ((gamma >= convert.STRAIGHT[0]) & (gamma <= convert.STRAIGHT[1]))
        plain &= straight | (headers.channels < 3)
    if not libjpeg.available():
        plain &= stored
    turned = np.flatnonzero(plain & (orientations > 1))
    if len(turned):
        plain[turned] &= read_orientations(addresses[turned], lengths[turned]) == orientations[turned]
    boxes = _whole(sizes, orientations) if windows is None else windows
    chosen = plain if windows is None else plain & _are_inside(windows, sizes, orientations)
    if only is not None:
        chosen = chosen & only
    if not chosen.any():
        return done
    channels = headers.channels if output_type == "ANY_DATA" else np.full(len(sizes), 1 if output_type == "GRAY" else 3)
    shapes = np.concatenate([boxes[:, 2:] - boxes[:, :2], channels[:, None]], axis=1)
    shapes[~chosen] = 0
    outs = allocate(shapes)
    which = np.flatnonzero(chosen & ~stored)
    if len(which):
        done[which] = libjpeg.decode(
            addresses[which],
            lengths[which],
            np.concatenate([sizes[which], channels[which, None]], axis=1),
            _colors(output_type, channels[which]),
            outs[which],
            windows=as_stored(boxes[which], sizes[which], orientations[which]),
            orientations=orientations[which],
            use_fast_idct=use_fast_idct,
        )
    which = np.flatnonzero(chosen & stored)
    if len(which):
        done[which] = rasters.decode(
            addresses[which], lengths[which], headers.rasters[which], boxes[which], output_type, outs[which]
        )
    return done


def upright_windows(
    headers: Headers,
    output_type: str,
    *,
    windows: Table | None = None,
    adjust_orientation: bool = True,
    max_pixels: int,
) -> tuple[Table, Table] | None:
    """The region of each picture to decode, if one kernel for upright JPEG can decode the whole chunk.

    Arguments are those of :func:`decode_plain`.

    Returns
    -------
    tuple of numpy.ndarray or None
        Shapes as stored, with the channels of the result, ``int64[N, 3]``, and windows, ``int64[N, 4]``. `None` where
        a picture is not plain JPEG, is to be turned, leaves its bounds or has other channels than RGB or BGR.
    """
    if output_type not in ("RGB", "BGR") or not libjpeg.available():
        return None
    sizes = headers.sizes
    if headers.rasters[:, 0].any() or (adjust_orientation and not (headers.orientations == 1).all()):
        return None
    if not headers.channels.all() or (sizes[:, 0] * sizes[:, 1]).max(initial=0) > max_pixels:
        return None
    upright = np.ones(len(sizes), np.int64)
    if windows is None:
        windows = _whole(sizes, upright)
    elif not _are_inside(windows, sizes, upright).all():
        return None
    return np.concatenate([sizes, np.full((len(sizes), 1), 3)], axis=1), windows


def _colors(output_type: str, channels: Table) -> list[str]:
    if output_type != "ANY_DATA":
        return [output_type] * len(channels)
    return ["GRAY" if count == 1 else "RGB" for count in channels.tolist()]


def as_stored(windows: Table, sizes: Table, orientations: Table) -> Table:
    """Windows of pictures as displayed, in the pictures as stored.

    Parameters
    ----------
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)``.
    sizes
        ``int64[N, 2]``: height and width as stored.
    orientations
        ``int64[N]``: as EXIF counts, 1 to 8.
    """
    if (orientations == 1).all():
        return windows
    extents = displayed(sizes, orientations)
    rows, columns = windows[:, 0::2], windows[:, 1::2]
    flipped = np.isin(orientations, (3, 4, 7, 8))[:, None]
    rows = np.where(flipped, extents[:, :1] - rows[:, ::-1], rows)
    flipped = np.isin(orientations, (2, 3, 6, 7))[:, None]
    columns = np.where(flipped, extents[:, 1:] - columns[:, ::-1], columns)
    turned = (orientations > 4)[:, None]
    rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    return np.stack([rows, columns], axis=2).reshape(-1, 4)


def _whole(sizes: Table, orientations: Table) -> Table:
    extents = displayed(sizes, orientations)
    return np.concatenate([np.zeros_like(extents), extents], axis=1)


def _are_inside(windows: Table, sizes: Table, orientations: Table) -> npt.NDArray[np.bool_]:
    """Mask of the windows that are not empty and lie within their picture."""
    low, high = windows[:, :2], windows[:, 2:]
    good: npt.NDArray[np.bool_] = (low >= 0) & (low < high) & (high <= displayed(sizes, orientations))
    return np.asarray(good.all(axis=1))
