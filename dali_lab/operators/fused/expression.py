"""An expression of several operators, evaluated block by block without arrays between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import over_elements
from dali_lab.model.dtypes import FLOAT, FLOAT64, INT16, INT32, UINT8, DALIDataType, numpy_dtype
from dali_lab.model.promotion import widened
from dali_lab.operators.fused.parts import naming_parts_in_errors
from dali_lab.operators.math.arithmetic import Arithmetic
from dali_lab.schema import Arg, Call, Input, Operator, Output, find_operator, register

Array = npt.NDArray[Any]
_KINDS = {UINT8: 0, INT16: 1, INT32: 2, FLOAT: 3}
"""Types that the kernel reads, by its numbers."""
_SAME = {"div": "fdiv", "fabs": "abs"}
"""Operators that are the same in FLOAT."""


def _is_compiled() -> bool:
    """Whether the kernel is there; if not, it is being compiled from now on."""
    from dali_lab.kernels.cpu import background
    from dali_lab.kernels.cpu.expression import evaluate
    from dali_lab.kernels.cpu.memory import like

    table, column = np.empty((0, 0), np.int64), np.empty(0, np.int64)
    return background.ready(
        evaluate, table, like(np.float32), column, table, table, column, column, True, like(np.uint8), like(np.int16),
        like(np.int32),
    )  # fmt: skip


@dataclass
class _Step:
    """One operator: its operands are numbers of inputs and, from the number of inputs on, of steps before it."""

    operator: Operator
    operands: tuple[int, ...]

    def form(self, call: Call, values: list[_Value]) -> _Value:
        """Shapes, type and layout of the result, before it is computed."""
        operands = [values[k] for k in self.operands]
        if not isinstance(self.operator, Arithmetic):
            return _Value(operands[0].shapes, self.operator.value("dtype"), operands[0].layout)
        dtypes, shapes, layouts = zip(*[(each.dtype, each.shapes, each.layout) for each in operands], strict=True)
        return _Value(*self.operator.form(call, dtypes, shapes, layouts))

    def operands_with_constants(self) -> list[Any]:
        """The numbers of the operands, and constants as arrays without dimensions."""
        if isinstance(self.operator, Arithmetic):
            return self.operator.with_constants(self.operands)
        return list(self.operands)

    def operation(self, values: list[_Value], dtype: DALIDataType) -> int:
        """The kernel's code for the operator where these operands give a `dtype`, or -1."""
        from dali_lab.kernels.cpu.expression import LEVEL, OPERATIONS, PLUS

        dtypes = [values[k].dtype for k in self.operands]
        if not isinstance(self.operator, Arithmetic):
            # A FLOAT64 would be rounded once more on its way to UINT8.
            return {FLOAT: PLUS, UINT8: -1 if FLOAT64 in dtypes else LEVEL}.get(dtype, -1)
        name = self.operator.expression.name
        name = _SAME.get(name, name)
        return OPERATIONS.index(name) if dtype == FLOAT and name in OPERATIONS else -1


@dataclass
class _Value:
    """An input or a step's result: always its form, and its elements where they lie in memory."""

    shapes: Array
    dtype: DALIDataType
    layout: str
    batch: Batch | None = None


@register
class ExpressionChain(Operator):
    """Arithmetic and casts that only feed each other; each step has its own type, and rounds and wraps as by itself.

    On a GPU all of it is one kernel, made for these steps. On the CPU steps in FLOAT, and casts to UINT8, of the
    result's shape are one walk over the elements; what comes before them in other types or shapes (such as numbers for
    each sample) goes through the operators one after the other.
    """

    name = "_expression"
    schema_name = "_Expression"
    hidden = True
    tested_elsewhere = "tests/unit/graph/test_expression_chain.py"
    family = "arithmetic"
    on_gpu = True
    inputs = (Input("operands", kind="tensor", variadic=True),)
    outputs = (Output("result", kind="tensor"),)
    arguments = (Arg("parts", "object"), Arg("operands", "object"))

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        super().__init__(values, connected, node, device)
        self.steps = [
            _Step(find_operator(part["op"])(part["arguments"], (), part["node"], device), tuple(operands))
            for part, operands in zip(values["parts"], values["operands"], strict=True)
        ]

    def run(self, call: Call, *inputs: Batch) -> Batch:
        with naming_parts_in_errors(self.values["parts"]):
            return self._run(call, inputs)

    def _run(self, call: Call, inputs: tuple[Batch, ...]) -> Batch:
        calls = [replace(call, operator=step.operator, batches={}) for step in self.steps]
        values = [_Value(batch.shapes, batch.dtype, batch.layout, batch) for batch in inputs]
        for step, its in zip(self.steps, calls, strict=True):
            values.append(step.form(its, values))
        if call.gpu is not None:
            return self._launched(call, inputs, values)
        walked = self._walked(values)
        if walked and not _is_compiled():
            walked = []  # the operators one after the other have the same result
        for index, (step, its) in enumerate(zip(self.steps, calls, strict=True)):
            if index not in walked:
                inner = its if index == len(calls) - 1 else replace(its, place=None)
                values[len(inputs) + index].batch = _alone(step, inner, values)
        final = values[-1]
        if final.batch is None:
            final.batch = call.allocate(final.shapes, final.dtype, final.layout)
            with np.errstate(all="ignore"):
                self._walk(values, walked, final.batch)
        return final.batch

    def _launched(self, call: Call, inputs: tuple[Batch, ...], values: list[_Value]) -> Batch:
        """All steps in one kernel: stretching an operand first or last makes no difference to what a step does."""
        from dali_lab.kernels.cuda.expression import CAST, Step
        from dali_lab.kernels.cuda.kernel import short

        constants: list[Array] = []
        steps = []
        for step, value in zip(self.steps, values[len(inputs) :], strict=True):
            operands = []
            for operand in step.operands_with_constants():
                if isinstance(operand, np.ndarray):
                    constants.append(operand)
                    operands.append(-len(constants))
                else:
                    operands.append(operand)
            name = step.operator.expression.name if isinstance(step.operator, Arithmetic) else CAST
            steps.append(Step(name, short(numpy_dtype(value.dtype)), tuple(operands)))
        out = call.allocate(values[-1].shapes, values[-1].dtype, values[-1].layout)
        call.kernels("expression").evaluate_steps(out, inputs, constants, steps)
        return out

    def _walked(self, values: list[_Value]) -> list[int]:
        """Mask of the steps that one walk over the elements can do: the last, and earlier ones that feed only such."""
        first = len(values) - len(self.steps)
        shapes = values[-1].shapes
        able = [True] * len(values)
        for index in range(len(self.steps) - 1, -1, -1):
            step, value = self.steps[index], values[first + index]
            able[first + index] &= step.operation(values, value.dtype) >= 0 and np.array_equal(value.shapes, shapes)
            able[first + index] &= all(_periods(values[k].shapes, shapes) is not None for k in step.operands)
            if not able[first + index]:
                for k in step.operands:
                    able[k] = False
        found = [index for index in range(len(self.steps)) if able[first + index]]
        return found if len(found) > 1 and len(shapes) else []

    def _walk(self, values: list[_Value], walked: list[int], out: Batch) -> None:
        from dali_lab.kernels.cpu.expression import evaluate
        from dali_lab.kernels.cpu.memory import like, rows

        first = len(values) - len(self.steps)
        entering = sorted({k for index in walked for k in self.steps[index].operands} - {first + i for i in walked})
        read = [_readable(values[k].batch, out.shapes) for k in entering]
        program, constants = self._program(values, walked, entering)
        table = (len(read), len(out))
        evaluate(
            program,
            constants,
            np.array([_KINDS[batch.dtype] for batch, _ in read], np.int64),
            rows(np.array([batch.addresses for batch, _ in read]).reshape(table)),
            rows(np.array([periods for _, periods in read]).reshape(table)),
            rows(out.addresses),
            rows(out.sizes),
            out.dtype == UINT8,
            like(np.uint8),
            like(np.int16),
            like(np.int32),
        )

    def _program(self, values: list[_Value], walked: list[int], entering: list[int]) -> tuple[Array, Array]:
        """The steps and the constants as the kernel takes them."""
        first = len(values) - len(self.steps)
        operands: list[list[Any]] = []
        for index in walked:
            operands.append(self.steps[index].operands_with_constants())
        constants = [
            float(each.astype(np.float32)) for those in operands for each in those if isinstance(each, np.ndarray)
        ]
        place = {k: row for row, k in enumerate(entering)}
        place |= {first + index: len(entering) + len(constants) + row for row, index in enumerate(walked)}
        program = np.zeros((len(walked), 4), np.int64)
        following = len(entering)
        for row, (index, those) in enumerate(zip(walked, operands, strict=True)):
            program[row, 0] = self.steps[index].operation(values, values[first + index].dtype)
            for column, operand in enumerate(those, 1):
                if isinstance(operand, np.ndarray):
                    program[row, column] = following
                    following += 1
                else:
                    program[row, column] = place[operand]
        return program, np.array(constants, np.float32)


def _readable(batch: Batch | None, shapes: Array) -> tuple[Batch, Array]:
    """An operand in a type that the kernel reads, and its period in elements."""
    assert batch is not None
    periods = _periods(batch.shapes, shapes)
    assert periods is not None
    if batch.dtype not in _KINDS or (periods.any() and batch.dtype != FLOAT):
        batch = over_elements(lambda values: values, batch, FLOAT)
    return batch, periods


def _periods(shapes: Array, full: Array) -> Array | None:
    """Period in elements of an operand broadcast to `full`: 0 if it does not repeat, `None` if it is not periodic."""
    wide = widened(shapes, full.shape[1])
    same, one = wide == full, wide == 1
    for axis in range(full.shape[1] + 1):
        if one[:, :axis].all() and same[:, axis:].all():
            return np.asarray(wide.prod(axis=1), np.int64) if axis else np.zeros(len(full), np.int64)
    return None


def _alone(step: _Step, call: Call, values: list[_Value]) -> Batch:
    from dali_lab.schema.running import run_operator

    inputs = [batch for batch in (values[k].batch for k in step.operands) if batch is not None]
    (result,) = run_operator(step.operator, call, inputs, 1)
    return result
