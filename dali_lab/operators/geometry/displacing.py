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
    devices = ("cpu", "gpu")
    frames = True

    def chosen(self, call: Call, data: Batch) -> npt.NDArray[np.int64]:
        """Flags of the samples to change, ``int64[N]``; checks the type of the samples.

        Raises
        ------
        OperatorError
            If the type is not supported.
        """
        if "mask" not in self.connected:
            # A constant has no effect in NVIDIA DALI; here 0 means the same as from a node.
            return np.full(call.count, int(self.value("mask")), np.int64)
        return call.numbers("mask", np.int64)
