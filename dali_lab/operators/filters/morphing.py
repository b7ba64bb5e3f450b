"""What dilation and erosion share: arguments, borders, the run through OpenCV."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.operators.filters.pictures import LAYOUTS, each
from dali_lab.schema import Arg, Call, ErrorCase, Input, Operator, Output, samples
from dali_lab.types import FLOAT, INT16, UINT8, UINT16

DTYPES = (UINT8, UINT16, INT16, FLOAT)
BORDERS = {"constant": 0, "replicate": 1, "reflect": 2, "wrap": 3, "reflect_101": 4}
MORPHING = (
    Arg(
        "mask_size",
        "int",
        (3, 3),
        "Width and height of the neighbourhood.",
        vector=True,
        length=2,
        tensor=True,
        per_frame=True,
        unit="px",
        minimum=1,
        soft_maximum=31,
        important=True,
    ),
    Arg(
        "anchor",
        "int",
        (-1, -1),
        "Which column and row of the neighbourhood lie on the result's place; −1 is the middle.",
        vector=True,
        length=2,
        tensor=True,
        per_frame=True,
        minimum=-1,
    ),
    Arg("iterations", "int", 1, "How many times it is done.", minimum=0, soft_maximum=10, important=True),
    Arg(
        "border_mode",
        "string",
        "constant",
        "What is outside: nothing that counts, the edge repeated, the image mirrored with its edge or without it, or"
        " the image repeated.",
        choices=tuple(BORDERS),
    ),
)


class Morphing(Operator):
    """Dilation and erosion."""

    family = "filters"
    inputs = (Input("data", layouts=LAYOUTS, doc="Images or sequences of UINT8, UINT16, INT16 or FLOAT."),)
    outputs = (Output("data"),)
    devices = ("cpu", "gpu")
    frames = True
    on_gpu = True
    arguments = MORPHING
    differs = "It runs on the CPU too; INT16 and any number of channels are taken."
    tested_elsewhere = "tests/unit/operators/test_morphology.py"
    function: ClassVar[str] = ""

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype not in DTYPES:
            raise call.problem(f"takes {', '.join(dtype.name for dtype in DTYPES)}, got {data.dtype.name}")
        sizes = call.vectors("mask_size", 2, np.int64)
        anchors = call.vectors("anchor", 2, np.int64)
        for name, wrong, table in (
            ("mask_size", sizes < 1, sizes),
            ("anchor", (anchors < -1) | (anchors >= sizes), anchors),
        ):
            if wrong.any():
                index = int(wrong.any(axis=1).argmax())
                message = "is not positive" if name == "mask_size" else f"lies outside the mask {sizes[index].tolist()}"
                raise call.problem(f"{table[index].tolist()} {message}", argument=name, sample=index)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        if call.gpu is None:
            self._by_opencv(call, data, out, sizes, anchors)
        else:
            # Doing it several times is the same as doing it once with a larger mask.
            times = self.value("iterations")
            middles = np.where(anchors < 0, sizes // 2, anchors)
            call.kernels("morphology").extremes(
                data, out, (sizes - 1) * times + 1, middles * times,
                greatest=self.function == "dilate", border=self.value("border_mode"),
            )  # fmt: skip
        return out

    def _by_opencv(
        self, call: Call, data: Batch, out: Batch, sizes: npt.NDArray[np.int64], anchors: npt.NDArray[np.int64]
    ) -> None:
        from dali_lab.codecs.opencv import module

        morph = getattr(module(), self.function)
        times = self.value("iterations")
        border = self.value("border_mode")
        code = BORDERS[border]
        extents, places = sizes.tolist(), anchors.tolist()
        masks = {(width, height): np.ones((height, width), np.uint8) for width, height in extents}
        for index, source, target in each(call, data, out):
            width, height = extents[index]
            mask, anchor = masks[width, height], places[index]
            if border == "wrap":
                result = _repeated(source, mask.shape, times, lambda p, m=mask, a=anchor: morph(p, m, anchor=a))
                target[...] = result.reshape(target.shape)
            else:
                morph(source, mask, target, anchor, times, code)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        yield ErrorCase((pictures,), {"mask_size": (0, 3)}, words=("mask_size", "0", "at least 1"))
        yield ErrorCase((pictures,), {"anchor": (3, 0)}, words=("anchor", "[3, 0]", "outside"))
        yield ErrorCase((pictures,), {"border_mode": "mirror"}, words=("border_mode", "'mirror'"))
        yield ErrorCase((samples.pictures(dtype=np.int32),), words=("INT32", "UINT8"))


def _repeated(source: npt.NDArray[Any], mask: tuple[int, ...], times: int, morph: Any) -> npt.NDArray[Any]:
    """Apply `morph` to an image that repeats in all directions: OpenCV has no such border for it."""
    height, width = source.shape[:2]
    result = source
    for _ in range(times):
        rows = np.arange(-mask[0], height + mask[0]) % height
        columns = np.arange(-mask[1], width + mask[1]) % width
        full = morph(np.ascontiguousarray(result[rows][:, columns]))
        result = full[mask[0] : mask[0] + height, mask[1] : mask[1] + width].reshape(source.shape)
    return result
