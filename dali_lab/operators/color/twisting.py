"""Hue, saturation, value and contrast as one matrix and one offset for each sample.

Hue turns and saturation stretches the plane of colour differences of the YIQ space. The matrices are NVIDIA DALI's to
the bit: three decimals, their inverse with its rounding errors, and products in float32 from left to right.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, INT32, UINT8, numpy_dtype
from dali_lab.operators.color.scaling import IMAGES, ColorMap, value_of_each
from dali_lab.schema import Call, Case, ErrorCase, Input, Output, degrees, factor, samples

DTYPES = (UINT8, INT16, INT32, FLOAT16, FLOAT)
SUMS = "a sine may differ in its last bit, and the matrix with it"
LEVEL = "a sine may differ in its last bit, so that a value half-way between two levels may round to either"
TURNED: dict[str, Any] = {"tolerance": 1, "reason": LEVEL, "fraction": 0.001}
"""Options of cases that turn the hue."""

_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]], np.float32)
_FROM_YIQ = np.array(
    [[0.99966437, 0.9565412, 0.6208617], [0.99962485, -0.27227446, -0.6474513], [1.0028123, -1.106848, 1.7054056]],
    np.float32,
)
"""The inverse of :data:`_TO_YIQ`, by elimination in float32."""


HUE = degrees("hue", 0.0, "Angle by which the hue is turned.", per_frame=True, important=True)
SATURATION = factor(
    "saturation", 1.0, "Factor of the saturation; 0 makes the image grey.", per_frame=True, important=True
)


class Twisting(ColorMap):
    """Operators that turn colours of pixels with three channels."""

    differs = (
        "Images of another number of channels than three are refused; NVIDIA DALI takes every three numbers of them for"
        " a pixel."
    )
    inputs = (Input("data", layouts=IMAGES, dtypes=DTYPES, doc="RGB images or sequences of {types}."),)
    outputs = (Output("data", doc="RGB images or sequences with the shape and layout of the input, of `dtype`."),)

    def run(self, call: Call, data: Batch) -> Batch:
        dtype = call.result_type(data, DTYPES)
        channels = data.shapes[:, -1]
        call.refuse(channels != 3, "takes images of 3 channels, got {}", channels)
        out = call.allocate(data.shapes, dtype, data.layout)
        matrix, offset = self.transformation(call, 0.5 if data.dtype in (FLOAT, FLOAT16) else 128.0)
        call.kernels("color").linear_rgb(
            data.addresses, out.addresses, data.sizes // 3, matrix, offset, data.kind, numpy_dtype(dtype)
        )
        return out

    def linear_map(self, call: Call) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The transformation of UINT8 pixels."""
        return self.transformation(call, 128.0)

    def transformation(self, call: Call, half: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Matrix and offset of each sample, ``float32[N, 9]`` and ``[N, 3]``; `half` is the middle of the range."""
        angle = (value_of_each(call, "hue", 0.0).astype(np.float64) * np.pi / 180).astype(np.float32).astype(np.float64)
        saturation = value_of_each(call, "saturation", 1.0)
        value = value_of_each(call, "value", 1.0)
        brightness = value_of_each(call, "brightness", 1.0)
        contrast = value_of_each(call, "contrast", 1.0)
        turn = np.zeros((call.count, 3, 3), np.float32)
        turn[:, 0, 0] = 1
        turn[:, 1, 1] = turn[:, 2, 2] = np.cos(angle)
        turn[:, 1, 2] = np.sin(angle)
        turn[:, 2, 1] = -turn[:, 1, 2]
        stretched = np.stack([np.ones_like(saturation), saturation, saturation], axis=1)[:, None, :]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (brightness * contrast)[:, None, None] * _FROM_YIQ
            matrix = _product(_product(scaled, turn) * stretched * value[:, None, None], _TO_YIQ[None])
            offset = np.repeat((np.float32(half) * (np.float32(1) - contrast) * brightness)[:, None], 3, axis=1)
        return matrix.reshape(-1, 9), offset

    @classmethod
    def cases_of_types(cls, arguments: dict[str, Any], *, exact: bool = False) -> Iterable[Case]:
        """Cases of other types of elements, and of sequences."""
        pictures = samples.pictures()
        floats, halves = (samples.pictures(dtype=kind) for kind in (np.float32, np.float16))
        for data, dtype, tolerance, reason in (
            (pictures, {"dtype": FLOAT}, 1e-3, SUMS),
            (pictures, {"dtype": INT16}, 1, LEVEL),
            (floats, {"dtype": FLOAT}, 1e-5, SUMS),
            (halves, {"dtype": FLOAT16}, 2e-3, SUMS),
            (floats, {"dtype": UINT8}, 1, LEVEL),
            (samples.sequences(), {}, 1, LEVEL),
        ):
            allowed, why = (0.0, "") if exact else (tolerance, reason)
            yield Case((data,), {**arguments, **dtype}, tolerance=allowed, reason=why)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(channels=4),), words=("3 channels", "4"))


def _product(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Products of matrices of 3 × 3, summed in float32 from the first column on."""
    first, second, third = (a[:, :, k, None] * b[:, None, k, :] for k in range(3))
    return np.asarray(first + second + third)
