"""Decodes a region of each picture, given by its coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.operators.decoders.image import DECODING, ENCODED, ImageDecoder, sample_files
from dali_lab.operators.geometry.windows import BOUNDS, SLICE, SLICING, slice_windows, within
from dali_lab.schema import Call, Case, ErrorCase, Input, register
from dali_lab.schema.arguments import MERGED


@register
class ImageSlice(ImageDecoder):
    """Decodes a region of each picture; only the region is decoded where the format allows it.

    The region is given by the inputs `anchor` and `shape`, or by the arguments `start`, `end`, `shape` and their
    relative forms.
    """

    name = "decoders.image_slice"
    title = "Decode and slice"
    inputs = (
        ENCODED,
        Input(
            "anchor", kind="tensor", doc="Start of the region, in the order of `axes`.", optional=True, replaces=BOUNDS
        ),
        Input("shape", kind="tensor", doc="Extent of the region.", optional=True),
    )
    arguments = (*SLICE, *DECODING, MERGED)
    needs_sizes = True
    rules = SLICING
    example = '>>> fn.decoders.image_slice(encoded, rel_start=[0.25, 0.25], rel_end=[0.75, 0.75], axis_names="HW")'

    def regions(self, call: Call, sizes: npt.NDArray[np.int64], others: Sequence[Batch]) -> npt.NDArray[np.int64]:
        windows, _ = within(call, slice_windows(call, sizes, "HW", *others), sizes)
        return np.concatenate([windows.start, windows.start + windows.shape], axis=1)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        files = sample_files()
        yield Case((files,), {"start": (3, 5), "shape": (12, 14)})
        yield Case((files,), {"rel_start": (0.1, 0.3), "rel_end": (0.55, 0.81)})
        yield Case((files,), {"start": (4,), "end": (17,), "axes": (0,)})
        yield Case((files,), {"rel_shape": (0.4, 0.4), "axis_names": "HW"})
        anchors = [np.array(row, np.float32) for row in ((0.1, 0.2), (0.0, 0.0), (0.33, 0.41))]
        shapes = [np.array(row, np.float32) for row in ((0.5, 0.5), (1.0, 0.25), (0.37, 0.52))]
        yield Case((files, anchors, shapes))
        yield Case(([file.view(np.int8)[None] for file in sample_files()],), {"start": (3, 5), "shape": (12, 14)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((sample_files(),), {"start": (0, 0), "shape": (500, 5)}, words=("leaves the sample",))
        yield ErrorCase((sample_files(),), {"start": (0, 0), "rel_start": (0, 0)}, words=("rel_start",))
