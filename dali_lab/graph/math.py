"""Mathematical functions for expressions over data nodes, under NVIDIA DALI's names.

Each takes nodes and constants and gives a node. Functions of one operand give FLOAT for integers and keep the type of
floats, except :func:`abs`, which keeps any type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dali_lab.graph.expressions import Operand, operation
from dali_lab.graph.recorder import DataNode


def _unary(name: str, description: str) -> Callable[[Any], DataNode]:
    def function(input: Operand) -> DataNode:
        return operation(name, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = description
    return function


sqrt = _unary("sqrt", "The square root.")
rsqrt = _unary("rsqrt", "The reciprocal of the square root.")
cbrt = _unary("cbrt", "The cube root.")
exp = _unary("exp", "The exponential (e to the power of `input`).")
log = _unary("log", "The natural logarithm.")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
abs = _unary("abs", "The absolute value, in the type of `input`.")
fabs = _unary("fabs", "The absolute value in floating point.")
floor = _unary("floor", "The largest whole number that is not above `input`.")
ceil = _unary("ceil", "The smallest whole number that is not below `input`.")
sin = _unary("sin", "The sine of an angle in radians.")
cos = _unary("cos", "The cosine of an angle in radians.")
tan = _unary("tan", "The tangent of an angle in radians.")
asin = _unary("asin", "The arc sine in radians.")
acos = _unary("acos", "The arc cosine in radians.")
atan = _unary("atan", "The arc tangent in radians.")
sinh = _unary("sinh", "The hyperbolic sine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
tanh = _unary("tanh", "The hyperbolic tangent.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")


def min(left: Operand, right: Operand) -> DataNode:
    """The smaller of two operands, in their common type."""
    return operation("min", left, right)


def max(left: Operand, right: Operand) -> DataNode:
    """The larger of two operands, in their common type."""
    return operation("max", left, right)


def pow(base: Operand, exponent: Operand) -> DataNode:
    """`base` to the power of `exponent`, in their common type; an integer to a negative power is 0."""
    return operation("pow", base, exponent)


def fpow(base: Operand, exponent: Operand) -> DataNode:
    """`base` to the power of `exponent`, in floating point."""
    return operation("fpow", base, exponent)


def atan2(x: Operand, y: Operand) -> DataNode:
    """The angle whose tangent is ``x / y``, in radians, in the quadrant given by the signs of both."""
    return operation("atan2", x, y)


def clamp(value: Operand, lo: Operand, hi: Operand) -> DataNode:
    """`value`, not below `lo` and not above `hi`, in their common type."""
    return operation("clamp", value, lo, hi)


__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clamp", "cos", "cosh",
    "exp", "fabs", "floor", "fpow", "log", "log2", "log10", "max", "min", "pow", "rsqrt", "sin", "sinh", "sqrt",
    "tan", "tanh",
]  # fmt: skip
