"""Runs a C function of the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import SampleError
from dali_lab.schema import REQUIRED, Arg, Call, Input, Operator, Output, integer, register
from dali_lab.schema.presets import numbers, string


@register
class CFunctionOperator(Operator):
    """Runs a C function that was registered with `dali_lab.plugin.c.register`.

    It is called for each chunk of the batch, on several threads at a time and without Python's lock.
    """

    name = "experimental.c_function"
    family = "tensor"
    title = "C function"
    inputs = (Input("inputs", kind="any", doc="Any batches.", variadic=True),)
    outputs = (Output("output", doc="What the function wrote, of the registered shapes, `dtype` and `output_layout`."),)
    beyond_dali = True
    tested_elsewhere = "tests/unit/pipeline/test_c_function.py"
    arguments = (
        string("function", REQUIRED, "Name under which the function was registered.", important=True),
        integer("num_outputs", 1, "Number of outputs.", minimum=1, maximum=4096),
        Arg("dtype", "dtype", None, "Type of each output; by default that of the first input.", vector=True),
        Arg(
            "output_layout",
            "layout",
            None,
            "Layout of each output; by default that of the first input where the dimensions are as many.",
            vector=True,
        ),
        numbers("numbers", (), "Numbers for the function.", tensor=True),
    )
    example = '>>> fn.experimental.c_function(images, function="invert")'

    @classmethod
    def repeats(cls) -> bool:
        return False  # a function may do anything

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return int(values.get("num_outputs") or 1)

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        """Nothing: functions may be registered until the pipeline runs."""

    def run(self, call: Call, *inputs: Batch) -> tuple[Batch, ...] | Batch:
        from dali_lab.kernels.c_functions import CallFailed, registered

        try:
            function = registered(str(self.value("function")))
        except KeyError as error:
            raise call.problem(str(error.args[0]), argument="function") from None
        count = self.output_count(self.values)
        shapes = self._shapes(call, function.shapes, inputs, count)
        dtypes = self._each(call, "dtype", count, inputs[0].dtype)
        layouts = self._each(call, "output_layout", count, None)
        first = inputs[0]
        outputs = []
        for table, dtype, layout in zip(shapes, dtypes, layouts, strict=True):
            kept = first.layout if table.shape[1] == first.ndim else ""
            if layout and len(layout) != table.shape[1]:
                message = f"'{layout}' has {len(layout)} letters for {table.shape[1]} axes"
                raise call.problem(message, argument="output_layout")
            outputs.append(call.allocate(table, dtype, kept if layout is None else layout))
        rows = call.lists("numbers") or [np.zeros(0)] * call.count
        if len({row.size for row in rows}) > 1:
            raise call.problem("must have as many numbers in each sample", argument="numbers")
        given: npt.NDArray[np.float64] = np.ascontiguousarray(np.stack(rows) if rows else np.zeros((0, 0)), np.float64)
        try:
            function.run(inputs, outputs, given)
        except CallFailed as error:
            if error.sample is None:
                raise call.problem(str(error), argument="function") from None
            raise call.problem(str(error), argument="function", sample=error.sample, kind=SampleError) from None
        return tuple(outputs) if count > 1 else outputs[0]

    def _shapes(self, call: Call, function: Any, inputs: tuple[Batch, ...], count: int) -> list[npt.NDArray[np.int64]]:
        if function is None:
            return [inputs[0].shapes] * count
        with call.user_context():
            made = function(*(np.array(batch.shapes) for batch in inputs))
        tables = list(made) if isinstance(made, tuple) else [made]
        if len(tables) != count:
            raise call.problem(f"its shapes are for {len(tables)} outputs, num_outputs is {count}", argument="function")
        result = []
        for index, table in enumerate(tables):
            array = np.asarray(table)
            if array.ndim != 2 or len(array) != call.count or array.dtype.kind not in "iu" or (array < 0).any():
                raise call.problem(
                    f"its shapes for output {index} must be whole numbers [samples, dimensions] of {call.count}"
                    f" samples, got {array.dtype} {list(array.shape)}",
                    argument="function",
                )
            result.append(array.astype(np.int64))
        return result

    def _each(self, call: Call, name: str, count: int, default: Any) -> list[Any]:
        """A value for each output: a list of one is for all."""
        given = list(self.value(name) or ())
        if len(given) not in (0, 1, count):
            raise call.problem(f"has {len(given)} items for {count} outputs", argument=name)
        return (given or [default]) * (count if len(given) < 2 else 1)
