"""Runs a Python function on the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import NO_TYPE
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, DaliLabError, OperatorError, SampleError
from dali_lab.model.extras import importing
from dali_lab.model.incoming import incoming_batch
from dali_lab.model.references import PythonReference, is_function
from dali_lab.schema import Arg, Call, Input, Operator, Output, flag, integer, register
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.operator import Record


class FunctionOperator(Operator):
    """Base of the operators that call a Python function; a subclass defines the form in which it gets a sample."""

    name = ""
    inputs = (Input("inputs", kind="any", doc="Any batches.", variadic=True, optional=True),)
    arguments: ClassVar[tuple[Arg, ...]] = (
        Arg("function", "object", REQUIRED, "What to call: with a sample of each input, or with lists of samples."),
        integer(
            "num_outputs",
            1,
            "Number of outputs; for more than one, the function returns a tuple.",
            minimum=0,
            maximum=4096,
        ),
        flag("batch_processing", "Call the function once with the whole batch, a list of samples for each input."),
        Arg(
            "output_layouts", "layout", None, "The layout of all outputs, or a list of those of the first.", vector=True
        ),
        flag(
            "synchronize_stream",
            "No effect here: data is complete when the function is called.",
            default=True,
            advanced=True,
        ),
    )
    devices = ("cpu", "gpu")
    whole_batch = True
    in_order = True
    takes_sets = False
    tested_elsewhere = "tests/unit/pipeline/test_python_function.py"
    python_objects = ("function",)
    positional_arguments = ("function", "num_outputs")
    batches_by_default: ClassVar[bool] = False

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        count = values.get("num_outputs")
        return 1 if count is None else int(count)

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = {"preserve": True, **kwargs}
        if cls.batches_by_default:
            given.setdefault("batch_processing", True)
        if isinstance(given.get("output_layouts"), str):  # a single text is for all outputs, a list for the first ones
            given["output_layouts"] = [given["output_layouts"]] * cls.output_count(given)
        return record(cls.name, inputs, given)

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: object, inputs: int) -> None:
        function = values.get("function")
        if not is_function(function) and not isinstance(function, PythonReference):
            raise ArgumentTypeError(f"takes a function, got {function!r}", argument="function")
        layouts, count = values.get("output_layouts"), cls.output_count(values)
        if isinstance(layouts, (list, tuple)) and len(layouts) > count:
            message = f"The length of `output_layouts` ({len(layouts)}) is greater than the number of outputs ({count})"
            raise ArgumentError(message, argument="output_layouts")

    def setup(self) -> None:
        self._function: Callable[..., Any] = self.value("function")

    def present(self, array: npt.NDArray[Any]) -> Any:
        """A sample as the function gets it."""
        return array

    def run(self, call: Call, *inputs: Batch) -> tuple[Batch, ...]:
        samples = [[self.present(array) for array in batch.arrays()] for batch in inputs]
        with call.user_context():
            if self.value("batch_processing"):
                columns = self._columns(self._function(*samples))
            else:
                columns = self._one_by_one(call, samples)
        if not columns and call.lost:
            return tuple(Batch.empty(NO_TYPE) for _ in range(self.output_count(self.values)))
        return self._batches(columns, call.count, self.value("output_layouts") or ())

    def _one_by_one(self, call: Call, samples: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """The function's results for one sample after the other, for each output; none where all samples failed."""
        rows: list[list[Any]] = []
        place: list[int] = []
        for index in range(call.count):
            try:
                rows.append(self._columns(self._function(*(column[index] for column in samples))))
            except (StopIteration, MemoryError):
                raise
            except Exception as error:
                if isinstance(error, DaliLabError) and call.lost is None:
                    raise
                message = error.message if isinstance(error, DaliLabError) else f"{type(error).__name__}: {error}"
                problem = call.problem(message, sample=index, kind=SampleError)
                problem.__cause__ = error
                call.lose(problem)
            place.append(max(0, len(rows) - 1))
        return [[column[row] for row in place] for column in zip(*rows, strict=True)]

    def _batches(self, columns: Sequence[Any], count: int, layouts: Sequence[str | None]) -> tuple[Batch, ...]:
        """The function's result for each output, as batches of `count` samples."""
        if not self.output_count(self.values):
            return ()
        results = []
        for index, column in enumerate(columns):
            layout = layouts[index] if index < len(layouts) else None
            batch = incoming_batch(column if isinstance(column, list) else np.asarray(column), layout=layout)
            if len(batch) != count:
                extents = " x ".join(map(str, [len(batch), *batch.shapes[:1].flatten().tolist()]))
                raise OperatorError(
                    f"the function must return the current batch size of {count}, but the output at index {index} has"
                    f" {len(batch)} samples: {extents}"
                )
            results.append(batch)
        return tuple(results)

    def _columns(self, answer: object) -> list[Any]:
        count = self.output_count(self.values)
        if count == 0:
            return []
        if answer is None:
            raise OperatorError(f"Python function returned 0 outputs and {count} were expected")
        if count == 1 and not isinstance(answer, tuple):
            answer = (answer,)
        if not isinstance(answer, tuple):
            raise OperatorError(
                f"the result must be a tuple: the function must return a tuple of {count} outputs,"
                f" got {type(answer).__name__}"
            )
        if len(answer) != count:
            raise OperatorError(
                f"the function must return (a tuple of) `num_outputs={count}` outputs, but returned {len(answer)}."
                f" Unexpected number of outputs: got {len(answer)}, expected {count}"
            )
        return list(answer)


@register
class PythonFunction(FunctionOperator):
    """Runs a Python function on NumPy arrays over the memory of the samples.

    The function is called in the order of the batches, never for two at once. Its results are copied.
    """

    name = "python_function"
    schema_name = "PythonFunction"
    family = "tensor"
    outputs = (Output("output", doc="Result of the function."),)
    example = '>>> fn.python_function(images, function=lambda image: 255 - image, output_layouts="HWC")'


@register
class DLTensorPythonFunction(FunctionOperator):
    """Runs a Python function on DLPack capsules, and takes such capsules back."""

    name = "dl_tensor_python_function"
    schema_name = "DLTensorPythonFunction"
    family = "tensor"
    title = "Python function on DLPack"
    outputs = (Output("output", doc="Result of the function."),)
    batches_by_default = True
    example = ">>> fn.dl_tensor_python_function(images, function=halve, batch_processing=False)"

    def present(self, array: npt.NDArray[Any]) -> Any:
        return array.__dlpack__()


@register
class TorchPythonFunction(FunctionOperator):
    """Runs a Python function on torch tensors over the memory of the samples."""

    name = "torch_python_function"
    nvidia_name = "nvidia.dali.plugin.pytorch.fn.torch_python_function"
    schema_name = "TorchPythonFunction"
    family = "tensor"
    title = "Torch function"
    outputs = (Output("output", doc="Result of the function."),)
    example = ">>> fn.torch_python_function(images, function=lambda image: 255 - image)"

    def present(self, array: npt.NDArray[Any]) -> Any:
        with importing("torch", "'dali-lab[torch]'"):
            import torch

        return torch.from_numpy(array)
