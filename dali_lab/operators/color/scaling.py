"""Brightness and contrast: one multiplication and one addition for each element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8, DALIDataType, numpy_dtype
from dali_lab.schema import Arg, Call, Input, Operator, Output, factor, number

IMAGES = ("HWC", "DHWC")
DTYPES = (UINT8, INT16, INT32, FLOAT)
LEVEL = "products are rounded in another order, so a value half-way between two levels may round to either"

BRIGHTNESS = factor("brightness", 1.0, "Factor of the brightness.", per_frame=True, important=True)
CONTRAST = factor("contrast", 1.0, "Factor of the contrast.", per_frame=True, important=True)
BRIGHTNESS_AND_SHIFT = (
    BRIGHTNESS,
    number(
        "brightness_shift",
        0.0,
        "Added to the brightness, as a share of the range of the result (1 is 255 for UINT8).",
        per_frame=True,
        slider=(-1.0, 1.0, 0.01),
    ),
)
CONTRAST_AND_CENTER = (
    CONTRAST,
    number(
        "contrast_center",
        0.5,
        "Intensity that contrast leaves as it is. If not given, it is the middle of the input's range: 0.5 for FLOAT,"
        " 128 for UINT8, 16384 for INT16, 2³⁰ for INT32.",
        per_frame=True,
    ),
)
DTYPE = Arg("dtype", "dtype", None, "Type of the result; that of the input if not given.", or_no_type=True)
_FULL = {UINT8: 255.0, INT16: 32767.0, INT32: 2147483647.0, FLOAT: 1.0}
_HALF = {UINT8: 128.0, INT16: 16384.0, INT32: 1073741824.0, FLOAT: 0.5}


class ColorMap(Operator):
    """Base of operators that map each pixel by a function of its own channels; several in a row become one walk."""

    on_gpu = True
    frames = True

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "_color_chain" if inputs == 1 and values.get("dtype", UINT8) == UINT8 else ""


class Scaling(ColorMap):
    """``out = shift · range + brightness · (center + contrast · (in − center))``."""

    inputs = (Input("data", layouts=IMAGES, dtypes=DTYPES, doc="Images, volumes or sequences of {types}."),)
    outputs = (Output("data", doc="With the shape and layout of the input, of `dtype`."),)

    def run(self, call: Call, data: Batch) -> Batch:
        dtype = call.result_type(data, DTYPES)
        out = call.allocate(data.shapes, dtype, data.layout)
        factor, offset = self.factors(call, data.dtype, dtype)
        call.kernels("color").scale(
            data.addresses, out.addresses, data.sizes, factor, offset, data.kind, numpy_dtype(dtype)
        )
        return out

    def factors(
        self, call: Call, source: DALIDataType, dtype: DALIDataType
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Factor and offset of each sample, ``float32[N]`` each."""
        brightness = value_of_each(call, "brightness", 1.0)
        shift = value_of_each(call, "brightness_shift", 0.0)
        contrast = value_of_each(call, "contrast", 1.0)
        center = call.numbers("contrast_center") if "contrast_center" in self.given else np.float32(_HALF[source])
        return brightness * contrast, shift * np.float32(_FULL[dtype]) + brightness * (center - contrast * center)

    def linear_map(self, call: Call) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The same as matrices and offsets for UINT8 pixels, ``float32[N, 9]`` and ``[N, 3]``."""
        factor, offset = self.factors(call, UINT8, UINT8)
        diagonal = np.where(np.eye(3, dtype=bool).reshape(1, 9), factor[:, None], np.float32(0))
        return diagonal, np.repeat(offset.astype(np.float32)[:, None], 3, axis=1)


def value_of_each(call: Call, name: str, default: float) -> npt.NDArray[np.float32]:
    """The argument of each sample, or `default` where the operator has no such argument."""
    if name not in call.operator.argument_table:
        return np.full(call.count, default, np.float32)
    return np.asarray(call.numbers(name), np.float32)
