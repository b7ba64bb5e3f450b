"""The operators behind expressions: one for each sign and function, made from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import promotion
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import BOOL, DALIDataType, numpy_dtype, to_dali_type
from dali_lab.model.errors import ArgumentError, GraphError
from dali_lab.model.promotion import OPERAND_LETTERS, is_float, is_integer
from dali_lab.operators.math.elementwise import apply
from dali_lab.schema import Arg, Call, Input, Operator, Output, register

T = TypeVar("T")


@dataclass(frozen=True)
class Expression:
    """One row of the table.

    Attributes
    ----------
    name
        NVIDIA DALI's name for it, such as ``"fdiv"``.
    title, doc
        For people.
    operands
        Names of the operands.
    result
        ``"same"``: the operands' common type; ``"float"``: that if it is a float, else FLOAT; ``"bool"``.
    takes
        ``"numbers"``: at least one operand is not a bool; ``"integers"``: no floats; ``"any"``.
    sign
        How it is written in Python, such as ``"/"``.
    """

    name: str
    title: str
    doc: str
    operands: tuple[str, ...] = ("left", "right")
    result: str = "same"
    takes: str = "numbers"
    sign: str = ""


def _unary(
    name: str, title: str, doc: str, result: str = "float", takes: str = "numbers", sign: str = ""
) -> Expression:
    return Expression(name, title, doc, ("value",), result, takes, sign)


TABLE: tuple[Expression, ...] = (
    Expression("add", "Add", "Adds two operands.", sign="+"),
    Expression("sub", "Subtract", "Subtracts the second operand from the first.", sign="-"),
    Expression(
        "mul",
        "Multiply",
        "Multiplies two operands; of two bools it tells whether both are true.",
        takes="any",
        sign="*",
    ),
    Expression(
        "fdiv", "Divide", "Divides the first operand by the second; integers give a float.", result="float", sign="/"
    ),
    Expression(
        "div",
        "Divide whole",
        "Divides and drops the fraction of integers (toward zero); floats keep theirs.",
        sign="//",
    ),
    Expression("mod", "Remainder", "Gives the remainder of a division, with the sign of the first operand.", sign="%"),
    Expression(
        "pow",
        "Power",
        "Raises the first operand to the power of the second; an integer to a negative power is 0.",
        sign="**",
    ),
    Expression(
        "fpow",
        "Power as float",
        "Raises the first operand to the power of the second, in floating point.",
        result="float",
    ),
    Expression(
        "atan2",
        "Angle (atan2)",
        "Gives the angle whose tangent is the first operand over the second, in radians.",
        result="float",
    ),
    Expression("min", "Minimum", "Takes the smaller of two operands."),
    Expression("max", "Maximum", "Takes the larger of two operands."),
    Expression("clamp", "Clamp", "Keeps the first operand between the two others.", ("value", "low", "high")),
    Expression("bitand", "And", "Combines the bits of two operands by 'and'.", takes="integers", sign="&"),
    Expression("bitor", "Or", "Combines the bits of two operands by 'or'.", takes="integers", sign="|"),
    Expression(
        "bitxor", "Exclusive or", "Combines the bits of two operands by 'exclusive or'.", takes="integers", sign="^"
    ),
    Expression(
        "lshift", "Shift left", "Shifts the bits of the first operand left by the second.", takes="integers", sign="<<"
    ),
    Expression(
        "rshift",
        "Shift right",
        "Shifts the bits of the first operand right by the second.",
        takes="integers",
        sign=">>",
    ),
    Expression("eq", "Equal", "Tells where two operands are equal.", result="bool", takes="any", sign="=="),
    Expression("neq", "Not equal", "Tells where two operands differ.", result="bool", takes="any", sign="!="),
    Expression(
        "lt", "Less", "Tells where the first operand is less than the second.", result="bool", takes="any", sign="<"
    ),
    Expression(
        "leq", "At most", "Tells where the first operand is at most the second.", result="bool", takes="any", sign="<="
    ),
    Expression(
        "gt",
        "Greater",
        "Tells where the first operand is greater than the second.",
        result="bool",
        takes="any",
        sign=">",
    ),
    Expression(
        "geq",
        "At least",
        "Tells where the first operand is at least the second.",
        result="bool",
        takes="any",
        sign=">=",
    ),
    _unary("plus", "Plus", "Gives the operand unchanged.", "same", "any", "+"),
    _unary("minus", "Negate", "Changes the sign of the operand; unsigned integers wrap.", "same", sign="-"),
    _unary("bitnot", "Not", "Inverts the bits of the operand; of a bool, its truth.", "same", "integers", "~"),
    _unary("abs", "Absolute", "Gives the absolute value.", "same"),
    _unary("fabs", "Absolute as float", "Gives the absolute value in floating point."),
    _unary("floor", "Floor", "Rounds down to a whole number."),
    _unary("ceil", "Ceiling", "Rounds up to a whole number."),
    _unary("sqrt", "Square root", "Gives the square root."),
    _unary("rsqrt", "Reciprocal root", "Gives one over the square root."),
    _unary("cbrt", "Cube root", "Gives the cube root."),
    _unary("exp", "Exponential", "Gives e to the power of the operand."),
    _unary("log", "Logarithm", "Gives the natural logarithm."),
    _unary("log2", "Logarithm, base 2", "Gives the logarithm to base 2."),
    _unary("log10", "Logarithm, base 10", "Gives the logarithm to base 10."),
    _unary("sin", "Sine", "Gives the sine of an angle in radians."),
    _unary("cos", "Cosine", "Gives the cosine of an angle in radians."),
    _unary("tan", "Tangent", "Gives the tangent of an angle in radians."),
    _unary("asin", "Arc sine", "Gives the angle with this sine, in radians."),
    _unary("acos", "Arc cosine", "Gives the angle with this cosine, in radians."),
    _unary("atan", "Arc tangent", "Gives the angle with this tangent, in radians."),
    _unary("sinh", "Hyperbolic sine", "Gives the hyperbolic sine."),
    _unary("cosh", "Hyperbolic cosine", "Gives the hyperbolic cosine."),
    _unary("tanh", "Hyperbolic tangent", "Gives the hyperbolic tangent."),
    _unary("asinh", "Inverse hyperbolic sine", "Gives the inverse hyperbolic sine."),
    _unary("acosh", "Inverse hyperbolic cosine", "Gives the inverse hyperbolic cosine."),
    _unary("atanh", "Inverse hyperbolic tangent", "Gives the inverse hyperbolic tangent."),
)


_DIVIDING = ("div", "mod")
_NOTES = {
    **dict.fromkeys(
        (expression.name for expression in TABLE if expression.result == "bool"),
        "\nBeside a float a negative integer is below every float, as in NVIDIA DALI: ``-5.0 < -2`` is false.",
    ),
    **dict.fromkeys(
        _DIVIDING,
        "\nAn integer divided by zero is an error. On a GPU, where nobody looks at the elements, it gives 0, and only a"
        "\nconstant 0 is an error.",
    ),
}


class Arithmetic(Operator):
    """Base of the operators of the table; operands that are not connected are constants."""

    family = "arithmetic"
    outputs = (
        Output(
            "result", kind="tensor", doc="The result, element by element, in the shape that the inputs have together."
        ),
    )
    on_gpu = True
    tested_elsewhere = "tests/conformance/test_expressions.py"
    syntax = "arithmetic"
    expression: ClassVar[Expression]

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "_expression"

    @classmethod
    def constants_of(cls, values: Mapping[str, Any]) -> list[str]:
        """Letters of the operands that are constants."""
        return [letter for letter in OPERAND_LETTERS[: len(cls.expression.operands)] if values.get(letter) is not None]

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        wanted = len(cls.expression.operands)
        constants = cls.constants_of(values)
        if inputs + len(constants) != wanted:
            names = ", ".join(cls.expression.operands)
            raise GraphError(
                f"takes {wanted} operands ({names}), got {inputs} inputs and {len(constants)} constants",
                operator=cls.name,
            )
        for letter in constants:
            cls._constant(letter, values)

    @classmethod
    def _constant(cls, letter: str, values: Mapping[str, Any]) -> npt.NDArray[Any]:
        value = values[letter]
        dtype = values.get(f"{letter}_dtype")
        if dtype is None:
            dtype = promotion.constant_dtype(value)
        kind = numpy_dtype(dtype)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            if not limits.min <= int(value) <= limits.max:
                raise ArgumentError(f"{int(value)} does not fit {kind}", argument=letter, operator=cls.name)
            return np.array(int(value), kind)
        if kind.kind == "f":
            # A real constant travels as float32 in NVIDIA DALI's graphs, also where it counts as FLOAT64.
            with np.errstate(over="ignore"):
                return np.array(np.float32(value)).astype(kind)
        return np.array(bool(value))

    def setup(self) -> None:
        self._constants = {letter: self._constant(letter, self.values) for letter in self.constants_of(self.values)}

    def run(self, call: Call, *inputs: Batch) -> Batch:
        form = self.form(
            call,
            [batch.dtype for batch in inputs],
            [batch.shapes for batch in inputs],
            [batch.layout for batch in inputs],
        )
        out = call.allocate(*form)
        operands = self.with_constants(inputs)
        if call.gpu is not None:
            call.kernels("arithmetic").evaluate(self.expression.name, out, operands)
            return out
        from dali_lab.kernels.cpu.arithmetic import FUNCTIONS, ZeroDivision

        try:
            apply(FUNCTIONS[self.expression.name], out, operands)
        except ZeroDivision as error:
            raise call.problem(str(error)) from None
        return out

    def with_constants(self, inputs: Sequence[T]) -> list[T | npt.NDArray[Any]]:
        """All operands in order, given those that are no constants."""
        rest = iter(inputs)
        return [
            self._constants[letter] if letter in self._constants else next(rest)
            for letter in OPERAND_LETTERS[: len(self.expression.operands)]
        ]

    def form(
        self,
        call: Call,
        dtypes: Sequence[DALIDataType],
        shapes: Sequence[npt.NDArray[np.int64]],
        layouts: Sequence[str],
    ) -> tuple[npt.NDArray[np.int64], DALIDataType, str]:
        """Shapes, type and layout of the result, given those of the operands that are no constants.

        Raises
        ------
        OperatorError
            If the operator does not take them together.
        """
        operands = self.with_constants(dtypes)
        dtype = self._result_type(
            call, [to_dali_type(each.dtype) if isinstance(each, np.ndarray) else each for each in operands]
        )
        try:
            together = promotion.broadcast_shapes(shapes)
            layout = promotion.common_layout(layouts)
        except promotion.BroadcastError as error:
            raise call.problem(str(error), sample=error.sample) from None
        except ValueError as error:
            raise call.problem(str(error)) from None
        divisor = operands[-1]
        if self.expression.name in _DIVIDING and isinstance(divisor, np.ndarray) and not is_float(dtype):
            if not divisor.astype(numpy_dtype(dtype)).any():
                raise call.problem("Integer division by zero")
        return together, dtype, layout if len(layout) == together.shape[1] else ""

    def _result_type(self, call: Call, dtypes: Sequence[DALIDataType]) -> DALIDataType:
        expression = self.expression
        for dtype in dtypes:
            if not is_float(dtype) and not is_integer(dtype) and dtype != BOOL:
                raise call.problem(f"there is no arithmetic with elements of type {dtype.name}")
            if expression.takes == "integers" and is_float(dtype):
                raise call.problem(
                    f"takes integers or bools, got {dtype.name}."
                    f" Inputs to bitwise operator `{expression.sign or expression.name}` must be of integral type."
                )
        if expression.takes == "numbers" and all(dtype == BOOL for dtype in dtypes):
            raise call.problem(
                "takes numbers, got bools; use &, |, ^ or ~, or cast to an integer first."
                f" Inputs to arithmetic operator `{expression.sign or expression.name}` cannot be booleans."
                " Consider using bitwise operators"
            )
        if expression.result == "bool":
            return BOOL
        together = promotion.promoted(dtypes)
        return promotion.as_float(together) if expression.result == "float" else together


def _make(expression: Expression) -> type[Arithmetic]:
    operands = expression.operands
    arguments: list[Arg] = []
    if len(operands) > 1:
        for letter, operand in zip(OPERAND_LETTERS, operands, strict=False):
            arguments.append(
                Arg(letter, "number", None, f"Constant in place of the operand '{operand}'.", important=True)
            )
            arguments.append(
                Arg(
                    f"{letter}_dtype",
                    "dtype",
                    None,
                    f"Type that `{letter}` counts as; by default INT32, FLOAT or BOOL.",
                    advanced=True,
                )
            )
    signs = {1: f"{expression.sign}x", 2: f"x {expression.sign} y"}
    written = (
        signs[len(operands)] if expression.sign else f"math.{expression.name}({', '.join('xyz'[: len(operands)])})"
    )
    doc = (
        f"{expression.doc}\n\nOperands of different shapes are stretched over each other as numpy does, in each sample;"
        f"\nan operand that is not connected is a constant. Written ``{written}``."
        f"{_NOTES.get(expression.name, '')}"
    )
    inputs = tuple(
        Input(operand, kind="tensor", doc=f"Operand '{operand}', if it is not a constant.", optional=index > 0)
        for index, operand in enumerate(operands)
    )
    body = {
        "__doc__": doc,
        "__module__": __name__,
        "name": f"math.{expression.name}",
        "title": expression.title,
        "inputs": inputs,
        "arguments": tuple(arguments),
        "expression": expression,
        "example": f">>> {written}",
        "nvidia_name": written if expression.sign else f"nvidia.dali.math.{expression.name}",
    }
    return type(expression.name.capitalize(), (Arithmetic,), body)


OPERATORS = {expression.name: register(_make(expression)) for expression in TABLE}
