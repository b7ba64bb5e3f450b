"""Expressions of several operators, each made into a kernel of its own: one walk over the elements of the result.

A step does to an element what :mod:`dali_lab.kernels.cuda.arithmetic` does, with the type, rounding and wrapping of an
operator by itself. Steps of a smaller shape, such as numbers for each sample, are computed for each element anew.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.arithmetic import COMPARISONS, GROUPS, HEADER, common_type, walk
from dali_lab.kernels.cuda.copy import padded
from dali_lab.kernels.cuda.kernel import C_TYPES, NUMBERS, Fields, Kernel, launches, short
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype

CAST = "cast"
_REMAINDER = "mod"
_LEAST = 2
"""Columns of a row's tables of axes: NumPy has a field of one column as a number."""


@dataclass(frozen=True)
class Step:
    """One operator.

    Attributes
    ----------
    name
        Of the expression, such as ``"add"``, or :data:`CAST`.
    dtype
        NumPy's short name of the result's type.
    operands
        Numbers of inputs, from their number on of steps before this one, and from −1 down of constants.
    """

    name: str
    dtype: str
    operands: tuple[int, ...]


class ExpressionKernel(Kernel):
    """The kernel of steps over inputs and constants of certain types, and results of `ndim` axes.

    Constants are parameters, so that other ones need no other kernel.
    """

    def __init__(self, steps: tuple[Step, ...], inputs: tuple[str, ...], constants: tuple[str, ...], ndim: int) -> None:
        self._steps = steps
        self._inputs = inputs
        self._constants = constants
        self._ndim = ndim
        columns = max(ndim, _LEAST)
        row: Fields = [
            ("out", "u8"),
            *((f"in{k}", "u8") for k in range(len(inputs))),
            ("total", "i8"),
            *((f"stride{k}", "i8", columns) for k in range(len(inputs))),
            ("shape", "i4", columns),
        ]
        # An unsigned 64-bit constant travels as a signed one: as a field it would be an address.
        fields = [(f"constant{k}", "i8" if kind == "u8" else kind) for k, kind in enumerate(constants)]
        super().__init__("expression", "evaluate_steps", sample=row, param=fields, headers=(HEADER,), own=True)

    @functools.cached_property
    def text(self) -> str:
        """Reading of the inputs, the steps as C++ constants one after the other, and the loops around them."""
        many = len(self._inputs)
        lines = [f"i64 {', '.join(['rest = i', *(f'at{k} = 0' for k in range(many))])};"]
        for axis in range(self._ndim - 1, -1, -1):
            if axis:
                lines.append(f"const Divided cut{axis} = divide(rest, row.shape[{axis}]);")
                lines.append(f"rest = cut{axis}.quotient;")
            place = f"cut{axis}.rest" if axis else "rest"
            lines += [f"at{k} += row.stride{k}[{axis}] * {place};" for k in range(many)]
        for k, kind in enumerate(self._inputs):
            lines.append(f"const {C_TYPES[kind]} v{k} = ((const {C_TYPES[kind]}*)row.in{k})[at{k}];")
        for k, kind in enumerate(self._constants):
            lines.append(f"const {C_TYPES[kind]} c{k} = ({C_TYPES[kind]})param.constant{k};")
        for number, step in enumerate(self._steps, many):
            lines.append(f"const {C_TYPES[step.dtype]} v{number} = {self._written(step)};")
        lines.append(f"out[i] = v{many + len(self._steps) - 1};")
        body = "\n            ".join(lines)
        return f"""
__device__ void {self.name}(const {self.title}Sample* table, const {self.title}Param& param) {{
    FOR_SAMPLES(s) {{
        const {self.title}Sample& row = table[s];
        {C_TYPES[self._steps[-1].dtype]}* out = ({C_TYPES[self._steps[-1].dtype]}*)row.out;
        FOR_ELEMENTS(i, row.total) {{
            {body}
        }}
    }}
}}
"""

    def _kind(self, operand: int) -> str:
        if operand < 0:
            return self._constants[-1 - operand]
        many = len(self._inputs)
        return self._inputs[operand] if operand < many else self._steps[operand - many].dtype

    def _written(self, step: Step) -> str:
        """A step in C++."""
        names = [f"c{-1 - operand}" if operand < 0 else f"v{operand}" for operand in step.operands]
        kinds = [self._kind(operand) for operand in step.operands]
        result = C_TYPES[step.dtype]
        if step.name == CAST:
            return names[0] if kinds[0] == step.dtype else f"saturate<{result}>(widen({names[0]}))"
        if step.name in COMPARISONS:
            together, halves = common_type(kinds)
            places = ", ".join(str(NUMBERS.index(kind)) for kind in kinds)
            chosen = f"{C_TYPES[together]}, {step.name.upper()}, {str(halves).lower()}, {places}"
            return f"step_comparison<{chosen}>({', '.join(names)})"
        if step.name == _REMAINDER and step.dtype[0] == "f" and any(kind[0] != "f" for kind in kinds):
            return f"step_mixed_remainder<{result}>({', '.join(names)})"
        group = next(index for index, those in enumerate(GROUPS) if step.name in those)
        three = [*names, *[names[0]] * (3 - len(names))]
        return f"step<{result}, {group}, {step.name.upper()}>({', '.join(three)})"


@functools.lru_cache(maxsize=256)
def expression_kernel(
    steps: tuple[Step, ...], inputs: tuple[str, ...], constants: tuple[str, ...], ndim: int
) -> ExpressionKernel:
    """The kernel of steps; see :class:`ExpressionKernel`."""
    return ExpressionKernel(steps, inputs, constants, ndim)


@launches
def evaluate_steps(
    gpu: Launcher, out: Batch, inputs: Sequence[Batch], constants: Sequence[Array], steps: Sequence[Step]
) -> None:
    """Fill `out` with the last of the steps.

    Parameters
    ----------
    out
        Allocated, in the shape and type of the last step.
    inputs
        Batches of as many samples, stretched over `out` in each sample.
    constants
        Arrays without dimensions.
    steps
        The operations, in order.
    """
    shapes, strides = walk(out, inputs)
    kernel = expression_kernel(
        tuple(steps),
        tuple(short(numpy_dtype(batch.dtype)) for batch in inputs),
        tuple(short(each.dtype) for each in constants),
        shapes.shape[1],
    )
    columns = max(shapes.shape[1], _LEAST)
    sample: dict[str, Any] = {"out": out.addresses, "shape": padded(shapes, columns)}
    for k, (batch, along) in enumerate(zip(inputs, strides, strict=True)):
        sample |= {f"in{k}": batch.addresses, f"stride{k}": padded(along, columns)}
    signed = [each.view(np.int64) if each.dtype == np.uint64 else each for each in constants]
    kernel.launch(gpu, (), out.sizes, sample, {f"constant{k}": each for k, each in enumerate(signed)})
