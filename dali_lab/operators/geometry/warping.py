"""Base of operators that warp by a matrix: arguments, the size of the result, the kernel call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT8, INT16, INT32, INTERP_LINEAR, INTERP_NN, UINT8, DALIDataType, numpy_dtype
from dali_lab.operators.geometry.windows import half_away
from dali_lab.schema import Arg, Call, Input, Operator, Output, numbers, pixel_value
from dali_lab.schema.ports import INTEGERS

DTYPES = (UINT8, INT16, INT32, FLOAT)
SIZE_TYPES = (FLOAT, *(dtype for dtype in INTEGERS if dtype not in (INT8, UINT8)))
IMAGES = Input("data", dtypes=DTYPES, layouts=("HWC", "DHWC"), doc="Images, volumes or sequences of {types}.")
WARPING = (
    Arg("interp_type", "interp_type", INTERP_LINEAR, "Interpolation.", choices=(INTERP_LINEAR, INTERP_NN)),
    pixel_value("fill_value", None, "Value outside the source; if not given, its edge is repeated.", important=True),
    Arg(
        "dtype",
        "dtype",
        None,
        "Type of the result: that of the input, UINT8 or FLOAT; of FLOAT images any that is taken.",
        or_no_type=True,
    ),
    Arg("output_dtype", "dtype", None, "", renamed_to="dtype"),
)
SIZE = numbers(
    "size",
    (),
    "Size of the result: height and width, for volumes depth, height and width; that of the input if not given."
    " Constants are rounded to whole pixels; what nodes give loses its fraction.",
    tensor=True,
    fed=SIZE_TYPES,
    unit="px",
)


class Warping(Operator):
    """Operators that warp by a matrix."""

    outputs = (Output("data", doc="The warped input, of `dtype` and the size asked for, with its layout."),)
    on_gpu = True
    frames = True

    def sizes(self, call: Call, default: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Spatial size of each result, ``int64[N, axes]``."""
        if "size" not in self.given or ("size" not in self.connected and not self.values["size"]):
            return default
        given = call.vectors("size", default.shape[1])
        # NVIDIA DALI rounds constants and drops the fractions of connected values.
        sizes = given if "size" in self.connected else half_away(given)
        call.refuse(sizes < 1, "{} is not positive", given, argument="size")
        return sizes.astype(np.int64)

    @staticmethod
    def result_type(call: Call, data: Batch) -> DALIDataType:
        """The type of the result, checked."""
        return call.result_type(data, DTYPES if data.dtype == FLOAT else (UINT8, FLOAT))

    def fill(self, dtype: DALIDataType) -> float | None:
        """The fill value outside the source, in the result's type, for blending; `None` to repeat the edge."""
        value = self.value("fill_value")
        if value is None:
            return None
        if dtype == FLOAT:
            return float(value)
        limits = np.iinfo(numpy_dtype(dtype))
        return float(np.clip(half_away(np.array(value, np.float32)), limits.min, limits.max))

    def warp(self, call: Call, data: Batch, matrices: npt.NDArray[Any], sizes: npt.NDArray[np.int64]) -> Batch:
        """Warp images by maps from positions of the result to positions of the source, ``float32[N, 6]``."""
        dtype = self.result_type(call, data)
        shapes = data.shapes.copy()
        shapes[:, :2] = sizes
        out = call.allocate(shapes, dtype, data.layout)
        one = np.ones((len(data), 1), np.int64)
        fill = self.fill(dtype)
        call.kernels("warp").warp_affine(
            data.addresses,
            out.addresses,
            np.concatenate([one, data.shapes], axis=1),
            np.concatenate([one, shapes], axis=1),
            matrices,
            np.full(len(data), int(self.value("interp_type") == INTERP_LINEAR)),
            data.kind,
            numpy_dtype(dtype),
            fill=None if fill is None else np.array([fill], np.float32),
        )
        return out

    def warp_volumes(self, call: Call, data: Batch, matrices: npt.NDArray[Any], sizes: npt.NDArray[np.int64]) -> Batch:
        """Warp volumes by maps from positions of the result to positions of the source, ``float32[N, 12]``."""
        dtype = self.result_type(call, data)
        shapes = data.shapes.copy()
        shapes[:, :3] = sizes
        out = call.allocate(shapes, dtype, data.layout)
        call.kernels("warp_volume").warp_volumes(
            data.addresses,
            out.addresses,
            data.shapes,
            shapes,
            matrices,
            self.value("interp_type") == INTERP_LINEAR,
            data.kind,
            numpy_dtype(dtype),
            fill=self.fill(dtype),
        )
        return out
