"""Pictures of a chunk that are to be decoded, and how their pixels get to where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import convert
from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import Header, Headers
from dali_lab.codecs.plan import Wanted, plan
from dali_lab.kernels.cpu.header_table import CHANNELS
from dali_lab.model import buffers
from dali_lab.model.batch import Batch

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[np.int64]

_MAX_CHANNELS = 64


class Job:
    """Pictures of a chunk, what is wanted of them, and where their pixels go.

    Parameters
    ----------
    data
        Encoded pictures, one-dimensional UINT8, of any mixture of formats.
    headers
        Theirs, from :func:`~dali_lab.codecs.headers.read_headers`.
    wanted
        Colours, type and orientation to decode to.
    windows
        Regions ``(y0, x0, y1, x1)``, half-open and within the picture as displayed (without `adjust_orientation`: as
        stored), ``int64[N, 4]``; whole pictures if not given.

    Attributes
    ----------
    shapes
        ``int64[N, 3]``: of the results; zeros for pictures that are refused.
    routes
        From :func:`~dali_lab.codecs.plan.plan`; of `empty` ones none.
    empty
        Pictures of which a region without pixels is wanted, by index: nothing is decoded.
    refused
        Why pictures are not to be decoded at all, by index.
    failures
        What backends said of pictures that they could not decode, by index.
    out
        The results, from :func:`~dali_lab.codecs.decoding.decode`.
    """

    out: Batch

    def __init__(self, data: Batch, headers: Headers, wanted: Wanted, windows: Table | None = None) -> None:
        self.data, self.headers, self.wanted = data, headers, wanted
        extents = headers.sizes(wanted.adjust_orientation)
        whole = np.concatenate([np.zeros_like(extents), extents], axis=1)
        self.windows = whole if windows is None else windows
        self.cut: Mask | bool = False if windows is None else (windows != whole).any(axis=1)
        self.routes = plan(headers, wanted, self.cut)
        stored = headers.table[:, CHANNELS]
        fixed = {"GRAY": 1, "ANY_DATA": 0}.get(wanted.output_type, 3)
        channels = np.full(len(data), fixed) if fixed else stored
        self.shapes = np.concatenate([self.windows[:, 2:] - self.windows[:, :2], channels[:, None]], axis=1)
        self.empty: list[int] = []
        self.refused: dict[int, CodecError] = {}
        self.failures: dict[int, CodecError] = {}
        # Products of sizes may have too many bits.
        good = (
            (extents[:, 0] <= wanted.max_pixels // np.maximum(extents[:, 1], 1))
            & (stored > 0)
            & (stored <= _MAX_CHANNELS)
        )
        if windows is not None:
            inside = (windows[:, :2] >= 0) & (windows[:, :2] <= windows[:, 2:]) & (windows[:, 2:] <= extents)
            good &= inside.all(axis=1)
            self.empty = np.flatnonzero((windows[:, :2] == windows[:, 2:]).any(axis=1)).tolist()
            for index in self.empty:
                self.routes[index] = ()
        for index in np.flatnonzero(~good).tolist():
            self.refused[index] = headers.problems.get(index) or self._refusal(index)
            self.shapes[index] = 0

    def __len__(self) -> int:
        return len(self.data)

    def _refusal(self, index: int) -> CodecError:
        header, limit = self.headers[index], self.wanted.max_pixels
        if header.height * header.width > limit:
            return CodecError(
                f"{header.height} x {header.width} pixels are more than the limit of {limit} "
                "(max_pixels, or the environment variable DALI_LAB_MAX_IMAGE_PIXELS)"
            )
        if not 1 <= header.channels <= _MAX_CHANNELS:
            return CodecError(f"{header.channels} channels are not supported, only 1 to {_MAX_CHANNELS}")
        height, width = self.extent(header)
        y0, x0, y1, x1 = self.windows[index].tolist()
        return CodecError(f"region ({y0}, {x0}) to ({y1}, {x1}) is not inside the picture of {height} x {width}")

    def extent(self, header: Header) -> tuple[int, int]:
        """Height and width of a picture in the coordinates of windows."""
        return header.displayed_size if self.wanted.adjust_orientation else (header.height, header.width)

    def color(self, index: int) -> str:
        """``RGB``, ``BGR`` or ``GRAY`` for a picture of one or three channels, also where ``ANY_DATA`` is wanted."""
        color = self.wanted.colors
        return ("GRAY" if self.shapes[index, 2] == 1 else "RGB") if color == "ANY_DATA" else color

    def region(self, index: int) -> tuple[int, int, int, int] | None:
        """The window of a picture, `None` where it is all of it."""
        is_cut = self.cut if isinstance(self.cut, bool) else self.cut[index]
        return tuple(self.windows[index].tolist()) if is_cut else None

    def as_stored(self, index: int, array: Array, *, upright: bool = False, colored: bool = False) -> None:
        """Take a whole picture as it is stored: HW or HWC at its own depth, before its orientation is applied.

        `upright` says that the orientation has been applied, `colored` that the colours are those that are wanted.
        """
        header = self.headers[index]
        if array.ndim == 2:
            array = array[..., None]
        size = header.displayed_size if upright else (header.height, header.width)
        if array.shape[:2] != size:
            raise CodecError(f"its header says {_by(size)}, but it holds {_by(array.shape[:2])}")
        if self.wanted.adjust_orientation and not upright:
            array = convert.upright(array, header.orientation)
        array = self.cropped(index, array)
        if not colored:
            # Transparency by palette or by key colour is left alone, as NVIDIA DALI does.
            array = convert.to_colors(array[..., : header.channels], self.wanted.colors, header)
        self.as_displayed(index, array)

    def cropped(self, index: int, array: Array) -> Array:
        """The window of a picture that has been decoded as a whole."""
        y0, x0, y1, x1 = self.windows[index].tolist()
        return array[y0:y1, x0:x1]

    def as_displayed(self, index: int, array: Array) -> None:
        """Take the window of a picture, HWC at its own depth in the colours that are wanted."""
        out = self.out.array(index)
        if array.shape != out.shape:
            if array.shape[:2] != out.shape[:2] and self.region(index) is not None:
                raise CodecError(f"its header says {_by(out.shape)}, but it holds {_by(array.shape)}")
            # Libraries differ about TIFF in CMYK (as it is, or RGB) and about JPEG with damaged EXIF (turned, or not):
            # such a picture gets memory of its own.
            out = buffers.empty(array.shape, self.wanted.dtype)
            addresses, shapes = self.out.addresses.copy(), self.out.shapes.copy()
            addresses[index], shapes[index] = out.ctypes.data, out.shape
            self.out = Batch(addresses, shapes, self.out.dtype, "HWC", (*self.out.owners, out))
        if not np.may_share_memory(array, out):
            out[...] = convert.to_dtype(array, self.wanted.output_type, self.wanted.dtype)

    def each(self, which: Sequence[int], decode_one: Callable[[int], None]) -> list[int]:
        """Decode pictures one by one; those that are left, with the reasons in `failures`."""
        left = []
        for index in which:
            try:
                decode_one(index)
            except (CodecError, MemoryError) as error:
                self.failures[index] = error if isinstance(error, CodecError) else CodecError("out of memory")
                left.append(index)
        return left


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
