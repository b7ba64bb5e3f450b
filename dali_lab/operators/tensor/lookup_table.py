"""Maps integers to values by a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.operators.math.elementwise import apply
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, integers, numbers, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import number

MAX_KEY = 65535


@register
class LookupTable(Operator):
    """Maps each integer to the value that a table has for it, or to a default."""

    name = "lookup_table"
    family = "color"
    inputs = (Input("data", dtypes=INTEGERS, kind="tensor", doc="Samples of {types}."),)
    outputs = (Output("output", doc="The values for the keys, of `dtype`, with the shape and layout of the input."),)
    on_gpu = True
    arguments = (
        integers(
            "keys",
            (),
            "Input values in the table; of equal ones the last counts.",
            minimum=0,
            maximum=MAX_KEY,
            important=True,
        ),
        numbers("values", (), "Output value of each key.", important=True),
        number("default_value", 0.0, "Output value of all other inputs."),
        Arg("dtype", "dtype", dtypes.FLOAT, "Type of the output; values are rounded and kept within its range."),
        Arg("output_dtype", "dtype", None, "Old name of `dtype`.", renamed_to="dtype"),
    )
    example = ">>> fn.lookup_table(labels, keys=[0, 1, 2], values=[10, 20, 30], default_value=-1)"

    def setup(self) -> None:
        from dali_lab.kernels.cpu.casting import saturated

        keys, values = self.value("keys"), self.value("values")
        if len(keys) != len(values):
            raise self.fail(
                f"`keys` size should match `values` size: {len(keys)} keys and {len(values)} values", "values"
            )
        table = np.full(max(keys, default=-1) + 2, self.value("default_value"), np.float32)
        for key, value in zip(keys, values, strict=True):
            table[key] = value
        self._table = saturated(table, numpy_dtype(self.value("dtype")))

    def run(self, call: Call, data: Batch) -> Batch:
        out = call.allocate(data.shapes, self.value("dtype"), data.layout)
        if call.gpu is not None:
            kernels = call.kernels("lookup")
            kernels.look_up(data.addresses, out.addresses, data.sizes, self._table, data.kind)
        else:
            apply(self._look_up, out, [data])
        return out

    def _look_up(self, out: npt.NDArray[Any], data: npt.NDArray[Any]) -> None:
        last = len(self._table) - 1
        if data.dtype.itemsize == 1 and data.dtype.kind == "u":
            full = np.full(256, self._table[last], self._table.dtype)
            full[: min(last, 256)] = self._table[: min(last, 256)]
            np.take(full, data, out=out)
            return
        inside = (data >= 0) & (data < last)
        np.take(self._table, np.where(inside, data.astype(np.int64), last), out=out, mode="clip")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = (
            [np.array([1, 4, 1, 0, 100, 2, 3, 4], np.uint8), np.array([0], np.uint8), np.array([255, 5], np.uint8)],
            "X",
        )
        keys = {"keys": [0, 2, 3, 4, 5, 3], "values": [0.2, 0.4, 0.5, 0.6, 0.7, 0.1]}
        yield Case((rows,), {**keys, "default_value": 0.99})
        yield Case((rows,), {"keys": [1, 2], "values": [3, 4]})
        yield Case((rows,), {"keys": [1], "values": [300.7], "dtype": dtypes.UINT8, "default_value": -5})
        yield Case((rows,), {"keys": [1, 4], "values": [2.5, -2.5], "dtype": dtypes.INT32})
        yield Case((rows,), {"keys": [65535], "values": [3]})
        yield Case((rows,), {"keys": [1], "values": [3.5], "dtype": dtypes.FLOAT64})
        yield Case(
            (samples.pictures(),),
            {"keys": list(range(256)), "values": [255 - i for i in range(256)], "dtype": dtypes.UINT8},
        )
        yield Case((samples.sequences(),), {"keys": [7], "values": [1]})
        for dtype in (np.int8, np.uint16, np.int16, np.int32, np.uint32):
            limits = np.iinfo(dtype)
            yield Case(([np.array([0, 1, 2, limits.min, limits.max], dtype)] * 3,), {**keys, "default_value": 9})
        signed = np.array([-128, -13, -1, 0, 5, 127], np.int8)
        yield Case(([signed] * 3,), {"keys": [0, 243, 255], "values": [1, 2, 3], "default_value": 9})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"keys": [1, 2], "values": [3]}, ("values", "2 keys"))
