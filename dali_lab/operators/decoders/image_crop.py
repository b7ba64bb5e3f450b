"""Decodes a window of each picture, placed by size and position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import GRAY
from dali_lab.operators.decoders.image import DECODING, ImageDecoder, sample_files
from dali_lab.operators.geometry.windows import CROP, CROPPING, ROUNDING, crop_windows, within
from dali_lab.schema import Call, Case, ErrorCase, PerSample, register
from dali_lab.schema.arguments import MERGED
from dali_lab.schema.ports import Extent

_FLAT = {
    "crop": "Size of the window: height and width. Zero keeps an axis whole.",
    "crop_d": "No effect: pictures have no depth.",
    "crop_pos_z": "No effect: pictures have no depth.",
}


@register
class ImageCrop(ImageDecoder):
    """Decodes a window of each picture; only the window is decoded where the format allows it."""

    name = "decoders.image_crop"
    title = "Decode and crop"
    arguments = (*(replace(arg, doc=_FLAT.get(arg.name, arg.doc)) for arg in CROP), ROUNDING, *DECODING, MERGED)
    needs_sizes = True
    rules = CROPPING
    example = ">>> fn.decoders.image_crop(encoded, crop=[224, 224], crop_pos_x=0.5, crop_pos_y=0.5)"

    def extents(self) -> tuple[Extent, ...]:
        (whole,) = super().extents()
        assert whole.shape is not None
        both = self.values["crop"] or ()
        sizes = [*both] if len(both) == 2 else [self.values["crop_h"], self.values["crop_w"]]
        known = (round(size) if size else -1 for size in sizes)  # 0 takes the whole extent
        return (Extent((*known, whole.shape[2]), whole.dtype, whole.layout),)

    def regions(self, call: Call, sizes: npt.NDArray[np.int64], others: Sequence[Batch]) -> npt.NDArray[np.int64]:
        windows, _ = within(call, crop_windows(call, sizes, "HW"), sizes)
        return np.concatenate([windows.start, windows.start + windows.shape], axis=1)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        files = (sample_files(),)
        yield Case(files, {"crop": (20, 16)})
        yield Case(files, {"crop_h": 11.0, "crop_w": 13.0, "crop_pos_x": 0.13, "crop_pos_y": 0.77})
        yield Case(files, {"crop": (20, 16), "output_type": GRAY, "rounding": "truncate"})
        yield Case(files, {"crop": (15, 15), "crop_pos_x": PerSample.of(0, 0.3, 1)})
        yield Case(([file.view(np.int8)[None] for file in sample_files()],), {"crop": (20, 16)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((sample_files(),), {"crop": (200, 16)}, words=("sample 0", "leaves the sample"))
        yield ErrorCase((sample_files(),), {"crop": (20, 16), "crop_h": 5}, words=("crop_h",))
