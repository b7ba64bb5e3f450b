"""Base of operators that add noise."""

from __future__ import annotations

from typing import Any

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64
from dali_lab.schema import Call, Input, Operator, Output

DTYPES = (UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, FLOAT)


class Noising(Operator):
    """Operators that change each element by a random number of its own."""

    inputs = (Input("data", dtypes=DTYPES, doc="Samples of whole numbers or FLOAT, of any layout."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    random = True
    on_gpu = True

    def stream(self, call: Call, data: Batch) -> Any:
        """The random words of these samples.

        Raises
        ------
        OperatorError
            If noise is not supported for the type of the samples.
        """
        return open_stream(call.generator, call.indices)
