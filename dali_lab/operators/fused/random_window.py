"""The decoder of random windows cut in two: whole pictures, which a cache may keep, and windows out of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends import libjpeg
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import DaliLabError
from dali_lab.model.undecoded import PIXELS, Undecoded
from dali_lab.operators.decoders.image import DECODING, ENCODED, ImageDecoder
from dali_lab.operators.decoders.image_random_crop import RANDOM_WINDOW, ImageRandomCrop, random_windows
from dali_lab.operators.fused.parts import STANDS_FOR, naming_in_errors
from dali_lab.schema import Call, Case, ErrorCase, Input, Output, register


@register
class WholePicture(ImageDecoder):
    """Decodes pictures whole; of one that cannot be, it gives the bytes, as some of its windows may decode."""

    name = "_whole_picture"
    schema_name = "_WholePicture"
    family = "decoders"
    hidden = True
    beyond_dali = True
    defers = False
    tested_elsewhere = "tests/unit/pipeline/caching/test_same_batches.py"
    arguments = (*DECODING, STANDS_FOR)
    outputs = (
        Output("images", layout="HWC", doc="Whole pictures, empty where one cannot be decoded."),
        Output("rest", doc="The bytes of pictures that cannot be decoded whole."),
    )

    def run(self, call: Call, *inputs: Batch) -> tuple[Batch, Batch]:  # type: ignore[override]
        data = inputs[0]
        inner = dataclasses.replace(call, lost={}, stand_ins={}, defer=False, place=None)
        with naming_in_errors(self.value("stands_for"), ImageRandomCrop.name):
            images = super().run(inner, data)
        assert inner.lost is not None
        lost = np.array([row - call.start for row in inner.lost], np.int64)
        shapes = images.shapes.copy()
        shapes[lost, :2] = 0
        left = np.zeros((len(data), 1), np.int64)
        left[lost, 0] = data.sizes[lost]
        rest = Batch(data.addresses, left, UINT8, "", data.owners, data.sources)
        return images.replaced(shapes=shapes), rest


@register
class RandomWindow(ImageRandomCrop):
    """Cuts random windows out of whole pictures, and decodes those of pictures that cannot be decoded whole."""

    name = "_random_window"
    schema_name = "_RandomWindow"
    hidden = True
    beyond_dali = True
    devices = ("cpu",)
    decodes = False
    tested_elsewhere = "tests/unit/pipeline/caching/test_same_batches.py"
    arguments = (*RANDOM_WINDOW, *DECODING)
    inputs = (Input("images", layouts=("HWC",), doc="Whole pictures."), dataclasses.replace(ENCODED, name="rest"))

    @classmethod
    def decoded_whole(cls) -> tuple[str, str] | None:
        return None

    @classmethod
    def cases(cls) -> Iterable[Case]:
        return ()

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        return ()

    def run(self, call: Call, *inputs: Batch) -> Batch:
        images, rest = inputs
        with naming_in_errors("", ImageRandomCrop.name):
            if rest.shapes.any():
                return self._partly_decoded(call, images, rest)
            windows = random_windows(call, images.shapes[:, :2])
            pixels = images.dtype == UINT8 and bool((images.shapes[:, 2] == 3).all())
            if call.defer and pixels and libjpeg.available():
                return _uncut(call, images, windows)
            start, shapes = np.zeros_like(images.shapes), images.shapes.copy()
            start[:, :2] = windows[:, :2]
            shapes[:, :2] = windows[:, 2:] - windows[:, :2]
            return _cut(images, start, shapes, call.allocate(shapes, images.dtype, images.layout))

    def _partly_decoded(self, call: Call, images: Batch, rest: Batch) -> Batch:
        """The windows one by one, of pictures that are there and of bytes."""
        found = []
        for index in range(call.count):
            here = slice(index, index + 1)
            rows = None if call.rows is None else call.rows[here]
            alone = dataclasses.replace(
                call, start=call.start + index, count=1, place=None, rows=rows, sources=None, defer=False
            )
            one = rest.take(here)
            if not one.shapes.any():
                found.append(self.run(alone, images.take(here), one))
                continue
            lost: dict[int, DaliLabError] = {}
            if call.lost is not None:
                alone.lost = lost  # type: ignore[assignment]
            found.append(super().run(alone, one))
            for error in lost.values():
                error.operator = ImageRandomCrop.name
                call.lose(error)
        return Batch.concat(found)


def _cut(images: Batch, start: npt.NDArray[np.int64], shapes: npt.NDArray[np.int64], out: Batch) -> Batch:
    """Copy windows of pictures into a batch."""
    from dali_lab.kernels.cpu import copy

    copy.copy_window(images.addresses, out.addresses, images.shapes, start, shapes, images.itemsize)
    return out


def _uncut(call: Call, images: Batch, windows: npt.NDArray[np.int64]) -> Batch:
    """Windows that the consumer cuts out."""
    shapes = np.concatenate([windows[:, 2:] - windows[:, :2], images.shapes[:, 2:]], axis=1)

    def cut(wanted: npt.NDArray[np.bool_]) -> Batch:
        extent = np.where(wanted[:, None], shapes, 0)
        start = np.zeros_like(extent)
        start[:, :2] = windows[:, :2]
        return _cut(images, start, extent, Batch.allocate(extent, UINT8, "HWC", images.sources))

    lengths = np.full(len(images), PIXELS, np.int64)
    batch = Batch(np.zeros(len(images), np.int64), shapes, UINT8, "HWC", images.owners, images.sources)
    batch.undecoded = Undecoded(images.addresses, lengths, images.shapes, windows, "RGB", False, cut)
    return batch
