"""Runs a function that Numba compiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT16, name_in_messages
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, AssertedError, OperatorError
from dali_lab.model.references import PythonReference, is_function
from dali_lab.schema import Arg, Call, Input, Operator, Output, flag, integers, register
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.operator import Record

_MOST = 6


@register
class NumbaFunction(Operator):
    """Runs a function on the samples that Numba compiles, without the GIL.

    The function gets an array for each output, to be written, and one for each input: ``run_fn(out0, …, in0, …)``.
    With `batch_processing` it gets a list of arrays for each instead, one array for each sample.

    Outputs have the shapes of the inputs, one each. Where they are to have others, ``setup_fn(outs, ins)`` writes them:
    ``outs[1][0]`` is the shape of sample 0 of output 1; it is called once for the batch.
    """

    name = "numba_function"
    nvidia_name = "nvidia.dali.plugin.numba.fn.experimental.numba_function"
    positional_arguments = ("run_fn", "out_types", "in_types", "outs_ndim", "ins_ndim", "setup_fn")
    schema_name = "NumbaFuncImpl"
    family = "tensor"
    python_objects = ("run_fn", "setup_fn")
    outputs = (Output("output", doc="What the function wrote."),)
    inputs = (Input("inputs", kind="any", doc="One to six batches.", variadic=True),)
    arguments = (
        Arg("run_fn", "object", REQUIRED, "What to compile and call."),
        Arg("out_types", "dtype", REQUIRED, "Type of each output.", vector=True),
        Arg("in_types", "dtype", REQUIRED, "Type of each input.", vector=True),
        integers("outs_ndim", REQUIRED, "Number of dimensions of each output.", minimum=0),
        integers("ins_ndim", REQUIRED, "Number of dimensions of each input.", minimum=0),
        Arg("setup_fn", "object", None, "Compiled and called to give the outputs their shapes."),
        flag("batch_processing", "Call the function once with the whole batch."),
        integers("blocks", None, "No effect here: for kernels on a GPU.", advanced=True),
        integers("threads_per_block", None, "No effect here: for kernels on a GPU.", advanced=True),
    )
    whole_batch = True
    tested_elsewhere = "tests/unit/pipeline/test_numba_function.py"
    example = """
    >>> def invert(out, image):
    ...     out[:] = 255 - image
    >>> fn.numba_function(
    ...     images, run_fn=invert, in_types=types.UINT8, ins_ndim=3, out_types=types.UINT8, outs_ndim=3
    ... )
    """

    takes_sets = False

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return len(values["out_types"])

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return record(cls.name, inputs, {"preserve": True, **kwargs})

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        for name in ("run_fn", "setup_fn"):
            function = values.get(name)
            if function is not None and not is_function(function) and not isinstance(function, PythonReference):
                raise ArgumentTypeError(f"takes a function, got {function!r}", argument=name)
        for types, dimensions in (("in_types", "ins_ndim"), ("out_types", "outs_ndim")):
            if len(values[types]) != len(values[dimensions]):
                what = "input" if types == "in_types" else "output"
                raise AssertedError(
                    f"Number of {what} types and {what} dimensions should match:"
                    f" {len(values[types])} {types}, {len(values[dimensions])} {dimensions}",
                    argument=dimensions,
                )
            if FLOAT16 in values[types]:
                raise ArgumentError("cannot hold FLOAT16, which Numba does not compile", argument=types)
        if len(values["in_types"]) != inputs:
            raise ArgumentError(f"has {len(values['in_types'])} types for {inputs} inputs", argument="in_types")
        if not 1 <= len(values["out_types"]) <= _MOST or inputs > _MOST:
            raise ArgumentError(f"takes 1 to {_MOST} outputs, and as many inputs at most", argument="out_types")
        if values.get("setup_fn") is None and values["outs_ndim"] != values["ins_ndim"]:
            raise ArgumentError(
                "must be given where the outputs do not have the dimensions of the inputs", argument="setup_fn"
            )

    def setup(self) -> None:
        from numba import njit

        function, shaping = self.value("run_fn"), self.value("setup_fn")
        self._run = function if hasattr(function, "py_func") else njit(nogil=True)(function)
        self._setup = shaping if shaping is None or hasattr(shaping, "py_func") else njit(shaping)

    def run(self, call: Call, *inputs: Batch) -> tuple[Batch, ...]:
        for index, (batch, dtype, ndim) in enumerate(
            zip(inputs, self.value("in_types"), self.value("ins_ndim"), strict=True)
        ):
            if batch.dtype != dtype:
                raise OperatorError(
                    f"Data type passed in `in_types` at index {index} doesn't match type of the input data:"
                    f" {name_in_messages(batch.dtype)} != {name_in_messages(dtype)}"
                )
            if batch.ndim != ndim:
                raise OperatorError(
                    f"Number of dimensions passed in `ins_ndim` at index {index} doesn't match the number of dimensions"
                    f" of the input data: {batch.ndim} != {ndim}"
                )
        outputs = tuple(
            call.allocate(shapes, dtype, "")
            for shapes, dtype in zip(self._shapes(call, inputs), self.value("out_types"), strict=True)
        )
        columns = [batch.arrays() for batch in (*outputs, *inputs)]
        if self.value("batch_processing"):
            from numba.typed import List

            self._call("run_fn", self._run, *(List(column) for column in columns))
        else:
            for row in zip(*columns, strict=True):
                self._call("run_fn", self._run, *row)
        return outputs

    def _shapes(self, call: Call, inputs: tuple[Batch, ...]) -> tuple[Any, ...]:
        shapes = tuple(np.array(batch.shapes) for batch in inputs)
        if self._setup is None:
            return shapes
        made = tuple(np.zeros((call.count, ndim), np.int64) for ndim in self.value("outs_ndim"))
        self._call("setup_fn", self._setup, made, shapes)
        if any((shape < 0).any() for shape in made):
            raise self.fail("gave a shape with a negative extent", "setup_fn")
        return made

    def _call(self, argument: str, function: Any, *values: Any) -> None:
        from numba.core.errors import NumbaError

        try:
            function(*values)
        except NumbaError as error:
            reason = str(error).strip()
            raise OperatorError(f"Numba cannot compile it: {reason}", operator=self.name, argument=argument) from error


__all__ = ["NumbaFunction"]
