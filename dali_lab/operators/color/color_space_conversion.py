"""Converts between colour spaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import BGR, GRAY, RGB, UINT8, DALIImageType, YCbCr
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, register, samples

SPACES = (RGB, BGR, GRAY, YCbCr)
_SWAP = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], float)
# ITU-R BT.601 with studio range: 16 to 235 for Y, 16 to 240 for the colour differences.
_TO_YCBCR = np.array(
    [
        [0.25678824, 0.50412941, 0.09790588],
        [-0.14822290, -0.29099279, 0.43921569],
        [0.43921569, -0.36778831, -0.07142737],
    ]
)
_FROM_YCBCR = np.array(
    [[1.16438356, 0, 1.59602678], [1.16438356, -0.39176229, -0.81296765], [1.16438356, 2.01723214, 0]]
)
_OFFSET = np.array([16.0, 128.0, 128.0])
# OpenCV's weights in units of 2^-15, exact in float32.
_LUMA = np.array([[9798, 19235, 3735]]) / 32768


@register
class ColorSpaceConversion(Operator):
    """Converts images between RGB, BGR, GRAY and YCbCr.

    YCbCr is that of ITU-R BT.601 in studio range: 16 to 235 for Y, 16 to 240 for Cb and Cr.
    """

    name = "color_space_conversion"
    title = "Colour space"
    inputs = (Input("data", dtypes=(UINT8,), layouts=("HWC", "DHWC"), doc="UINT8 images or sequences."),)
    outputs = (
        Output("data", doc="Images of UINT8 with the channels of `output_type`, of the input's size and layout."),
    )
    on_gpu = True
    frames = True
    arguments = (
        Arg("image_type", "image_type", REQUIRED, "Colour space of the input.", choices=SPACES, important=True),
        Arg("output_type", "image_type", REQUIRED, "Colour space of the result.", choices=SPACES, important=True),
    )
    differs = (
        "A conversion to the same space returns the input; NVIDIA DALI refuses it. To and from YCbCr, one colour in"
        " 70,000 is one level off, where a sum lies within a rounding of the middle between two levels."
    )
    start = {"image_type": "RGB", "output_type": "GRAY"}
    example = ">>> fn.color_space_conversion(images, image_type=types.RGB, output_type=types.YCbCr)"

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        spaces = (values.get("image_type"), values.get("output_type"))
        return "_color_chain" if all(space in (RGB, BGR, YCbCr) for space in spaces) else ""

    def setup(self) -> None:
        self._matrix, self._offset = conversion(self.value("image_type"), self.value("output_type"))

    def run(self, call: Call, data: Batch) -> Batch:
        channels = self._matrix.shape[1]
        given, name = data.shapes[:, -1], self.value("image_type").name
        call.refuse(given != channels, f"{name} has {channels} channels, got {{}}", given)
        shapes = data.shapes.copy()
        shapes[:, -1] = self._matrix.shape[0]
        out = call.allocate(shapes, UINT8, data.layout)
        call.kernels("color").mix(
            data.addresses, out.addresses, data.sizes // channels, self._matrix, self._offset, np.uint8, np.uint8
        )
        return out

    def linear_map(self, call: Call) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Matrix and offset for pixels of three channels, the same for each sample: ``float32[N, 9]``, ``[N, 3]``."""
        matrix, offset = (np.asarray(each, np.float32).reshape(1, -1) for each in (self._matrix, self._offset))
        return np.repeat(matrix, call.count, axis=0), np.repeat(offset, call.count, axis=0)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        for source in (RGB, BGR, YCbCr, GRAY):
            for target in (RGB, BGR, YCbCr, GRAY):
                if source != target:
                    batch = samples.pictures(channels=1 if source == GRAY else 3)
                    yield Case((batch,), {"image_type": source, "output_type": target})
        yield Case((samples.sequences(),), {"image_type": RGB, "output_type": YCbCr})
        yield Case((samples.pictures(((4, 5), (4, 0), (0, 5))),), {"image_type": RGB, "output_type": YCbCr})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        wanted = {"image_type": RGB, "output_type": GRAY}
        yield ErrorCase((samples.pictures(channels=1),), wanted, words=("3 channels", "1"))


def conversion(source: DALIImageType, target: DALIImageType) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Matrix and offset from one space to another, each through RGB."""
    into = {RGB: np.eye(3), BGR: _SWAP, GRAY: np.ones((3, 1)), YCbCr: _FROM_YCBCR}[source]
    shift = -_FROM_YCBCR @ _OFFSET if source == YCbCr else np.zeros(3)
    out = {RGB: np.eye(3), BGR: _SWAP, GRAY: _LUMA, YCbCr: _TO_YCBCR}[target]
    if source == GRAY and target == GRAY:
        return np.ones((1, 1)), np.zeros(1)
    if source == YCbCr and target == YCbCr:
        return np.eye(3), np.zeros(3)
    if source == YCbCr and target == GRAY:
        return np.array([[1.16438356, 0, 0]]), np.array([-16 * 1.16438356])
    if source == GRAY and target == YCbCr:
        return np.array([[219 / 255], [0], [0]]), _OFFSET
    return out @ into, out @ shift + (_OFFSET if target == YCbCr else 0.0)
