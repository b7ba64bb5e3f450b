"""Warps images by a projection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INTERP_CUBIC, INTERP_LINEAR, INTERP_NN, UINT8, UINT16
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, OneOf, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import choice, flag, numbers, pixel_value

DTYPES = (UINT8, UINT16, INT16, FLOAT)
BORDERS = ("constant", "replicate", "reflect", "wrap", "reflect_101")
_TAPS = {INTERP_NN: 1, INTERP_LINEAR: 2, INTERP_CUBIC: 4}
Matrix = npt.NDArray[np.float32]


@register
class WarpPerspective(Operator):
    """Warps images by a projection, given as a matrix of three rows and columns.

    With `inverse_map` the matrix takes positions ``(x, y, 1)`` of the result to those of the source, divided by the
    third; without it, the other way. It is what OpenCV's ``warpPerspective`` does.
    """

    name = "experimental.warp_perspective"
    inputs = (
        Input("data", dtypes=DTYPES, layouts=("HW", "HWC", "CHW"), doc="Images or sequences of {types}."),
        Input(
            "mtx",
            kind="tensor",
            doc="The matrix of each sample, in place of the argument.",
            optional=True,
            replaces=("matrix",),
        ),
    )
    outputs = (Output("data", doc="Images of `size`, with the type, channels and layout of the input."),)
    frames = True
    on_gpu = True
    cpu_inputs = (1,)
    rules = (OneOf("matrix", needed=True),)
    gpu_tolerance = (
        1.0,
        "OpenCV's vector code rounds positions otherwise in the last columns of a row, so that a nearest pixel may be"
        " the one beside it (1 in 2,000), and sums cubics otherwise (a level in 1 of 50 elements of words)",
    )
    gpu_share = 1e-3
    arguments = (
        numbers(
            "matrix", (), "The matrix, row by row; a single number stands for all nine.", per_frame=True, important=True
        ),
        flag("inverse_map", "The matrix takes positions of the result to the source.", default=True),
        numbers(
            "size",
            (),
            "Height and width of the result, rounded; those of the input if not given.",
            tensor=True,
            unit="px",
        ),
        Arg("interp_type", "interp_type", INTERP_LINEAR, "Interpolation.", choices=tuple(_TAPS)),
        choice(
            "border_mode",
            "constant",
            BORDERS,
            "What is outside the source: `fill_value`, its edge repeated, the image mirrored with its edge or without"
            " it, or the image repeated.",
        ),
        pixel_value(
            "fill_value", (), "Value outside the source, one or one for each channel; 0 if not given.", vector=True
        ),
        choice(
            "pixel_origin",
            "corner",
            ("corner", "center"),
            "Where ``(0, 0)`` is: at the corner of the first pixel, or in its centre, as OpenCV has it.",
        ),
    )
    start = {"matrix": [1.0, 0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0005, 1.0], "fill_value": 0.0}
    example = ">>> fn.experimental.warp_perspective(images, matrix=[1, 0.1, 0, 0, 1, 0, 0.001, 0, 1])"
    differs = "Any number of channels is taken, not only four. FLOAT of images from 0 to 255 agrees to within 1e-4."

    def run(self, call: Call, *inputs: Batch) -> Batch:
        data = inputs[0]
        call.refuse(data.sizes == 0, "takes images that are not empty")
        matrices = self._matrices(call, inputs)
        fill = self._fill(call, data)
        shapes = data.shapes.copy()
        first = 1 if data.layout == "CHW" else 0
        if "size" in self.connected or self.values["size"]:
            size = call.vectors("size", 2)
            whole = np.floor(np.maximum(size, 0) + np.float32(0.5)).astype(np.int64)
            call.refuse(whole < 1, "{} is not positive", size, argument="size")
            shapes[:, first : first + 2] = whole
        out = call.allocate(shapes, data.dtype, data.layout)
        planar = data.layout == "CHW"
        ones = np.ones(len(data), np.int64)
        planes, channels = (data.shapes[:, 0], ones) if planar else (ones, data.shapes[:, 2:].prod(axis=1))
        call.kernels("remap").warp_perspective(
            data.addresses, out.addresses,
            np.column_stack([planes, data.shapes[:, first : first + 2], channels]), shapes[:, first : first + 2],
            matrices if self.value("inverse_map") else _inverse(matrices), _TAPS[self.value("interp_type")],
            self.value("border_mode"), fill, data.kind,
        )  # fmt: skip
        return out

    def _matrices(self, call: Call, inputs: tuple[Batch, ...]) -> Matrix:
        if len(inputs) > 1:
            if inputs[1].dtype != FLOAT or (inputs[1].sizes != 9).any():
                raise call.problem("takes matrices of FLOAT with three rows and columns", argument="matrix")
            table = inputs[1].stacked().reshape(-1, 9)
        else:
            table = call.vectors("matrix", 9)
        call.refuse(~np.isfinite(table), "is not finite", argument="matrix")
        matrices = np.array(table, np.float32).reshape(-1, 3, 3)
        if self.value("pixel_origin") == "corner":
            shift, back = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)
            shift[:2, 2], back[:2, 2] = 0.5, -0.5
            matrices = _product(back[None], _product(matrices, shift[None]))
        return matrices

    def _fill(self, call: Call, data: Batch) -> npt.NDArray[np.float64]:
        fill = np.array(self.value("fill_value") or (0.0,), np.float64)
        if fill.size > 1:
            if data.layout != "HWC":
                raise call.problem("takes one value where the layout is not HWC", argument="fill_value")
            channels = data.shapes[:, 2]
            message = f"has {fill.size} values for {{}} channels"
            call.refuse(channels != fill.size, message, channels, argument="fill_value")
        return fill

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        some = (1.0, 0.2, -3.0, 0.1, 0.9, 2.0, 0.001, 0.002, 1.0)
        rows = [np.array(some, np.float32) * (1 + 0.1 * k) + np.eye(3, dtype=np.float32).ravel() for k in range(3)]
        matrices = [row.reshape(3, 3).astype(np.float32) for row in rows]
        options: tuple[dict[str, Any], ...] = (
            {},
            {"inverse_map": False},
            {"pixel_origin": "center"},
            {"pixel_origin": "center", "inverse_map": False, "interp_type": INTERP_CUBIC},
            {"interp_type": INTERP_NN},
            {"interp_type": INTERP_CUBIC, "fill_value": (9.0,)},
            {"fill_value": (10.0, 20.0, 30.0)},
            {"size": (20.6, 55.0)},
            {"size": (7.0,)},
            *({"border_mode": mode, "fill_value": (99.0,)} for mode in BORDERS),
        )
        for arguments in options:
            yield Case((pictures,), {"matrix": some, **arguments})
        yield Case((pictures,), {"matrix": PerSample(matrices)})
        yield Case((pictures,), {"matrix": 0.25})
        yield Case((pictures, matrices), {"border_mode": "wrap"})
        for dtype in (np.float32, np.int16, np.uint16):
            yield Case((samples.pictures(dtype=dtype),), {"matrix": some, "fill_value": (0.5,)})
        yield Case((samples.pictures(channels=1),), {"matrix": some})
        yield Case((samples.planar(),), {"matrix": some, "fill_value": (77.0,), "size": (20.0, 22.0)})
        yield Case((samples.sequences(),), {"matrix": some})
        yield Case((([array[..., 0].copy() for array in pictures[0]], "HW"),), {"matrix": some})
        frames = [np.stack([matrices[k % 3] for k in range(count)]) for count in (2, 3, 1)]
        yield Case((samples.sequences(),), {"matrix": PerSample(frames, "F**")})
        yield Case((samples.sequences(), (frames, "F**")), {})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        some = {"matrix": (1.0, 0, 0, 0, 1, 0, 0, 0, 1)}
        yield ErrorCase((samples.pictures(),), {"matrix": (1.0,) * 6}, words=("matrix", "9"))
        yield ErrorCase((samples.pictures(),), {"matrix": (float("nan"),) * 9}, words=("matrix", "finite"))
        yield ErrorCase((samples.pictures(),), {**some, "fill_value": (1.0, 2.0)}, words=("fill_value", "3 channels"))
        yield ErrorCase((samples.pictures(),), {**some, "size": (0.0, 5.0)}, words=("size", "not positive"))


def _product(left: Matrix, right: Matrix) -> Matrix:
    """Products of matrices, each sum in the order of the columns, in float32."""
    terms = left[..., :, :, None] * right[..., None, :, :]
    return np.asarray((terms[..., 0, :] + terms[..., 1, :]) + terms[..., 2, :], np.float32)


def _inverse(matrices: Matrix) -> npt.NDArray[np.float64]:
    """Inverses by cofactors in float64; of a matrix that has none, zeros, as OpenCV has it."""
    rows = matrices.astype(np.float64)
    first, second, third = rows[:, 0], rows[:, 1], rows[:, 2]
    cofactors = np.stack([np.cross(second, third), np.cross(third, first), np.cross(first, second)], axis=2)
    determinants = np.einsum("ni,ni->n", first, cofactors[:, :, 0])
    scale = np.divide(1.0, determinants, out=np.zeros_like(determinants), where=determinants != 0)
    return np.asarray(cofactors * scale[:, None, None])
