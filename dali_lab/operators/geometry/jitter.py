"""Takes each pixel from a random place nearby."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch, rows_of
from dali_lab.operators.geometry.displacing import DISPLACING, Displacing
from dali_lab.schema import Call, ErrorCase, integer, register, samples


@register
class Jitter(Displacing):
    """Takes each pixel from a random place nearby.

    The offset along each axis is one of `nDegree` whole numbers, the least of them ``−(nDegree // 2)``; pixels beyond
    the edge are those of the edge. Places are whole, so that interpolation and `fill_value` never have an effect.
    """

    name = "jitter"
    random = True
    arguments = (
        integer(
            "nDegree",
            2,
            "Number of places along each axis that a pixel may come from.",
            minimum=1,
            important=True,
            slider=(None, 20),
        ),
        *DISPLACING,
    )
    example = ">>> fn.jitter(images, nDegree=5)"
    differs = "It runs on the CPU too, and draws the same places there as NVIDIA DALI does on a GPU."
    tested_elsewhere = "tests/unit/operators/test_jitter.py"

    def run(self, call: Call, data: Batch) -> Batch:
        chosen = self.chosen(call, data)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        call.kernels("noise").jitter(
            open_stream(call.generator, *self._indices(call)),
            data.addresses,
            out.addresses,
            data.shapes,
            self.value("nDegree"),
            chosen != 0,
            data.kind,
        )
        return out

    def _indices(self, call: Call) -> tuple[npt.NDArray[np.int64], ...]:
        """For each picture the index of its sample in the batch, and its frame number."""
        if call.repeat is None:
            return (call.indices,)
        owners, frames = rows_of(call.repeat)
        return owners + call.start, frames

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"nDegree": 0}, words=("nDegree", "at least 1"))
        yield ErrorCase((samples.pictures(dtype=np.uint16),), words=("UINT16", "UINT8"))
        yield ErrorCase((samples.planar(),), words=("CHW",))
