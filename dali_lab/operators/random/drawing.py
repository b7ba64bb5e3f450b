"""Base of random operators: shapes of the samples, from an argument or from another batch."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import open_stream
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT64, DALIDataType
from dali_lab.schema import Arg, Call, Input, Operator, Output, integers
from dali_lab.schema.ports import INTEGERS, Extent

_QUICKLY_DRAWN = 4096
"""Most numbers of a sample that are drawn even when memory is planned: they may be arguments of other nodes."""
NUMBERS = (*INTEGERS, FLOAT, FLOAT64)
SHAPE_LIKE = Input("shape_like", kind="any", doc="A batch whose shapes the result takes.", device="any", optional=True)
SHAPE = integers("shape", None, "Shape of each sample; a single number if not given.", tensor=True)


class Drawing(Operator):
    """Operators that make random numbers."""

    makes_numbers = True
    inputs: ClassVar[tuple[Input, ...]] = (SHAPE_LIKE,)
    outputs = (
        Output(
            "numbers", kind="tensor", doc="The numbers: of `shape`, of the shape of the input, or one scalar a sample."
        ),
    )
    devices: ClassVar[tuple[str, ...]] = ("cpu", "gpu")
    on_gpu = True
    random = True

    def extents(self) -> tuple[Extent, ...]:
        shape = self.values["shape"] if "shape" not in self.connected else None
        if shape is None or np.prod(shape, dtype=np.float64) <= _QUICKLY_DRAWN:
            return ()
        return (Extent(tuple(int(extent) for extent in shape), self.values.get("dtype")),)

    def memory(self, call: Call, like: tuple[Batch, ...], dtype: DALIDataType) -> Batch:
        """Memory for the numbers: on the CPU, also for a GPU, so that they are the same on both."""
        shapes = self.shapes(call, like)
        return call.allocate(shapes, dtype) if call.gpu is None else Batch.allocate(shapes, dtype)

    def shapes(self, call: Call, like: tuple[Batch, ...]) -> npt.NDArray[np.int64]:
        """Shape of each sample, ``int64[N, ndim]``.

        Raises
        ------
        OperatorError
            If a shape is given twice, or has a negative extent.
        """
        if like:
            if self.has("shape"):
                raise call.problem("given together with a batch to take the shapes from", argument="shape")
            return like[0].shapes
        if not self.has("shape"):
            return np.zeros((call.count, 0), np.int64)
        batch = call.batches.get("shape")
        if batch is not None and batch.ndim == 0:
            table = call.numbers("shape", np.int64)[:, None]
        elif batch is not None:
            length = int(batch.shapes[0, 0]) if len(batch) else 0
            table = call.vectors("shape", length, np.int64) if length else np.zeros((call.count, 0), np.int64)
        else:
            value = self.values["shape"]
            table = np.broadcast_to(np.asarray(value, np.int64), (call.count, len(value)))
        call.refuse(table < 0, "{} has a negative extent", table, argument="shape")
        return np.ascontiguousarray(table)

    def stream(self, call: Call) -> Any:
        """The random words of these samples."""
        return open_stream(call.generator, call.indices)

    def dtype_or(self, default: DALIDataType) -> DALIDataType:
        """The wanted type, or `default`."""
        dtype: DALIDataType | None = self.value("dtype")
        return default if dtype is None else dtype


def dtype_argument(default: DALIDataType, allowed: tuple[DALIDataType, ...] = NUMBERS) -> Arg:
    """The ``dtype`` argument of a random operator."""
    return Arg("dtype", "dtype", None, f"Type of the numbers; {default.name} if not given.", choices=allowed)
