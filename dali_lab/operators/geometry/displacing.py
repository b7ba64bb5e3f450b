"""Base of operators that displace single pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INT32, INTERP_LINEAR, INTERP_NN, UINT8
from dali_lab.schema import Arg, Call, Input, Operator, Output, integer, pixel_value

DTYPES = (UINT8, INT16, INT32, FLOAT)
DISPLACING = (
    Arg("interp_type", "interp_type", INTERP_NN, "Interpolation.", choices=(INTERP_NN, INTERP_LINEAR)),
    pixel_value("fill_value", 0.0, "Value outside the image."),
    integer("mask", 1, "Samples with 0 are left as they are.", tensor=True, widget="switch"),
)


class Displacing(Operator):
    """Operators that displace single pixels."""

    inputs = (Input("data", dtypes=DTYPES, layouts=("HWC",), doc="Images or sequences of {types}."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    differs = (
        "Sequences, INT16 and INT32 are taken as well; a constant `mask=0` leaves images as they are, as a node does."
    )
    on_gpu = True
    frames = True

    def chosen(self, call: Call, data: Batch) -> npt.NDArray[np.int64]:
        """Flags of the samples to change, ``int64[N]``."""
        if "mask" not in self.connected:
            # A constant has no effect in NVIDIA DALI; here 0 means the same as from a node.
            return np.full(call.count, int(self.value("mask")), np.int64)
        return call.numbers("mask", np.int64)

    def displaced(self, call: Call, data: Batch, effect: str, *parameters: object) -> Batch:
        """The images, with pixels taken from where a kernel says."""
        out = call.allocate(data.shapes, data.dtype, data.layout)
        linear, fill = self.value("interp_type") == INTERP_LINEAR, self.value("fill_value")
        kernel = getattr(call.kernels("displace"), effect)
        table = data.addresses, out.addresses, data.shapes
        kernel(*table, self.chosen(call, data), data.kind, *parameters, linear=linear, fill=fill)
        return out
